"""`dragoman config check`, `show` and `schema`: our three configuration files.

They are `agents` (config.toml), `hub` (hub.toml) and `policy` (policy.toml). Values that may be secrets are
never shown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import LocalMistake
from dragoman_app.apps.console import ErrorStatus, say, say_json
from dragoman_app.apps.files import explain_error
from dragoman_app.cli.config_schemas import write_schema
from dragoman_hub.settings import HubSettings, changed_settings, settings_path
from dragoman_hub.settings_file import load_settings
from dragoman_local.known.config import config_path, read_config
from dragoman_local.workspace.policy.policy_files import read_file
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
    """Where the file of this kind is, or would be."""
    return {"agents": config_path(), "hub": settings_path(), "policy": Path(policy_paths().policy)}[kind]


def run_check(args: argparse.Namespace) -> int:
    """Read one file, or all three, and say every mistake that is found."""
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
    """Show what holds: for the hub every value, for the others the file without its secrets."""
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
