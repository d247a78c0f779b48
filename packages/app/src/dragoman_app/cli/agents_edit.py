"""`dragoman agents import`, `add`, `remove` and `default`: change the configuration file of agents.

Says what was taken, what was skipped and why. The values of variables are written to the file and shown
nowhere.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import VARIABLE, is_map, parse_place
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import say, say_json
from dragoman_app.apps.files import explain_error
from dragoman_app.apps.target import display_command
from dragoman_app.cli.agents_show import describe_agent
from dragoman_local.known import AgentSource, KnownAgent, find_agent, read_config
from dragoman_local.known.config import config_path
from dragoman_local.known.config_edit import add_agents, remove_agent, set_default
from dragoman_local.known.foreign_config import PRODUCTS, ImportedAgents
from dragoman_local.known.installation.store import find_installed
from dragoman_local.known.lookup import BUILT_IN
from dragoman_local.known.places import ACPX_PROJECT, Machine


@dataclass(frozen=True, slots=True)
class _Haul:
    """What an import comes to, once our own file has been asked."""

    new_agents: list[KnownAgent]
    skipped_agents: list[tuple[str, str]]
    notes: tuple[str, ...]


def run_import(args: argparse.Namespace) -> int:
    product, file, dry_run = args.product, args.file, args.dry_run
    source = _file_of(product, file)
    imported_agents = PRODUCTS[product].parse(_bytes_of(source), str(source))
    haul = _sorted_out(imported_agents, replace=args.replace)
    if haul.new_agents and not dry_run:
        add_agents(haul.new_agents, path=config_path())
    if args.json:
        _print_haul_json(haul, source, dry_run=dry_run)
    else:
        _print_haul(haul, source, dry_run=dry_run)
    return 0


def run_add(args: argparse.Namespace) -> int:
    name = args.name
    path = config_path()
    agent = KnownAgent(
        name=name,
        command=_command(args.words),
        env=dict(map(_variable, args.env)),
        allow=tuple(_check_variable(name) for name in args.allow),
        source=AgentSource.CONFIG,
        title=args.title,
        dialect=args.dialect,
        place="" if args.place is None else str(parse_place(args.place)),
        maps=tuple(_check_map(text) for text in args.map),
    )
    if name in read_config().agents and not args.replace:
        raise LocalMistake(f"{path} already has an agent named {name!r}. Use --replace to overwrite it")
    add_agents([agent], path=path)
    say(f"Added {sanitize_line(name)}: {sanitize_line(display_command(agent))}\nConfiguration: {path}")
    _warn_of_readers(path, [agent])
    return 0


def run_remove(args: argparse.Namespace) -> int:
    name, path = args.name, config_path()
    config = read_config()
    if name not in config.agents and any(agent.name == name for agent in BUILT_IN):
        raise LocalMistake(f"{name} is built in and can't be removed")
    installed = find_installed(name)
    if name not in config.agents and installed is not None:
        raise LocalMistake(
            f"{name} is an installed agent, not an entry of {path}. Try: dragoman agents uninstall {name}"
        )
    remove_agent(name, path=path)
    say(f"Removed {sanitize_line(name)} from {path}")
    if installed is not None:
        version = sanitize_line(installed.record.version)
        say(
            f"The name now starts the installed version {version}. To remove that too: dragoman agents "
            f"uninstall"
        )
    if config.default_agent == name:
        say(f"It is still named as default_agent in {path}.", file=sys.stderr)
    return 0


def run_default(args: argparse.Namespace) -> int:
    if args.agent is None:
        say(sanitize_line(read_config().default_agent or "You have no default agent."))
        return 0
    agent = find_agent(args.agent)
    if agent.source in (AgentSource.COMMAND, AgentSource.ADDRESS):
        raise LocalMistake(
            f"{args.agent!r} is not the name of an agent. Name the command first: dragoman agents add NAME "
            f"COMMAND"
        )
    set_default(agent.name, path=config_path())
    say(f"{sanitize_line(agent.name)} is now your default agent.\nConfiguration: {config_path()}")
    return 0


def _file_of(product: str, file: str | None) -> Path:
    if file is not None:
        return Path(file)
    places = [Path(place) for place in PRODUCTS[product].places(Machine())]
    for place in places:
        if place.is_file():
            return place
    places_text = " and ".join(map(str, places))
    # A file of this folder may come with a repository of others: it counts only if a person names it.
    is_here = product == "acpx" and Path(ACPX_PROJECT).is_file()
    here = f" (for example {ACPX_PROJECT}, which is in this folder)" if is_here else ""
    raise LocalMistake(
        f"no configuration of {PRODUCTS[product].title} found; looked for {places_text}; name its file{here}"
    )


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LocalMistake(explain_error(error)) from error


def _sorted_out(imported_agents: ImportedAgents, *, replace: bool) -> _Haul:
    ours = read_config().agents
    built_in = {agent.name for agent in BUILT_IN}
    new_agents, skipped_agents = [], list(imported_agents.skipped)
    for agent in imported_agents.agents:
        if agent.name in built_in:
            skipped_agents.append((agent.name, "a built-in agent has this name"))
        elif agent.name in ours and not replace:
            skipped_agents.append((agent.name, "it is already in your file. Use --replace to overwrite it"))
        else:
            new_agents.append(agent)
    return _Haul(new_agents, skipped_agents, imported_agents.notes)


def _print_haul(haul: _Haul, source: Path, *, dry_run: bool) -> None:
    say(f"From {source}:")
    for agent in haul.new_agents:
        variables = f" (sets {', '.join(agent.env)})" if agent.env else ""
        verb = "would take" if dry_run else "took"
        say(f"  {verb} {agent.name}: {sanitize_line(display_command(agent) + variables)}")
    for name, why in haul.skipped_agents:
        say(f"  skipped {sanitize_line(name)}: {sanitize_line(why)}")
    for note in haul.notes:
        say(f"  note: {note}")
    if not haul.new_agents and not haul.skipped_agents:
        print("  the file has no agents")
    if haul.new_agents:
        say("Nothing was written." if dry_run else f"Configuration: {config_path()}")
    if not dry_run:
        _warn_of_readers(config_path(), haul.new_agents)


def _print_haul_json(haul: _Haul, source: Path, *, dry_run: bool) -> None:
    report = {
        "schema": 1,
        "file": str(source),
        "written": None if dry_run or not haul.new_agents else str(config_path()),
        "taken": [describe_agent(agent) for agent in haul.new_agents],
        "skipped": [{"name": name, "why": why} for name, why in haul.skipped_agents],
        "notes": haul.notes,
    }
    say_json(report, indent=2)


def _warn_of_readers(path: Path, agents: Sequence[KnownAgent]) -> None:
    """Keys in a file that everybody may read are worth a word; whose choice it was we cannot know."""
    if os.name != "nt" and any(agent.env for agent in agents) and path.stat().st_mode & 0o077:
        say(f"Others on this machine can read {path}: chmod 600 {path}", file=sys.stderr)


def _command(words: Sequence[str]) -> tuple[str, ...]:
    # What argparse leaves when somebody separated the command from the options.
    command = tuple(words[1:] if words[:1] == ["--"] else words)
    if not command or not command[0]:
        raise LocalMistake("the command is missing. Use: dragoman agents add NAME COMMAND [ARGUMENT ...]")
    if command[0].startswith("-"):
        raise LocalMistake(f"{command[0]!r} is not a command. Put options before the name of the agent")
    return command


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not VARIABLE.fullmatch(name):
        raise LocalMistake("--env needs NAME=VALUE. To pass a variable of your environment, use --allow NAME")
    return name, value


def _check_map(text: str) -> str:
    if not is_map(text):
        raise LocalMistake(
            f"--map {text!r} is not a pair of folders. Use HERE=THERE, where THERE begins with /"
        )
    return text


def _check_variable(name: str) -> str:
    if not VARIABLE.fullmatch(name):
        raise LocalMistake("--allow needs the name of a variable, such as OPENAI_API_KEY")
    return name
