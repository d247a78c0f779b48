"""Reads agents from the configuration of other products: Zed, the JetBrains IDEs, acpx.

Each reader takes the bytes of a file and gives what can be started from here, and for the rest why it
cannot. Nothing is opened, and no value of an environment stands in a reason.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import VARIABLE
from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.config import NAME
from dragoman_local.known.jsonc import parse_jsonc
from dragoman_local.known.places import Machine, acpx_config, jetbrains_acp, zed_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedAgents:
    """The agents of one file of another product."""

    agents: tuple[KnownAgent, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    """Names from the file, each with the reason."""

    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Product:
    """A product's files with agents, and how to read them."""

    title: str
    places: Callable[[Machine], list[PurePath]]
    parse: Callable[[bytes, str], ImportedAgents] = field(repr=False)


def parse_zed(data: bytes, path: str) -> ImportedAgents:
    """Parse `agent_servers` of Zed's settings. Agents that Zed installs by itself have no command there."""

    def read(name: str, entry: Mapping[str, object]) -> KnownAgent:
        kind = entry.get("type", "custom")
        if kind in ("registry", "extension") and "command" not in entry:
            raise _Skip("Zed installs this agent itself; to use it here, install it on PATH")
        if "command" not in entry:
            raise _Skip("it only has settings of Zed, no command")
        command = entry["command"]
        if isinstance(command, Mapping):  # how Zed wrote commands once: path, args and env inside of it
            entry = {**entry, **command, "command": command.get("path")}
        return _agent(name, _program(entry), entry)

    return _collect(_table(data, path, "agent_servers"), read)


def parse_jetbrains(data: bytes, path: str) -> ImportedAgents:
    """Parse `agent_servers` of acp.json. `use_idea_mcp` and the like are for the IDE and ignored here."""
    return _collect(
        _table(data, path, "agent_servers"), lambda name, entry: _agent(name, _program(entry), entry)
    )


def parse_acpx(data: bytes, path: str) -> ImportedAgents:
    """Parse `agents` of acpx: `argv`, or `command` with `args`, or `command` as a shell line."""

    def read(name: str, entry: Mapping[str, object]) -> KnownAgent:
        if "argv" in entry:
            return _agent(name, _words(entry["argv"], "argv"), entry)
        if "args" in entry:
            return _agent(name, _program(entry), entry)
        return _agent(name, _split(entry.get("command")), entry)

    document = parse_jsonc(data, path=path)
    result = _collect(_inside(document, path, "agents"), read)
    if isinstance(document, Mapping) and document.get("auth"):
        return ImportedAgents(
            agents=result.agents,
            skipped=result.skipped,
            notes=("its credentials (auth) stay where they are; `allow` or `env` hands a key to an agent",),
        )
    return result


PRODUCTS = {
    "zed": Product("Zed", zed_settings, parse_zed),
    "jetbrains": Product("JetBrains IDEs", jetbrains_acp, parse_jetbrains),
    "acpx": Product("acpx", acpx_config, parse_acpx),
}


def our_name(title: str) -> str:
    """Return a name for a title of another product: `My Agent (beta)` becomes `my-agent-beta`."""
    return re.sub(r"[^a-z0-9._]+", "-", title.casefold()).strip("-._")


class _Skip(Exception):
    """The reason why an entry cannot be imported."""


def _collect(
    table: Mapping[str, object], read: Callable[[str, Mapping[str, object]], KnownAgent]
) -> ImportedAgents:
    agents: dict[str, KnownAgent] = {}
    skips: list[tuple[str, str]] = []
    for title, entry in table.items():
        try:
            agent = _read_agent(title, entry, read)
            if agent.name in agents:
                raise _Skip(f"another one would be called {agent.name} as well")
            agents[agent.name] = agent
        except _Skip as why:
            skips.append((title, str(why)))
    return ImportedAgents(agents=tuple(agents.values()), skipped=tuple(skips))


def _read_agent(
    title: str, entry: object, read: Callable[[str, Mapping[str, object]], KnownAgent]
) -> KnownAgent:
    if not isinstance(entry, Mapping):
        raise _Skip("it is not an object")
    if not NAME.fullmatch(our_name(title)):
        raise _Skip("no name can be made of this one; add it with `dragoman agents add`")
    return read(title, entry)


def _agent(title: str, command: tuple[str, ...], entry: Mapping[str, object]) -> KnownAgent:
    name = our_name(title)
    return KnownAgent(
        name=name,
        command=command,
        env=_env(entry.get("env")),
        source=AgentSource.CONFIG,
        title="" if title == name else title,
    )


def _program(entry: Mapping[str, object]) -> tuple[str, ...]:
    program = entry.get("command")
    if not isinstance(program, str) or not program:
        raise _Skip("its command is not text" if "command" in entry else "it has no command")
    return _words([program, *_args(entry.get("args"))], "args")


def _args(value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _Skip("its args are not a list")
    return value


def _split(command: object) -> tuple[str, ...]:
    if not isinstance(command, str):
        raise _Skip("it has no command")
    try:
        return _words(shlex.split(command), "command")
    except ValueError:
        raise _Skip("its command is not a command line: a quote is not closed") from None


def _words(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) and "\0" not in word for word in value):
        raise _Skip(f"its {what} are not a list of words")
    if not value or not value[0]:
        raise _Skip("its command is empty")
    return tuple(value)


def _env(value: object) -> dict[str, str]:
    if value is None:
        return {}
    pairs = dict(_pairs(value))
    for name, item in pairs.items():
        if not VARIABLE.fullmatch(name) or not isinstance(item, str) or "\0" in item:
            raise _Skip("its env has an entry that is not a name with a text")
    return pairs


def _pairs(value: object) -> Iterator[tuple[str, Any]]:
    """An object, or a list of objects with `name` and `value` as the protocol writes environments."""
    if isinstance(value, Mapping):
        yield from value.items()
        return
    if not isinstance(value, list):
        raise _Skip("its env is not an object")
    for item in value:
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
            raise _Skip("its env is not an object")
        yield item["name"], item.get("value")


def _table(data: bytes, path: str, key: str) -> Mapping[str, object]:
    return _inside(parse_jsonc(data, path=path), path, key)


def _inside(document: object, path: str, key: str) -> Mapping[str, object]:
    if not isinstance(document, Mapping):
        raise LocalMistake(f"{path}: this is not a configuration: an object was expected")
    table = document.get(key, {})
    if not isinstance(table, Mapping):
        raise LocalMistake(f"{path}: {key} is not an object")
    return table
