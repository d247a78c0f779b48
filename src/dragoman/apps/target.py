"""Which agent is meant, and how it is reached."""

from __future__ import annotations

import asyncio
import shlex
import socket
from collections.abc import Iterable, Sequence

from msgspec import Struct

from dragoman.apps.console import UsageMistake
from dragoman.apps.files import authorization
from dragoman.errors import LocalMistake, SpawnFailed
from dragoman.sdk.environment import agent_environment
from dragoman.sdk.known import KnownAgent, reach_agent, read_config
from dragoman.sdk.known.finding import OURS
from dragoman.sdk.known.redacting import redact_shapes
from dragoman.transport.address import RemoteAddress, UnixAddress, parse_address, remote
from dragoman.transport.contract import Transport
from dragoman.transport.pipe import PipeTransport

CONNECT_SECONDS = 5.0


class ChosenAgent(Struct, frozen=True):
    """An agent, and the environment that it gets."""

    agent: KnownAgent
    env: dict[str, str]
    agent_name: str = ""
    """How it was named, for commands that a person may type."""
    note: str | None = None
    dialect: str = "auto"

    def open(self) -> Sequence[str] | Transport:
        """What `connect` takes. Needs a running loop."""
        if self.agent.address is None:
            return self.agent.command
        return _dial(self.agent.address)


def find_target(
    agent_name: str | None, variables: Iterable[str], *, dialect: str | None = None
) -> ChosenAgent:
    """The agent that was named, or the one of the configuration, or the built-in one; raises `UsageMistake`.
    `dialect` wins over what the configuration says that it speaks.
    """
    note = None
    try:
        if agent_name is None:
            agent_name = read_config().default_agent
        if agent_name is None:
            agent_name = "echo"
            note = "no agent was named, so the built-in echo answers; choose one with --agent"
        resolved_agent = asyncio.run(reach_agent(agent_name))
    except LocalMistake as error:
        raise UsageMistake(str(error), "see `dragoman agents`") from error
    agent = resolved_agent.agent
    allow, explicit = [*agent.allow], dict(agent.env)
    for variable in variables:
        name, is_set, value = variable.partition("=")
        if not name or "\0" in variable:
            raise UsageMistake("--env takes NAME or NAME=VALUE", "name a variable")
        if is_set:
            explicit[name] = value
        else:
            allow.append(name)
    env = agent_environment(allow=allow, explicit=explicit, path=resolved_agent.path)
    return ChosenAgent(agent, env, agent_name, note, dialect or agent.dialect)


def _dial(text: str) -> Transport:
    address = parse_address(text)
    if isinstance(address, RemoteAddress):
        return remote(address.url, headers=authorization())
    if not isinstance(address, UnixAddress):
        raise UsageMistake(
            f"{text!r} cannot be reached from here", "give a command, unix:/path, ws://… or http://…"
        )
    if not hasattr(socket, "AF_UNIX"):
        raise UsageMistake(
            f"{text!r} cannot be reached: this system has no unix sockets", "give ws://… or http://…"
        )
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.settimeout(CONNECT_SECONDS)
        peer.connect(address.path)
        peer.setblocking(False)
    except OSError as error:
        peer.close()
        raise SpawnFailed(f"cannot reach {text}: {error.strerror or error}") from error
    fd = peer.detach()
    return PipeTransport(fd, fd)


def display_command(agent: KnownAgent) -> str:
    """The command as a person would type it."""
    if agent.command[: len(OURS)] == OURS:
        return shlex.join(("dragoman", *agent.command[len(OURS) - 1 :]))
    return redact_shapes(agent.command_line)
