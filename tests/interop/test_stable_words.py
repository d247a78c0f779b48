"""Our agents and the hub say nothing that the stable schema of the agreed version does not have, to a client
that asked for nothing more. What is offered in capabilities is how more is asked for, so offers may be newer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import deadline
from tests.hub.outside.test_dialects import client
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.schema.published_schemas import PACKAGE, Judge, needs_schemas

pytestmark = [needs_schemas, pytest.mark.bound(120)]

FREE = {"_meta", "rawInput", "rawOutput", "data"}
OFFERS = {"agentCapabilities", "capabilities"}
NEEDED = ["session/load: result.sessionId"]
"""Official clients over Streamable HTTP listen to a session only when something has named it."""


class StableSchema:
    """Finds what a version's stable schema does not have in what an agent says."""

    def __init__(self, version: int) -> None:
        text = (PACKAGE / "schema" / f"v{version}" / "schema.json").read_text()
        self._known = json.loads(text)["$defs"]
        self._judge = Judge(self._known)
        self._answers, self._said = {}, {}
        for name, schema in self._known.items():
            if schema.get("x-side") == "agent" and name.endswith("Response"):
                self._answers[schema["x-method"]] = schema
            elif schema.get("x-side") == "client" and not name.endswith("Response"):
                self._said[schema["x-method"]] = schema

    def faults(self, frames: list[dict[str, Any]], methods: dict[Any, str]) -> list[str]:
        """`methods`: what was asked under each id."""
        found = []
        for frame in frames:
            method = frame.get("method") or methods.get(frame.get("id"), "")
            member = "params" if "method" in frame else "result"
            schema = (self._said if "method" in frame else self._answers).get(method)
            if schema is None and not method.startswith(("_", "$")) and "error" not in frame:
                found.append(f"{method} is not in the stable schema")
            elif schema is not None and member in frame:
                if not self._judge.accepts(schema, frame[member]):
                    found.append(f"{method}: {member} is not accepted: {json.dumps(frame[member])[:200]}")
                found += [f"{method}: {path}" for path in self._unknown(schema, frame[member], member)]
        return found

    def _unknown(self, schema: Any, value: Any, path: str) -> Iterator[str]:
        schemas = list(self._parts(schema, value))
        if isinstance(value, list):
            for inner in schemas:
                if "items" in inner:
                    for item in value:
                        yield from self._unknown(inner["items"], item, f"{path}[]")
        if not isinstance(value, dict) or any(inner.get("additionalProperties") for inner in schemas):
            return
        declared: dict[str, Any] = {}
        for inner in schemas:
            declared |= inner.get("properties", {})
        for name, item in value.items() if declared else ():
            if name not in declared:
                yield f"{path}.{name}"
            elif name not in FREE | OFFERS:
                yield from self._unknown(declared[name], item, f"{path}.{name}")

    def _parts(self, schema: Any, value: Any) -> Iterator[Any]:
        """All schemas that hold together for a value."""
        yield schema
        if "$ref" in schema:
            yield from self._parts(self._known[schema["$ref"].rpartition("/")[2]], value)
        for part in schema.get("allOf", ()):
            yield from self._parts(part, value)
        for part in [*schema.get("oneOf", ()), *schema.get("anyOf", ())]:
            if self._judge.accepts(part, value):
                yield from self._parts(part, value)


TALKS = {
    "echo": ["hello", "/usage 1000", "/plan", "/tool", "/help"],
    "review": ["Review app.py", "/rules", "/help"],
    "code": ["hello", "/help"],
}


@pytest.mark.parametrize("name", list(TALKS))
async def test_an_agent_says_what_the_stable_schema_has(name: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import os\npassword = 'hunter2'\neval(input())\n")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dragoman", "agent", name),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=tmp_path,
        limit=2**24,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    methods: dict[Any, str] = {}
    heard: list[dict[str, Any]] = []

    async def call(method: str, params: Any) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        methods[len(methods)] = method
        request = {"jsonrpc": "2.0", "id": len(methods) - 1, "method": method, "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        while True:
            frame: dict[str, Any] = json.loads(await process.stdout.readline())
            heard.append(frame)
            if "method" in frame and "id" in frame:
                refusal = {"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -32601, "message": "No"}}
                process.stdin.write(json.dumps(refusal).encode() + b"\n")
            elif frame.get("id") == len(methods) - 1 and "method" not in frame:
                return frame

    setup = {"cwd": str(tmp_path), "mcpServers": []}
    async with deadline(60):
        await call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = (await call("session/new", setup))["result"]["sessionId"]
        for words in TALKS[name]:
            prompt = [{"type": "text", "text": words}]
            await call("session/prompt", {"sessionId": session, "prompt": prompt})
        for method in ("session/load", "session/resume"):
            await call(method, {"sessionId": session, **setup})
        await call("session/list", {})
        await call("session/close", {"sessionId": session})
        process.stdin.close()
        await process.wait()
    assert len(heard) > 10
    assert StableSchema(1).faults(heard, methods) == []


@pytest.mark.parametrize("version", [1, 2])
async def test_the_hub_says_what_the_stable_schema_has(version: int) -> None:
    async with staged({"one": obedient}) as stage:
        one = client(stage, f"v{version}")
        info = {"name": "test", "version": "1"}
        words = (
            {"clientInfo": info, "clientCapabilities": {}}
            if version == 1
            else {"info": info, "capabilities": {}}
        )
        methods: dict[Any, str] = {}

        async def call(method: str, params: Any) -> Any:
            request = one.ask(method, params)
            methods[request] = method
            return (await one.answer(request)).get("result")

        await call("initialize", {"protocolVersion": version, **words})
        setup = {"cwd": "/tmp", "mcpServers": []}
        session = (await call("session/new", setup))["sessionId"]
        for text in ("say 3", "usage", "tool"):
            before = len(one.heard)
            await call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})
            if version == 2:
                await one.until(lambda frame: '"idle"' in json.dumps(frame), after=before)
        if version == 1:
            await call("session/load", {"sessionId": session, **setup})
        else:
            again = {"sessionId": session, "replayFrom": {"type": "start"}, **setup}
            await call("session/resume", again)
        await call("session/list", {})
        await call("session/close", {"sessionId": session})
        faults = StableSchema(version).faults(one.heard, methods)
        assert [fault for fault in faults if fault not in NEEDED] == []
