"""`connect`: starts or reaches an agent, from a command, an agent object or a transport, and initializes it.

    async with connect("some-agent --acp") as agent:
        session = await agent.new_session(cwd="/project")

Leaving the block ends the conversation and, if we started one, the agent's whole process tree.

The agent is started before the code is loaded that talks to it: its start and our imports take place at the
same time. So this module imports little at its top, and `conversation` is loaded by `ConnectContext`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from dragoman.errors import InvalidValue
from dragoman.runtime.limits import DEFAULT_LIMITS, Limits, check_kind
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.client.client import Client
from dragoman.transport.contract import Grace, Transport

if TYPE_CHECKING:  # who serves, starts, taps and translates nothing does not pay for it
    from dragoman.dialect import Ledger
    from dragoman.runtime.link import Link
    from dragoman.sdk.client.agent_handle import AgentHandle
    from dragoman.sdk.environment import Env
    from dragoman.sdk.serve import ServeContext
    from dragoman.transport.tapped_transport import Tap

Target: TypeAlias = str | Sequence[str] | Agent | Transport

Opening: TypeAlias = Callable[[], tuple[Transport, "ServeContext | None"]]

Interpret: TypeAlias = Callable[[Transport], Transport]
"""Wraps an agent's transport, so that the agent speaks v1."""


def check_target(target: object, *, is_other: bool, other: str) -> None:
    """Raise an error for a value that can't be an agent, such as a variable that is not set."""
    if not is_other and not isinstance(target, str | Sequence | Agent):
        raise InvalidValue("target", target, f"must be a command or its words, an Agent or {other}")


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
) -> ConnectContext:
    """Start an agent if necessary, and initialize it. A string is a command line, which runs without a shell,
    or the address of a server (`ws://…`, `https://…`), which gets these `headers`. With `resume`, a broken
    connection to a hub is opened again during the block, and continues where it stopped.

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

    check_target(target, is_other=hasattr(target, "aclose"), other="a transport")
    check_kind(client, Client, "client")
    check_kind(limits, Limits, "limits")

    def open_transport() -> tuple[Transport, ServeContext | None]:
        if isinstance(target, Agent):
            from dragoman.sdk.serve import serving
            from dragoman.transport.memory import memory_pair

            ours, theirs = memory_pair()
            return ours, serving(target, theirs, limits=limits)
        if isinstance(target, str) and "://" in target.partition(" ")[0]:
            if resume:
                from dragoman.sdk.resumption import resuming

                return resuming(target, headers=headers), None
            from dragoman.transport.address import remote

            return remote(target, headers=headers), None
        if isinstance(target, str | Sequence):
            from dragoman.sdk.environment import resolve_environment
            from dragoman.transport.process import spawn

            grace = Grace.steps((limits or DEFAULT_LIMITS).end_seconds)
            return spawn(
                target, cwd=cwd, env=resolve_environment(env), grace=grace, on_stderr=on_stderr
            ), None
        return target, None

    def interpret(transport: Transport) -> Transport:
        from dragoman.sdk.interpreter.dialect_transport import agent_in_v1

        return agent_in_v1(transport, dialect, cwd=cwd, ledger=ledger, quirks=quirks, policy=policy)

    speaks_v1 = isinstance(target, Agent) or resume
    if not speaks_v1 and dialect not in ("auto", "v1"):  # for these, nothing of the dialects is loaded yet
        from dragoman.dialect.names import check_dialect

        check_dialect(dialect)
    return ConnectContext(
        open_transport,
        client or _anonymous(),
        limits or DEFAULT_LIMITS,
        interpret=None if speaks_v1 else interpret,
        tap=tap,
        on_stray=on_stray,
    )


def not_entered(name: str, line: str) -> AttributeError:
    """Return the error for a caller that uses the return value of `connect` as the agent."""
    return AttributeError(f"there is no {name} yet: enter the result of connect() first. Write: {line}")


class ConnectContext:
    """The return value of `connect`: an `async with` that gives the agent. Nothing starts before it is
    entered.
    """

    __slots__ = (
        "_client",
        "_interpret",
        "_limits",
        "_link",
        "_on_stray",
        "_open",
        "_serving",
        "_tap",
        "_transport",
    )

    def __init__(
        self,
        open_: Opening,
        client: Client,
        limits: Limits,
        *,
        interpret: Interpret | None = None,
        tap: Tap | None = None,
        on_stray: Callable[[str], None] | None = None,
    ) -> None:
        self._open = open_
        self._interpret = interpret
        self._on_stray = on_stray
        self._client = client
        self._limits = limits
        self._tap = tap
        self._transport: Transport | None = None
        self._link: Link | None = None
        self._serving: ServeContext | None = None

    if not TYPE_CHECKING:  # a type checker finds it by itself

        def __getattr__(self, name: str) -> object:
            raise not_entered(name, "async with connect(…) as agent:")

    async def __aenter__(self) -> AgentHandle:
        self._transport, self._serving = self._open()
        try:
            return await self._converse()
        except BaseException:
            await self.__aexit__()
            raise

    async def _converse(self) -> AgentHandle:
        # Loaded when the agent's process runs already: it needs as long to start as we need for this.
        from dragoman.sdk.conversation import handshake, open_conversation

        transport = self._transport
        assert transport is not None
        if self._interpret is not None:
            transport = self._transport = self._interpret(transport)
        if self._tap is not None:
            from dragoman.transport.tapped_transport import TappedTransport

            transport = self._transport = TappedTransport(transport, self._tap)
        if self._serving is not None:
            await self._serving.__aenter__()
        agent = open_conversation(transport, self._client, self._limits, on_stray=self._on_stray)
        self._link, self._transport = agent.link, None  # the link closes it
        await handshake(agent, self._client, self._limits)
        return agent

    async def __aexit__(self, *_: object) -> None:
        closable, self._transport = self._link or self._transport, None
        try:
            if closable is not None:
                await closable.aclose()
        finally:
            if self._serving is not None:
                await self._serving.__aexit__()


@cache
def _anonymous() -> Client:
    """The client of whoever brings none; it holds no state, so one is enough."""
    return Client()


MOST_NOTES = 20
"""The most lines to report per process: an agent that logs to its standard output never stops."""


UNREADABLE = "sent what cannot be read and is left out"


class BoundedNotes:
    """Reports the first lines that are not protocol messages, and once that there are more. With `what`,
    reports other mistakes: "the agent " and these words.
    """

    def __init__(self, note: Callable[[str], None], what: str = "printed text that is not ACP") -> None:
        self._note = note
        self._what = what
        self._count = 0

    def __call__(self, line: str) -> None:
        self._count += 1
        if self._count <= MOST_NOTES:
            self._note(f"the agent {self._what}: {line}")
        elif self._count == MOST_NOTES + 1:
            self._note(f"the agent {self._what}, more often than is shown")
