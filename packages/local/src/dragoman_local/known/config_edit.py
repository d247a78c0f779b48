"""Adds and removes agents in our configuration file, and sets the default agent; every other line stays
unchanged.

The edit is made in the text and checked by reading the result: if it does not say exactly what was wanted,
nothing is written. The file is replaced as a whole, so that a reader never sees half of it. A new file is for
its owner alone, because environments hold keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.system.replacement import replace_file
from dragoman_local.known.agent import KnownAgent
from dragoman_local.known.config import NAME, AgentConfig, ConfigMistake, parse_config, read_text
from dragoman_local.known.toml_text import statements, write_key, write_value


def add_agents(agents: Iterable[KnownAgent], *, path: Path) -> None:
    """Write agents into the file; an agent of the same name is replaced."""
    text = read_text(path)
    config = parse_config(text, path=str(path))
    target_agents = dict(config.agents)
    for agent in agents:
        if not NAME.fullmatch(agent.name):
            raise LocalMistake(f"{agent.name!r} is not a name for an agent: one word, no path, no option")
        if agent.name in config.agents:
            text = _without(text, agent.name)
        text = _with(text, agent)
        target_agents[agent.name] = agent
    _write(path, text, target_agents=target_agents, default=config.default_agent)


def set_default(name: str, *, path: Path) -> None:
    """Set the agent that is used when none is named."""
    text = read_text(path)
    config = parse_config(text, path=str(path))
    newline = "\r\n" if "\r\n" in text else "\n"
    line = f"default_agent = {write_value(name)}{newline}"
    if config.default_agent is None:  # in front of all tables: behind a header it would belong to that table
        text = line + (newline if text.strip() else "") + text
    else:
        parts = statements(text)
        text = "".join(line if part.path == ("default_agent",) else part.text for part in parts)
    _write(path, text, target_agents=dict(config.agents), default=name)


def remove_agent(name: str, *, path: Path) -> None:
    """Remove an agent from the file. Raises `LocalMistake` if it is not in it."""
    text = read_text(path)
    config = parse_config(text, path=str(path))
    if name not in config.agents:
        names = ", ".join(config.agents) or "none"
        raise LocalMistake(f"{path} has no agent {name!r}; it has {names}")
    target_agents = {agent_name: agent for agent_name, agent in config.agents.items() if agent_name != name}
    _write(path, _without(text, name), target_agents=target_agents, default=config.default_agent)


def as_table(agent: KnownAgent) -> str:
    """Return the agent's table for the file."""
    fields: dict[str, str | Sequence[str] | Mapping[str, str]] = {
        "title": agent.title,
        "command": agent.command,
        "env": agent.env,
        "allow": agent.allow,
        "dialect": "" if agent.dialect == "auto" else agent.dialect,
        "place": agent.place,
        "map": agent.maps,
    }
    values = (
        f"{name} = {write_value(value)}" for name, value in fields.items() if value or name == "command"
    )
    return "\n".join((f"[agents.{write_key(agent.name)}]", *values)) + "\n"


def _with(text: str, agent: KnownAgent) -> str:
    table = as_table(agent)
    if not text.strip():
        return table
    newline = "\r\n" if "\r\n" in text else "\n"
    end = "" if text.endswith("\n") else newline
    return text + end + newline + table.replace("\n", newline)


def _without(text: str, name: str) -> str:
    """The text without what it says of the agent. Comments stay: they may be about something else."""
    remaining: list[str] = []
    for statement in statements(text):
        if statement.path[:2] != ("agents", name):
            remaining.append(statement.text)
        elif statement.is_header and remaining and not remaining[-1].strip():
            remaining.pop()  # the blank line before it, or replacing it often would push the text apart
    return "".join(remaining)


def _write(path: Path, text: str, *, target_agents: dict[str, KnownAgent], default: str | None) -> None:
    by_hand = f"{path}: Dragoman can't edit agents in this form safely. Edit the file by hand"
    try:
        result: AgentConfig = parse_config(text, path=str(path))
    except ConfigMistake:
        raise LocalMistake(by_hand) from None
    is_as_wanted = result.default_agent == default and {
        name: _meaning(agent) for name, agent in result.agents.items()
    } == {name: _meaning(agent) for name, agent in target_agents.items()}
    if not is_as_wanted:
        raise LocalMistake(by_hand)
    try:
        _replace(path, text)
    except OSError as error:
        raise LocalMistake(f"cannot write {path}: {error.strerror}") from error


def _meaning(agent: KnownAgent) -> tuple[object, ...]:
    return agent.command, dict(agent.env), agent.allow, agent.title, agent.place, agent.maps


def _replace(path: Path, text: str) -> None:
    target = Path(os.path.realpath(path))  # people keep such files elsewhere
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(target, text.encode())
