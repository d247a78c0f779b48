"""Chooses the agent for a command line without one: your default, otherwise the only installed one. If
several are installed, you choose at the terminal; without a terminal the command line must name the agent.

The agents that come with this package are never chosen for you: you would take their answer for that of the
agent that you expect.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import UsageMistake, write_stderr
from dragoman_local.known import AgentSource, KnownAgent, known_agents, read_config
from dragoman_local.known.config import config_path
from dragoman_local.known.config_edit import set_default


def choose_agent(*, can_ask: bool) -> tuple[str, str | None]:
    """Return the name of the agent, and a note for the user about the choice. Raises `UsageMistake` if there
    is nothing to choose from, or nobody to ask.
    """
    config = read_config()
    if config.default_agent is not None:
        return config.default_agent, None
    agents = [agent for agent in known_agents(config=config) if agent.source is not AgentSource.BUILT_IN]
    if len(agents) == 1:
        return agents[0].name, f"using {agents[0].name}, the only agent installed here"
    if not agents:
        raise UsageMistake(
            "no agent named, and none is installed",
            "install an agent with `dragoman agents install claude`, or name one with --agent",
        )
    if can_ask:
        return _ask(agents), None
    raise UsageMistake(
        f"no agent named, and several are installed: {', '.join(agent.name for agent in agents)}",
        f"add --agent {agents[0].name}, or make it your default: `dragoman agents default {agents[0].name}`",
    )


def _ask(agents: Sequence[KnownAgent]) -> str:
    width = max(len(agent.name) for agent in agents)
    rows = [
        f"  {number}  {agent.name:{width}}  {sanitize_line(agent.title)}".rstrip()
        for number, agent in enumerate(agents, 1)
    ]
    write_stderr("\n".join(["Which agent should answer?", *rows, ""]))
    names = {agent.name: agent.name for agent in agents}
    names |= {str(number): agent.name for number, agent in enumerate(agents, 1)}
    while (name := names.get(_read_line(f"Number (1 to {len(agents)}): "))) is None:
        write_stderr(f"Choose a number from 1 to {len(agents)}.\n")
    if _read_line(f"Make {name} your default agent? [y/N] ").lower() in ("y", "yes"):
        set_default(name, path=config_path())
    return name


def _read_line(question: str) -> str:
    write_stderr(question)
    line = sys.stdin.readline()
    if not line:
        write_stderr("\n")
        raise UsageMistake("you chose no agent", "name one with --agent")
    return line.strip()
