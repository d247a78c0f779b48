"""The published JSON schemas as tests use them: where they are, what they accept, and which type reads
which definition.

The files are the specification's and not in this repository; `make setup` installs the package that ships
them. Tests that need them carry `needs_schemas`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema import v1, v2

PACKAGE = Path(__file__).parents[4] / "tests/interop/ts/node_modules/@agentclientprotocol/sdk"
FILES = [(version, name) for version in ("v1", "v2") for name in ("schema", "schema.unstable")]
VERSIONS: dict[str, Any] = {"v1": v1, "v2": v2}

needs_schemas = pytest.mark.skipif(
    not PACKAGE.is_dir(), reason="the published schemas are not installed: `make setup` needs npm"
)

# JSON-RPC's shells, and definitions that exist only to be merged into other objects: no types of ours.
ENVELOPES = {
    f"{side}{kind}"
    for side in ("Agent", "Client", "Proxy")
    for kind in ("Request", "Response", "Notification")
}
MERGED = {"ElicitationSessionScope", "ElicitationRequestScope", "ErrorStopReason"}

# Members whose union adds fields that they need: they are read only through it.
THROUGH_UNION = {
    "SessionConfigSelect": "SessionConfigOption",
    "SessionConfigBoolean": "SessionConfigOption",
    "ElicitationFormMode": "CreateElicitationRequest",
    "ElicitationUrlMode": "CreateElicitationRequest",
}

Schema = dict[str, Any]


@cache
def definitions(version: str, name: str = "schema.unstable") -> Schema:
    if not PACKAGE.is_dir():
        return {}
    found: Schema = json.loads((PACKAGE / "schema" / version / f"{name}.json").read_bytes())["$defs"]
    return found


def readable(version: str, name: str = "schema.unstable") -> list[str]:
    """The definitions that one of our types reads by itself."""
    skipped = ENVELOPES | MERGED | set(THROUGH_UNION)
    return [definition for definition in definitions(version, name) if definition not in skipped]


def type_of(version: str, definition: str) -> Any:
    return getattr(VERSIONS[version], definition)


class Judge:
    """A validator of the JSON schema subset that the published files use, without their annotations'
    leniency.
    """

    def __init__(self, known: Schema) -> None:
        self._known = known

    def accepts(self, schema: Schema, value: Any) -> bool:
        if "$ref" in schema and not self.accepts(self._known[schema["$ref"].rpartition("/")[2]], value):
            return False
        rules = (self._kind, self._value, self._number, self._object, self._array, self._parts)
        return all(rule(schema, value) for rule in rules)

    def _kind(self, schema: Schema, value: Any) -> bool:
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return not kinds or any(_is_a(kind, value) for kind in kinds)

    def _value(self, schema: Schema, value: Any) -> bool:
        if isinstance(value, str) and len(value) < schema.get("minLength", 0):
            return False
        return "const" not in schema or (value == schema["const"] and type(value) is type(schema["const"]))

    def _number(self, schema: Schema, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        lowest, highest = schema.get("minimum", value), schema.get("maximum", value)
        return bool(lowest <= value <= highest)

    def _object(self, schema: Schema, value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        if any(name not in value for name in schema.get("required", ())):
            return False
        declared = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        return all(
            self.accepts(declared.get(name, {} if others is True else others), item)
            for name, item in value.items()
        )

    def _array(self, schema: Schema, value: Any) -> bool:
        if not isinstance(value, list):
            return True
        if len(value) < schema.get("minItems", 0):
            return False
        return all(self.accepts(schema.get("items", {}), item) for item in value)

    def _parts(self, schema: Schema, value: Any) -> bool:
        if not all(self.accepts(part, value) for part in schema.get("allOf", ())):
            return False
        if "anyOf" in schema and not any(self.accepts(part, value) for part in schema["anyOf"]):
            return False
        if "oneOf" in schema and sum(self.accepts(part, value) for part in schema["oneOf"]) != 1:
            return False
        return "not" not in schema or not self.accepts(schema["not"], value)


def _is_a(kind: str, value: Any) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
    return isinstance(value, dict)
