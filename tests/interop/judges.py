"""What one side of a recorded conversation has sent, judged by both official SDKs.

A frame is named by its method, an answer by the request that it answers. The Python SDK's models must take
each value; the TypeScript SDK's validators must take it and hand it on whole.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import acp.schema
from pydantic import TypeAdapter, ValidationError

from dragoman.schema import v1
from dragoman.schema.method import Method, Receiver
from dragoman.schema.v1.methods import METHODS
from dragoman.testing.pace import patience

VALIDATOR = Path(__file__).parent / "ts" / "validate.mjs"

# One union of ours is two models of the Python SDK.
SPLIT: dict[str, Any] = {
    "SetSessionConfigOptionRequest": acp.schema.SetSessionConfigOptionBooleanRequest
    | acp.schema.SetSessionConfigOptionSelectRequest
}


class Sent(NamedTuple):
    """Params, a result or an error, with the name of its definition; None for what is not the protocol's."""

    definition: str | None
    method: str
    value: Any


def frames(journal: Path) -> list[tuple[str, Any]]:
    """Direction and content of every frame that the tap has written down."""
    lines = map(json.loads, journal.read_text("utf-8").splitlines())
    return [(line["direction"], json.loads(line["frame"])) for line in lines]


def sent(journal: Path, direction: str) -> Iterator[Sent]:
    """Everything that was sent this way, shells removed and checked."""
    asked: dict[tuple[str, Any], str] = {}
    for way, frame in frames(journal):
        if "method" in frame and "id" in frame:
            asked[way, frame["id"]] = frame["method"]
        if way == direction:
            yield _opened(frame, way, asked)


def _opened(frame: dict[str, Any], way: str, asked: dict[tuple[str, Any], str]) -> Sent:
    assert frame["jsonrpc"] == "2.0"
    if "method" in frame:
        assert frame.keys() <= {"jsonrpc", "id", "method", "params"}
        entry = _entry(frame["method"], way, request="id" in frame)
        return Sent(_name(entry.params) if entry else None, frame["method"], frame.get("params", {}))
    assert frame.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    back = "to_client" if way == "to_agent" else "to_agent"
    method = asked[back, frame["id"]]
    if "error" in frame:
        return Sent("Error", method, frame["error"])
    entry = _entry(method, back, request=True)
    return Sent(_name(entry.result) if entry else None, method, frame["result"])


def _entry(method: str, way: str, *, request: bool) -> Method | None:
    receiver: Receiver = "agent" if way == "to_agent" else "client"
    entry = METHODS.get(method, kind="request" if request else "notification", receiver=receiver)
    assert entry is not None or method.startswith("_"), f"{method} is nobody's method"
    return entry


def _name(kind: Any) -> str:
    """What the published schema calls a type; a union has no name of its own."""
    unions = ("CreateElicitationRequest", "CreateElicitationResponse", "SetSessionConfigOptionRequest")
    found = [name for name in unions if getattr(v1, name) is kind]
    return found[0] if found else str(kind.__name__)


def refused_by_python(values: list[Sent]) -> list[tuple[Sent, str]]:
    found = []
    for item in values:
        try:
            _adapter(item.definition or "").validate_python(item.value)
        except ValidationError as error:
            found.append((item, str(error)))
    return found


@cache
def _adapter(definition: str) -> TypeAdapter[Any]:
    kind: Any = SPLIT.get(definition) or getattr(acp.schema, definition)
    return TypeAdapter(kind)


def refused_by_typescript(values: list[Sent]) -> list[tuple[Sent, dict[str, str]]]:
    questions = [{"version": "v1", "def": item.definition, "value": item.value} for item in values]
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    run = subprocess.run(
        ["node", VALIDATOR], input=lines, capture_output=True, text=True, check=True, timeout=patience(50)
    )
    verdicts = [json.loads(line) for line in run.stdout.splitlines()]
    pairs = zip(values, verdicts, strict=True)
    return [(item, verdict) for item, verdict in pairs if verdict["verdict"] != "ok"]
