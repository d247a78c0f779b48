"""`dragoman config check`, `show` and `schema`: the three configuration files.

They are `agents` (config.toml), `hub` (hub.toml) and `policy` (policy.toml). Values that may be secrets are
never shown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.dialect.names import CHOICES
from dragoman.errors import LocalMistake
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman_app.apps.console import ErrorStatus, say, say_json
from dragoman_app.apps.files import explain_error
from dragoman_hub.gate.rates import Rate
from dragoman_hub.settings import (
    AgentSettings,
    HubSettings,
    changed_settings,
    choices_of,
    fields_of,
    kind_of,
    settings_path,
)
from dragoman_hub.settings_file import load_settings
from dragoman_local.known.config import KEYS, NAME, TOP, config_path, read_config
from dragoman_local.workspace.policy.act import METHODS
from dragoman_local.workspace.policy.decision import STRICTNESS
from dragoman_local.workspace.policy.policy_files import read_file
from dragoman_local.workspace.policy.policy_parser import FILE_KEYS, RULE_KEYS, VERSION
from dragoman_local.workspace.policy.policy_paths import policy_paths

SECRET = "(not shown)"  # noqa: S105 - what stands in the place of one


def _check_policy(path: Path) -> None:
    if path.exists():
        read_file(str(path))


CHECKS: dict[str, Callable[[Path], object]] = {
    "agents": read_config,
    "hub": lambda path: load_settings(path) if path.exists() else None,
    "policy": _check_policy,
}


def place_of(kind: str) -> Path:
    """Return the path of this kind of file, even if it does not exist."""
    return {"agents": config_path(), "hub": settings_path(), "policy": Path(policy_paths().policy)}[kind]


def run_check(args: argparse.Namespace) -> int:
    """Read one file, or all three, and show every mistake."""
    if args.file and (not args.kind or not Path(args.file).exists()):
        why = "needs the kind of the file: agents, hub or policy" if not args.kind else "names no file"
        raise LocalMistake(f"--file {why}")
    kinds = [args.kind] if args.kind else list(CHECKS)
    results = [_check(kind, Path(args.file) if args.file else place_of(kind)) for kind in kinds]
    if args.json:
        say_json({"files": results})
    else:
        for result in results:
            verdict = "is good" if result["exists"] else "no file; the defaults apply"
            say(result["error"] or f"{result['path']}: {verdict}")
    return 1 if any(result["error"] for result in results) else 0


def _check(kind: str, path: Path) -> dict[str, Any]:
    error = ""
    try:
        CHECKS[kind](path)
    except LocalMistake as mistake:
        error = str(mistake)
    except OSError as problem:
        error = explain_error(problem)
    return {"kind": kind, "path": str(path), "exists": path.exists(), "error": error or None}


def run_show(args: argparse.Namespace) -> int:
    """Show the values in use: for the hub every value, for the others the file without its secrets."""
    with ErrorStatus(LocalMistake, status=1):
        shown = _SHOW[args.kind]()
    if args.json:
        say_json(shown, indent=2)
        return 0
    say(f"# {place_of(args.kind)}")
    for name, entry in shown.items():
        say(f"{name} = {entry['value']}{'' if entry['default'] else '    # set here'}")
    return 0


def _show_hub() -> dict[str, dict[str, Any]]:
    settings = load_settings()
    own_names = {name for names in changed_settings(HubSettings(), settings) for name in names}
    return {
        name: {"value": value, "default": name not in own_names and not name.startswith("agents.")}
        for name, value in _flat(msgspec.to_builtins(settings), "").items()
    }


def _flat(table: dict[str, Any], prefix: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name == "env":
            values[f"{prefix}env"] = dict.fromkeys(value, SECRET)
        elif isinstance(value, dict) and value:
            values.update(_flat(value, f"{prefix}{name}."))
        else:
            values[f"{prefix}{name}"] = value
    return values


def _show_agents() -> dict[str, dict[str, Any]]:
    config = read_config()
    shown: dict[str, dict[str, Any]] = {
        "default_agent": {"value": config.default_agent or "", "default": config.default_agent is None}
    }
    for name, agent in config.agents.items():
        shown[f"agents.{name}.command"] = {"value": list(agent.command), "default": False}
        if agent.env:
            shown[f"agents.{name}.env"] = {"value": dict.fromkeys(agent.env, SECRET), "default": False}
    return shown


def _show_policy() -> dict[str, dict[str, Any]]:
    path = place_of("policy")
    book = read_file(str(path)) if path.exists() else None
    shown: dict[str, dict[str, Any]] = {
        "default": {
            "value": (book and book.default) or "ask",
            "default": book is None or book.default is None,
        }
    }
    for number, rule in enumerate(book.rules if book else (), 1):
        fields = {
            name: value
            for name, value in msgspec.to_builtins(rule).items()
            if value and name not in ("source", "line")
        }
        shown[f"rule.{number}"] = {"value": fields, "default": False}
    return shown


_SHOW: dict[str, Callable[[], dict[str, dict[str, Any]]]] = {
    "agents": _show_agents,
    "hub": _show_hub,
    "policy": _show_policy,
}


def run_schema(args: argparse.Namespace) -> int:
    """Print the JSON Schema of a kind of file."""
    sys.stdout.write(write_schema(args.kind).decode())
    return 0


# JSON Schemas of our configuration files, made from the classes and tables that read them.
#
# Editors complete and check a TOML file by such a schema. What a schema cannot say, `dragoman config check`
# does: a schema knows kinds of values and names of keys, the reader knows whether they fit together.

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
"""The JSON types for the words of a `Kind`; every other word is a string."""


def hub_schema() -> JsonSchema:
    """Return the schema of `hub.toml`."""
    agents = {
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME.pattern}$"},
        "additionalProperties": _table(AgentSettings),
    }
    schema = _table(HubSettings)
    schema["properties"]["agents"] = agents
    return _document("The configuration of a Dragoman hub", schema)


def agents_schema() -> JsonSchema:
    """Return the schema of `config.toml`, which names agents."""
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
    """Return the schema of `policy.toml`."""
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
    """Return the schema of one kind of file, as published in docs/schemas."""
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
    least = {"minimum": kind.least} if kind.word in ("number", "seconds", "size") else {}
    return {**KINDS.get(kind.word, TEXT), "description": kind.word, **least, **_default(default)}


def _default(default: object) -> JsonSchema:
    if default is msgspec.NODEFAULT or isinstance(default, Rate):
        return {}
    return {"default": list(default) if isinstance(default, tuple) else default}
