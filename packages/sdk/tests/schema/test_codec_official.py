"""What we write, judged by the validators of the two official SDKs.

Both read leniently, so acceptance alone would prove little: a value counts as accepted only if the
validator also hands on everything that it was given. What a validator does not know is listed by name, and
the list is checked too.
"""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import acp.schema
import pytest
from pydantic import BaseModel, ValidationError

from dragoman.schema import SchemaError, read, write

from .instances import instances
from .published_schemas import PACKAGE, THROUGH_UNION, definitions, needs_schemas, readable, type_of
from .test_lenient import CASES, WRONG, is_new_text

VALIDATOR = Path(__file__).parents[4] / "tests/interop/ts/validate.mjs"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not PACKAGE.is_dir(),
    reason="needs node and the TypeScript SDK: make setup",
)


class Validator:
    """The validators of the TypeScript SDK, which take a while to load, for all tests here."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def verdicts(self, asked: list[Any]) -> list[dict[str, str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        lines = "".join(json.dumps(question) + "\n" for question in asked)
        with ThreadPoolExecutor(1) as pool:  # neither side may wait for the other to read
            writing = pool.submit(self._write, lines)
            answers = [json.loads(self._process.stdout.readline()) for _ in asked]
            writing.result()
        return answers

    def _write(self, lines: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(lines)
        self._process.stdin.flush()


@pytest.fixture(scope="module")
def validator() -> Iterator[Validator]:
    pipe = subprocess.PIPE
    with subprocess.Popen(["node", VALIDATOR], stdin=pipe, stdout=pipe, text=True) as process:
        yield Validator(process)


class Written(NamedTuple):
    version: str
    definition: str
    what: str
    value: Any


@cache
def written(version: str) -> list[Written]:
    """Every instance of every definition, read and written by us."""
    found = []
    for definition in readable(version):
        kind = type_of(version, definition)
        for what, value in instances(definitions(version), definition):
            message = read(json.dumps(value).encode(), kind)
            found.append(Written(version, definition, what, _alone(json.loads(write(message)), value)))
    return found


def _alone(ours: Any, theirs: Any) -> Any:
    """A union member's definition has no tag of its own; ours always writes it."""
    if isinstance(ours, dict) and len(ours) == len(theirs) + 1:
        return {name: value for name, value in ours.items() if name in theirs}
    return ours


@needs_node
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_typescript_sdk_accepts_everything_we_write(validator: Validator, version: str) -> None:
    sent = written(version)
    verdicts = validator.verdicts(
        [{"version": version, "def": item.definition, "value": item.value} for item in sent]
    )
    assert len(verdicts) == len(sent) > 1_000
    assert [
        (item, verdict) for item, verdict in zip(sent, verdicts, strict=True) if verdict["verdict"] != "ok"
    ] == []


@needs_node
def test_the_typescript_validator_does_refuse_heal_and_not_know(validator: Validator) -> None:
    """If the script said yes to everything, the test above would be worth nothing."""
    asked = [
        {"version": "v1", "def": "PromptRequest", "value": {"sessionId": 1, "prompt": []}},
        {"version": "v1", "def": "SessionInfoUpdate", "value": {"title": 7}},
        {"version": "v1", "def": "CloseSessionRequest", "value": {"sessionId": "s", "dropped": 1}},
        {"version": "v1", "def": "NoSuchThing", "value": {}},
    ]
    told = [verdict["verdict"] for verdict in validator.verdicts(asked)]
    assert told == ["refused", "healed", "healed", "unknown"]


@needs_node
def test_we_forgive_and_refuse_what_the_typescript_sdk_does(validator: Validator) -> None:
    """Every field of every object, spoiled in seven ways; but we keep new values of enumerations."""
    spoiled = [
        (case, raw)
        for case in CASES
        if case.wire != "_meta"  # all alike, and half of everything
        for raw in [*(case.spoiled(bad) for bad in WRONG if not is_new_text(case, bad)), case.without()]
    ]
    asked = []
    for case, raw in spoiled:
        definition = THROUGH_UNION.get(case.definition, case.definition)
        asked.append({"version": case.version, "def": definition, "value": json.loads(raw)})
    differ = []
    for (case, raw), verdict in zip(spoiled, validator.verdicts(asked), strict=True):
        if _reads(raw, case.kind) != (verdict["verdict"] != "refused"):
            differ.append(case)
    # It checks that a URI is one; we keep the text, and leave that to who follows it.
    assert [str(case) for case in differ if case.field.get("format") != "uri"] == []
    assert len(spoiled) > 4_000 > 100 * len(differ) > 0


def _reads(raw: bytes, kind: Any) -> bool:
    try:
        read(raw, kind)
    except SchemaError:
        return False
    return True


# The Python SDK 0.12.1 stands on an older schema. It has no model for what came later ...
LATER = {
    *(
        "CompactionCapabilities",
        "CompactionId",
        "CompactionStatus",
        "CompactionSummaryChunk",
        "CompactionUpdate",
    ),
    *("Notice", "NoticeCapabilities", "NoticeSeverity"),
}
# ... nor for unions, which the objects that hold them bring along, nor for plain values.
UNIONS = {
    *("AuthMethod", "ContentBlock", "CreateElicitationRequest", "CreateElicitationResponse"),
    *("ElicitationPropertySchema", "EmbeddedResourceResource", "McpServer", "MultiSelectItems"),
    *("RequestPermissionOutcome", "SessionConfigOption", "SessionConfigSelectOptions", "SessionUpdate"),
    *("SetSessionConfigOptionRequest", "ToolCallContent"),
}
PLAIN = {
    *("AuthMethodId", "ElicitationId", "ElicitationSchemaType", "ErrorCode", "ExtNotification", "ExtRequest"),
    *("ExtResponse", "MessageId", "PermissionOptionId", "PermissionOptionKind", "PlanEntryPriority"),
    *("PlanEntryStatus", "ProtocolVersion", "RequestId", "Role", "SessionConfigGroupId", "SessionConfigId"),
    *("SessionConfigOptionCategory", "SessionConfigValueId", "SessionId", "SessionModeId", "StopReason"),
    *("StringFormat", "TerminalId", "ToolCallId", "ToolCallStatus", "ToolKind"),
}
LATER_UPDATES = {"notice", "compaction_update", "compaction_summary_chunk"}


@cache
def models() -> dict[str, type[BaseModel]]:
    found = vars(acp.schema).items()
    return {name: kind for name, kind in found if inspect.isclass(kind) and issubclass(kind, BaseModel)}


@needs_schemas
def test_every_definition_is_judged_by_a_model_of_the_python_sdk_or_listed() -> None:
    assert set(readable("v1", "schema")) - set(models()) == LATER | UNIONS | PLAIN


@needs_schemas
def test_the_python_sdk_accepts_what_we_write_and_we_read_what_it_writes() -> None:
    known, accepted, later = definitions("v1", "schema"), 0, []
    for definition in set(readable("v1", "schema")) & set(models()):
        model, kind = models()[definition], type_of("v1", definition)
        for _, value in instances(known, definition):
            raw = write(read(json.dumps(value).encode(), kind))
            if any(f'"{update}"'.encode() in raw for update in LATER_UPDATES):
                later.append(definition)
                continue
            theirs = model.model_validate_json(raw)
            read(theirs.model_dump_json(by_alias=True, exclude_unset=True).encode(), kind)
            accepted += 1
    assert accepted > 600
    assert later == ["SessionNotification"] * len(LATER_UPDATES)


def test_the_python_sdk_does_refuse() -> None:
    with pytest.raises(ValidationError):
        acp.schema.PromptRequest.model_validate({"sessionId": 1, "prompt": []})
