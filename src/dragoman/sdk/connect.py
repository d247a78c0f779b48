"""`connect`: from a command, an agent object or a transport to an initialized agent.

    async with connect("some-agent --acp") as agent:
        session = await agent.new_session(cwd="/project")

Leaving the block ends the conversation and, if we started one, the agent's whole process tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import UNSET

from dragoman.errors import CallTimeout, HandshakeTimeout, VersionMismatch
from dragoman.runtime import Limits, Link
from dragoman.runtime.limits import DEFAULT_LIMITS
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.client.client import Client
from dragoman.sdk.client.side import ClientSide
from dragoman.sdk.reading import read_result
from dragoman.transport.contract import Transport

if TYPE_CHECKING:  # who serves, starts, taps and translates nothing does not pay for it
    from dragoman.dialect import Ledger
    from dragoman.sdk.environment import Env
    from dragoman.sdk.serve import Serving
    from dragoman.transport.tapped import Tap

SUPPORTED = (1,)

Target: TypeAlias = str | Sequence[str] | Agent | Transport

Opening: TypeAlias = Callable[[], tuple[Transport, "Serving | None"]]


def connect(
    target: Target,
    *,
    client: Client | None = None,
    limits: Limits | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Env = None,
    on_stderr: Callable[[bytes], None] | None = None,
    on_stray: Callable[[str], None] | None = None,
    tap: Tap | None = None,
    headers: Mapping[str, str] | None = None,
    resume: bool = False,
    dialect: str = "auto",
    quirks: bool = True,
    ledger: Ledger | None = None,
    policy: str = "",
) -> Connecting:
    """An agent, started if need be, and initialized. A string is a command line, which no shell runs, or the
    address of a server (`ws://…`, `https://…`), which gets these `headers`. With `resume`, a connection to a
    hub that breaks is opened again, for as long as the block lasts, and goes on where it was.

    `env` is the whole environment of a command. Without one it gets no more of ours than it needs to run;
    `"inherit"` hands on everything (see `environment`). `tap(direction, block)` sees every frame that passes,
    before it has any effect; `on_stray(line)` gets what the agent writes to its standard output and is no
    JSON.

    `dialect` is what the agent speaks, by name or `"auto"`, which finds out; known `quirks` of agents are
    repaired; `ledger` learns what was found, what could not be carried and what was repaired. An `Agent` of
    this process and a hub speak v1: nothing stands in between. What an interpreter itself lends to an agent
    is decided by the rules of the file `policy`, then by those of the project and the user.

        async with connect("some-agent --acp") as agent:
            session = await agent.new_session(cwd="/project")
            result = await session.prompt("Hello")

    Specification: https://agentclientprotocol.com/protocol/v1/initialization
    """

    def open_transport() -> tuple[Transport, Serving | None]:
        if isinstance(target, Agent):
            from dragoman.sdk.serve import serving
            from dragoman.transport.memory import memory_pair

            ours, theirs = memory_pair()
            return ours, serving(target, theirs, limits=limits)
        if isinstance(target, str) and "://" in target.partition(" ")[0]:
            if resume:
                from dragoman.sdk.resuming import resuming

                return resuming(target, headers=headers), None
            from dragoman.transport.address import remote

            return remote(target, headers=headers), None
        if isinstance(target, str | Sequence):
            from dragoman.sdk.environment import resolved
            from dragoman.transport.owned import Grace
            from dragoman.transport.process import spawn

            grace = Grace.steps((limits or DEFAULT_LIMITS).end_seconds)
            return spawn(target, cwd=cwd, env=resolved(env), grace=grace, on_stderr=on_stderr), None
        return target, None

    if not isinstance(target, Agent) and not resume:
        opening = _interpreted(open_transport, dialect, cwd=cwd, quirks=quirks, ledger=ledger, policy=policy)
    else:
        opening = open_transport
    return Connecting(opening, client or _anonymous(), limits or DEFAULT_LIMITS, tap=tap, on_stray=on_stray)


def _interpreted(
    opening: Opening,
    dialect: str,
    *,
    cwd: str | os.PathLike[str] | None,
    quirks: bool,
    ledger: Ledger | None,
    policy: str,
) -> Opening:
    """The one place where an agent that somebody connects to is heard in v1."""
    from dragoman.sdk.interpreting.lending import LendingTransport
    from dragoman.sdk.interpreting.speaking import agent_interpreter

    def opening_interpreted() -> tuple[Transport, Serving | None]:
        interpreter = agent_interpreter(dialect, cwd=cwd, ledger=ledger, quirks=quirks)
        transport, served = opening()
        if interpreter is None:
            return transport, served
        return LendingTransport(transport, interpreter, policy=policy), served

    return opening_interpreted


class Connecting:
    """What `connect` returns: an `async with` that gives the agent. Nothing starts before it is entered."""

    __slots__ = ("_client", "_limits", "_link", "_on_stray", "_open", "_served", "_tap")

    def __init__(
        self,
        open_: Opening,
        client: Client,
        limits: Limits,
        *,
        tap: Tap | None = None,
        on_stray: Callable[[str], None] | None = None,
    ) -> None:
        self._open = open_
        self._on_stray = on_stray
        self._client = client
        self._limits = limits
        self._tap = tap
        self._link: Link | None = None
        self._served: Serving | None = None

    async def __aenter__(self) -> AgentHandle:
        transport, self._served = self._open()
        if self._tap is not None:
            from dragoman.transport.tapped import TappedTransport

            transport = TappedTransport(transport, self._tap)
        if self._served is not None:
            await self._served.__aenter__()
        side = ClientSide(self._client)
        self._link = Link(transport, side, name=self._client.link_name, limits=self._limits)
        self._link.on_stray = self._on_stray
        agent = AgentHandle(self._link, side)
        side.attach(self._link, agent)
        self._link.start()
        try:
            await handshake(agent, self._client, self._limits)
        except BaseException:
            await self.__aexit__()
            raise
        return agent

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._link is not None:
                await self._link.aclose()
        finally:
            if self._served is not None:
                await self._served.__aexit__()


@cache
def _anonymous() -> Client:
    """The client of whoever brings none; it holds no state, so one is enough."""
    return Client()


async def handshake(agent: AgentHandle, client: Client, limits: Limits) -> None:
    request = v1.InitializeRequest(
        protocol_version=max(SUPPORTED),
        client_info=v1.Implementation(
            name=client.name, version=client.version, title=UNSET if client.title is None else client.title
        ),
        client_capabilities=client.capabilities(),
    )
    try:
        raw = await agent.link.call("initialize", write(request), deadline=limits.handshake_seconds)
    except CallTimeout as late:
        stray = agent.link.stray.text
        raise HandshakeTimeout("the answer to initialize", late.seconds, stray=stray) from None
    answer = read_result(raw, v1.InitializeResponse, "initialize")
    if answer.protocol_version not in SUPPORTED:
        raise VersionMismatch(answer.protocol_version, SUPPORTED)
    agent.introduce(answer)
    if b"env_var" in bytes(raw):  # a draft of the protocol, which the messages of this version do not know
        from dragoman.sdk.login import read_env_methods

        agent.env_methods = read_env_methods(raw)


MOST_NOTES = 20
"""Lines of one life that are told; an agent that logs to its standard output never stops."""


class BoundedNotes:
    """Tells of the first lines that are not the protocol, and once that there are more."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._count = 0

    def __call__(self, line: str) -> None:
        self._count += 1
        if self._count <= MOST_NOTES:
            self._note(f"the agent printed text that is not ACP: {line}")
        elif self._count == MOST_NOTES + 1:
            self._note("the agent prints more text that is not ACP, which is not shown")
