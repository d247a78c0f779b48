"""`dragoman agents list` and `show`: the known agents, as a table or as JSON.

Names of variables are shown, never their values; what looks like a key in a command is left out as well.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import print_json, say
from dragoman_app.apps.target import display_command
from dragoman_local.known import AgentConfig, AgentSource, KnownAgent, find_agent, known_agents, read_config
from dragoman_local.known.lookup import install_hint, missing_agents, well_known_for
from dragoman_local.known.redactor import redact_shapes

HEADINGS = ("NAME", "FROM", "COMMAND", "")


def run_list(args: argparse.Namespace) -> int:
    config = read_config()
    agents = known_agents(config=config)
    if args.json:
        return print_json(_listing(config, agents))
    rows = [(agent.name, agent.source.value, _command(agent), agent.title) for agent in agents]
    _print_table([HEADINGS, *rows])
    missing = missing_agents(config=config)
    if args.all and missing:
        print("\nNot installed:")
        _print_table([(entry.name, entry.title, install_hint(entry)) for entry in missing])
    elif missing:
        say(
            f"\nNot installed: {', '.join(entry.name for entry in missing)} (how to install them: "
            f"dragoman agents list --all)."
        )
    if held := [agent.name for agent in agents if _tried_version(agent)]:
        say(
            f"\nTested in the sandbox: {sanitize_line(', '.join(held))} (`dragoman run --sandbox workspace`)."
        )
    if config.default_agent is not None:
        say(f"\nDefault: {sanitize_line(config.default_agent)}")
    there = "" if Path(config.path).exists() else " (not there yet)"
    say(f"\nConfiguration: {config.path}{there}")
    return 0


def run_show(args: argparse.Namespace) -> int:
    agent = find_agent(args.agent)
    if args.json:
        return print_json(describe_agent(agent))
    rows = [("name", agent.name), ("title", agent.title), ("from", agent.source.value)]
    rows.append(("address" if agent.address else "command", display_command(agent)))
    if agent.place:
        rows.append(("lives in", agent.place))
        rows += [("mapped", text) for text in agent.maps]
    elif agent.command:
        rows.append(("program", _program(agent) or "not found on PATH"))
    if agent.dialect != "auto":
        rows.append(("speaks", agent.dialect))
    if version := _tried_version(agent):
        rows.append(("sandbox", f"version {version} works in a sandbox: `dragoman run --sandbox workspace`"))
    rows += [("sets", name) for name in agent.env]
    rows += [("may see", f"{name} ({'set' if os.environ.get(name) else 'not set'})") for name in agent.allow]
    _print_table([row for row in rows if row[1]])
    return 0


def describe_agent(agent: KnownAgent) -> dict[str, object]:
    """Return an agent as JSON, without the values of its variables."""
    return {
        "name": agent.name,
        "title": agent.title,
        "source": agent.source.value,
        "command": [redact_shapes(word) for word in agent.command],
        "program": _program(agent),
        "address": agent.address,
        "env": sorted(agent.env),
        "allow": list(agent.allow),
        "dialect": agent.dialect,
        "place": agent.place or None,
        "map": list(agent.maps),
        "sandbox": "workspace" if _tried_version(agent) else None,
    }


def _listing(config: AgentConfig, agents: list[KnownAgent]) -> dict[str, object]:
    return {
        "schema": 1,
        "config": config.path,
        "default": config.default_agent,
        "agents": [describe_agent(agent) for agent in agents],
        "missing": [
            {
                "name": entry.name,
                "title": entry.title,
                "programs": [command[0] for command in entry.commands],
                "install": entry.install,
                "installable": bool(entry.registry),
            }
            for entry in missing_agents(config=config)
        ],
    }


def _command(agent: KnownAgent) -> str:
    """For a table: where an agent lies that we installed, `show` says."""
    if agent.source is AgentSource.INSTALLED:
        agent = replace(agent, command=(os.path.basename(agent.command[0]), *agent.command[1:]))
    return display_command(agent)


def _program(agent: KnownAgent) -> str | None:
    return shutil.which(agent.command[0]) if agent.command else None


def _tried_version(agent: KnownAgent) -> str:
    """The version that was tried in a sandbox and worked; empty if none did, or if it is elsewhere."""
    entry = well_known_for(agent.name, agent.command, agent.source)
    return "" if entry is None or agent.place or agent.address else entry.tried


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    cells = [[sanitize_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
