"""Finds the agent that a user means: by name, command line or address.

Names win in this order: our configuration file, what comes with the package, what `dragoman agents install`
has installed, well-known agents on PATH. What is not a name may be an address (`unix:/run/agent.sock`) or a
command. What is nothing gets the nearest names.

Looks at files and along PATH; starts nothing. `path` is the PATH to search where it is not our own.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import CLIENT_VARIABLES, command_in, parse_place
from dragoman.transport.address import CommandAddress, StdioAddress, parse_address
from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.config import AgentConfig, read_config
from dragoman_local.known.installation.store import find_installed, installed_agents
from dragoman_local.known.wellknown import WELL_KNOWN, WellKnown

OURS = (sys.executable or "python3", "-m", "dragoman", "agent")

MODEL_VARIABLES = (
    "DRAGOMAN_MODEL",
    "DRAGOMAN_BASE_URL",
    "DRAGOMAN_API",
    "DRAGOMAN_API_KEY",
    "DRAGOMAN_KEY_FILE",
    "DRAGOMAN_SYSTEM",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
)
"""The model variables of our own agents, which may use the user's values."""


def _built_in(name: str, title: str, *, allow: tuple[str, ...] = ()) -> KnownAgent:
    return KnownAgent(name=name, command=(*OURS, name), source=AgentSource.BUILT_IN, title=title, allow=allow)


BUILT_IN: tuple[KnownAgent, ...] = (
    _built_in("echo", "repeats what you say, for testing"),
    _built_in("review", "reviews code, offline", allow=MODEL_VARIABLES),
    _built_in("code", "works with your own model", allow=MODEL_VARIABLES),
)


def find_agent(
    text: str, *, config: AgentConfig | None = None, path: str | None = None, or_missing: bool = False
) -> KnownAgent:
    """Return the agent for the user's text. Raises `LocalMistake` with the known agents, or with the mistake
    in the file.

    A well-known agent that is not installed is given only to those who ask for it with `or_missing`.
    """
    query = text.strip()
    if not query:
        raise LocalMistake("no agent was named: give a name, a command or an address")
    agent = _find_named(query, config or read_config(), path)
    if agent is not None:
        return in_place(at_home(agent))
    address = parse_address(query)
    if isinstance(address, StdioAddress):
        raise LocalMistake("stdio: is our own input and output, where no agent can be; give its command")
    if not isinstance(address, CommandAddress):
        return KnownAgent(name=query, command=(), source=AgentSource.ADDRESS, address=str(address))
    words = address.command
    # `claude` may well be a program on PATH, but not one that speaks the protocol: its adapter does.
    entry = _well_known(words[0].casefold()) if len(words) == 1 else None
    if entry is not None and or_missing:
        return _agent_for(entry, entry.commands[0])
    # A path is a program even if it does not exist, and its start then reports the problem.
    is_program = bool(os.path.dirname(words[0])) or shutil.which(words[0], path=path) is not None
    if entry is not None or (len(words) == 1 and not is_program):
        raise LocalMistake(_nothing_called(words[0], config or read_config(), path))
    return at_home(KnownAgent(name=os.path.basename(words[0]), command=words, source=AgentSource.COMMAND))


def find_agent_in(
    place: str, text: str, *, maps: Sequence[str] = (), config: AgentConfig | None = None
) -> KnownAgent:
    """Return the agent to start on another machine, which checks whether it exists. Raises `LocalMistake`."""
    query = text.strip()
    agent = _find_named(query, config or read_config(), None)
    entry = _well_known(query.casefold())
    if entry is not None and (agent is None or agent.source is not AgentSource.CONFIG):
        agent = _agent_for(entry, entry.commands[0])  # where it is installed here says nothing of there
    if agent is None:
        address = parse_address(query) if query else None
        if not isinstance(address, CommandAddress):
            raise LocalMistake(
                f"{text!r} is not an agent that could be started in {place}: give a name or a command"
            )
        name = os.path.basename(address.command[0])
        agent = KnownAgent(name=name, command=address.command, source=AgentSource.COMMAND)
    return in_place(replace(agent, place=str(parse_place(place)), maps=tuple(maps) or agent.maps))


def in_place(agent: KnownAgent) -> KnownAgent:
    """Return the agent with the command that starts it from here, if it is on another machine. Only variables
    named for it are sent: those that our agents may use here were not meant for another machine.
    """
    if not agent.place:
        return agent
    allow = agent.allow if agent.source is AgentSource.CONFIG else ()
    command = command_in(
        parse_place(agent.place), agent.command, variables=(*agent.env, *allow), maps=agent.maps
    )
    return replace(agent, command=command, allow=(*allow, *CLIENT_VARIABLES))


def known_agents(*, config: AgentConfig | None = None, path: str | None = None) -> list[KnownAgent]:
    """Return every named agent that can be started here, each name once, sorted."""
    agents = {agent.name: agent for agent in _on_path(path)}
    agents.update((agent.record.name, agent.as_known()) for agent in installed_agents())
    agents.update((agent.name, agent) for agent in BUILT_IN)
    agents.update((config or read_config()).agents)
    return [at_home(agents[name]) for name in sorted(agents, key=str.casefold)]


def missing_agents(*, config: AgentConfig | None = None, path: str | None = None) -> list[WellKnown]:
    """Return well-known agents that are not installed and whose name is not used here."""
    names = {agent.name for agent in known_agents(config=config, path=path)}
    return [entry for entry in WELL_KNOWN if entry.name not in names]


def at_home(agent: KnownAgent) -> KnownAgent:
    """Return the command with `~/bin/agent` expanded: editors do that for their users, and no shell does it
    here.
    """
    if agent.place or not agent.command or not agent.command[0].startswith("~"):
        return agent
    return replace(agent, command=(os.path.expanduser(agent.command[0]), *agent.command[1:]))


def well_known_for(name: str, command: Sequence[str], source: AgentSource) -> WellKnown | None:
    """Return the well-known agent, by the user's name or by its program on PATH. A program named by its path
    is not recognised by its name.
    """
    named = None if source is AgentSource.COMMAND else _well_known(name.casefold())
    if named is not None:
        return named
    program = command[0] if command else ""
    return next((entry for entry in WELL_KNOWN if any(program == words[0] for words in entry.commands)), None)


def install_hint(entry: WellKnown) -> str:
    """Return how to install the agent: with `dragoman agents install` if the list has it, otherwise the
    vendor's way.
    """
    own = f"try: {entry.install}" if " install " in entry.install else f"install {entry.install}"
    return f"try: dragoman agents install {entry.name}; or {own}" if entry.registry else own


def _find_named(query: str, config: AgentConfig, path: str | None) -> KnownAgent | None:
    name = query.casefold()
    for agent in (*config.agents.values(), *BUILT_IN):
        if agent.name.casefold() == name:
            return agent
    entry = _well_known(name)
    installed = find_installed(name if entry is None else entry.name)
    if installed is not None:
        return installed.as_known()
    return None if entry is None else _find_on_path(entry, path)


def _well_known(name: str) -> WellKnown | None:
    for entry in WELL_KNOWN:
        if name == entry.name or name in entry.aliases:
            return entry
    return None


def _on_path(path: str | None) -> Iterator[KnownAgent]:
    for entry in WELL_KNOWN:
        agent = _find_on_path(entry, path)
        if agent is not None:
            yield agent


def _find_on_path(entry: WellKnown, path: str | None) -> KnownAgent | None:
    for command in entry.commands:
        if shutil.which(command[0], path=path):
            return _agent_for(entry, command)
    return None


def _agent_for(entry: WellKnown, command: tuple[str, ...]) -> KnownAgent:
    return KnownAgent(
        name=entry.name, command=command, allow=entry.allow, source=AgentSource.PATH, title=entry.title
    )


def _nothing_called(word: str, config: AgentConfig, path: str | None) -> str:
    entry = _well_known(word.casefold())
    if entry is not None:
        programs = " and ".join(command[0] for command in entry.commands)
        return f"{entry.title} is not installed (looked on PATH for {programs}); {install_hint(entry)}"
    names = [agent.name for agent in known_agents(config=config, path=path)]
    return f"there is no agent or program named {word!r}; {_suggestion(word, names)}"


def _suggestion(word: str, known_names: list[str]) -> str:
    import difflib  # at a mistake alone: it would slow every start

    names = {name.casefold(): name for name in (*(entry.name for entry in WELL_KNOWN), *known_names)}
    near = [names[name] for name in difflib.get_close_matches(word.casefold(), names, n=3, cutoff=0.6)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"choose from {', '.join(known_names)}, or give a whole command in quotes: 'PROGRAM --acp'"
