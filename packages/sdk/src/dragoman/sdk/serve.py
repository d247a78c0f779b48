"""`serve`: run an agent, a proxy or a chain over this process's own stdio, or over any transport.

Standard output is armoured before anything else happens (see `transport.stdio`). The process ends when its
input ends, or on SIGTERM or SIGINT, with everything that was running ended first and in a few seconds at most
(see `leaving`). An end of input that arrives together with work (`agent < requests > answers`) leaves the
work a moment to finish.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AbstractAsyncContextManager
from typing import Protocol, overload, runtime_checkable

from dragoman.core import Lifecycle
from dragoman.errors import InvalidValue
from dragoman.runtime import Limits, Link
from dragoman.runtime.limits import DEFAULT_LIMITS
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.agent.side import AgentSide
from dragoman.sdk.shutdown import ShutdownSignals, first_of, time_to_end
from dragoman.transport.contract import Transport


class ServedConversation(Protocol):
    """A running conversation; `Link`, `ProxyRun` and `ConductorRun` implement it."""

    async def wait_ended(self) -> None: ...

    async def aclose(self, *, grace: float = 0.0) -> None: ...


@runtime_checkable
class Servable(Protocol):
    """An object between a client and an agent that can be served like an agent: `Proxy` and `Conductor`."""

    name: str

    def run(
        self, transport: Transport, *, limits: Limits | None = None
    ) -> AbstractAsyncContextManager[ServedConversation]:
        """Start a conversation with a client over this transport."""


def serve(target: Agent | Servable, *, limits: Limits | None = None) -> None:
    """Serve one client over stdin and stdout until the client closes the connection. Blocks.

        agent = Agent("echo")

        @agent.prompt
        async def reply(turn: Turn) -> None:
            await turn.say(turn.text)

        serve(agent)

    Specification: https://agentclientprotocol.com/protocol/v1/transports
    """
    if not isinstance(target, Agent | Servable):
        raise InvalidValue("target", target, "must be an Agent or a Proxy")
    if isinstance(target, Agent):
        target.check_served()
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()
    limits = limits or DEFAULT_LIMITS
    with ShutdownSignals(within=time_to_end(limits)) as leaving, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_stdio(target, stdio.open(), limits, leaving))


async def _serve_stdio(
    target: Agent | Servable, transport: Transport, limits: Limits, leaving: ShutdownSignals
) -> None:
    leaving.listen()
    async with serving(target, transport, limits=limits) as link:
        await first_of(link.wait_ended(), leaving.end_event.wait())
        leaving.begin()
        await link.aclose(grace=0 if leaving.end_event.is_set() else limits.end_seconds)


class ServeContext:
    """An agent's conversation over a transport, as an `async with`; it ends with the block."""

    # A class, not a generator: a program with thousands of connections keeps one of these for each.
    __slots__ = ("_agent", "_limits", "_link", "_transport")

    def __init__(self, agent: Agent, transport: Transport, limits: Limits | None) -> None:
        self._agent = agent
        self._transport = transport
        self._limits = limits
        self._link: Link | None = None

    async def __aenter__(self) -> Link:
        side = AgentSide(self._agent)
        link = Link(
            self._transport, side, name=self._agent.link_name, lifecycle=Lifecycle(), limits=self._limits
        )
        side.attach(link)
        link.start()
        self._link = link
        return link

    async def __aexit__(self, *_: object) -> None:
        if self._link is not None:
            await self._link.aclose()


@overload
def serving(target: Agent, transport: Transport, *, limits: Limits | None = None) -> ServeContext: ...
@overload
def serving(
    target: Agent | Servable, transport: Transport, *, limits: Limits | None = None
) -> AbstractAsyncContextManager[ServedConversation]: ...
def serving(
    target: Agent | Servable, transport: Transport, *, limits: Limits | None = None
) -> AbstractAsyncContextManager[ServedConversation]:
    """Serve over any transport for the length of an `async with`, which gives the running conversation.

        ours, theirs = memory_pair()
        async with serving(agent, theirs):
            async with connect(ours) as handle:
                session = await handle.new_session(cwd="/project")

    Specification: https://agentclientprotocol.com/protocol/v1/transports
    """
    return (
        ServeContext(target, transport, limits)
        if isinstance(target, Agent)
        else target.run(transport, limits=limits)
    )
