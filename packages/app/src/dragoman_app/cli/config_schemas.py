"""JSON Schemas of our configuration files, made from the classes and tables that read them.

Editors complete and check a TOML file by such a schema. What a schema cannot say, `dragoman config check`
does: a schema knows kinds of values and names of keys, the reader knows whether they fit together.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.dialect.names import CHOICES
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman_hub.gate.rates import Rate
from dragoman_hub.settings import (
    AgentSettings,
    HubSettings,
    Kind,
    choices_of,
    fields_of,
    kind_of,
)
from dragoman_local.known.config import KEYS, NAME, TOP
from dragoman_local.workspace.policy.act import METHODS
from dragoman_local.workspace.policy.decision import STRICTNESS
from dragoman_local.workspace.policy.policy_parser import FILE_KEYS, RULE_KEYS, VERSION

JsonSchema: TypeAlias = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT: JsonSchema = {"type": "string"}
TEXTS: JsonSchema = {"type": "array", "items": TEXT}
TEXT_OR_TEXTS: JsonSchema = {"anyOf": [TEXT, TEXTS]}
VARIABLES: JsonSchema = {
    "type": "object",
    "additionalProperties": TEXT,
    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
}

AGENT_PLACE: JsonSchema = {"type": "string", "pattern": "^((ssh|docker|podman):.+)?$"}
MAPPED_FOLDERS: JsonSchema = {"type": "array", "items": {"type": "string", "pattern": "^[^=]+=/"}}

KINDS: dict[str, JsonSchema] = {
    "list of texts": TEXTS,
    "list of words": TEXTS,
    "list of hosts": TEXTS,
    "list of origins": TEXTS,
    "list of hubs": TEXTS,
    "table of texts": VARIABLES,
    "list of mapped folders": MAPPED_FOLDERS,
    "place of an agent": AGENT_PLACE,
    "true or false": {"type": "boolean"},
    "size": {"type": ["integer", "string"]},
    "number": {"type": "integer"},
    "seconds": {"type": "number"},
    "rate": {"type": "string", "pattern": r"^\s*\d{1,9}\s*/\s*[A-Za-z]+\s*$"},
    "dialect": {"enum": list(CHOICES)},
}
"""By the word of a `Kind`; every other word is a text."""


def hub_schema() -> JsonSchema:
    """The schema of `hub.toml`."""
    agents = {
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME.pattern}$"},
        "additionalProperties": _table(AgentSettings),
    }
    schema = _table(HubSettings)
    schema["properties"]["agents"] = agents
    return _document("The configuration of a Dragoman hub", schema)


def agents_schema() -> JsonSchema:
    """The schema of `config.toml`, which names agents."""
    values: dict[str, JsonSchema] = {
        "command": TEXT_OR_TEXTS,
        "env": VARIABLES,
        "allow": TEXTS,
        "title": TEXT,
        "dialect": {"enum": list(CHOICES)},
        "place": AGENT_PLACE,
        "map": MAPPED_FOLDERS,
    }
    agent = _object({key: values[key] for key in KEYS}, required=["command"])
    agents = {
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME.pattern}$"},
        "additionalProperties": agent,
    }
    top: dict[str, JsonSchema] = {"agents": agents, "default_agent": TEXT, "$schema": TEXT}
    return _document("Agents that Dragoman knows by name", _object({key: top[key] for key in TOP}))


def policy_schema() -> JsonSchema:
    """The schema of `policy.toml`."""
    outcome: JsonSchema = {"enum": list(STRICTNESS)}
    special: dict[str, JsonSchema] = {
        "decision": outcome,
        "kind": _some_of(TOOL_KINDS),
        "method": _some_of(METHODS),
        "unreadable": {"type": "boolean"},
        "name": TEXT,
        "note": TEXT,
    }
    rule = _object({key: special.get(key, TEXT_OR_TEXTS) for key in sorted(RULE_KEYS)}, required=["decision"])
    top: dict[str, JsonSchema] = {
        "version": {"const": VERSION},
        "default": outcome,
        "trust": TEXT_OR_TEXTS,
        "rule": {"type": "array", "items": rule},
        "$schema": TEXT,
    }
    return _document("What agents may do", _object({key: top[key] for key in sorted(FILE_KEYS)}))


SCHEMAS = {"agents": agents_schema, "hub": hub_schema, "policy": policy_schema}


def write_schema(kind: str) -> bytes:
    """The schema of one kind of file, as it is published in docs/schemas."""
    return msgspec.json.format(msgspec.json.encode(SCHEMAS[kind]()), indent=2) + b"\n"


def _document(title: str, schema: JsonSchema) -> JsonSchema:
    properties = {**schema["properties"], "$schema": {"type": "string"}}
    return {"$schema": DRAFT, "title": title, **schema, "properties": properties}


def _object(properties: dict[str, JsonSchema], *, required: list[str] | None = None) -> JsonSchema:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _some_of(words: Any) -> JsonSchema:
    word: JsonSchema = {"enum": sorted(words)}
    return {"anyOf": [word, {"type": "array", "items": word}]}


def _table(table: type[Struct]) -> JsonSchema:
    hints = fields_of(table)
    properties = {info.name: _value(hints[info.name], info.default) for info in msgspec.structs.fields(table)}
    return {**_object(properties), "description": (table.__doc__ or "").split("\n")[0]}


def _value(hint: Any, default: object) -> JsonSchema:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _table(hint)
    if choices := choices_of(hint):
        return {"enum": list(choices), "default": default}
    if "Mapping[str, dragoman" in str(hint):
        return {}  # tables of tables: whoever asks puts them there
    kind = kind_of(hint)
    return {**KINDS.get(kind.word, TEXT), "description": kind.word, **_least(kind), **_default(default)}


def _least(kind: Kind) -> JsonSchema:
    return {"minimum": kind.least} if kind.word in ("number", "seconds", "size") else {}


def _default(default: object) -> JsonSchema:
    if default is msgspec.NODEFAULT or isinstance(default, Rate):
        return {}
    return {"default": list(default) if isinstance(default, tuple) else default}
