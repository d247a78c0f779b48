"""A chain of proxies with an agent at its end, served to a client as one agent.

    serve(Conductor(["rules-proxy", "audit-proxy", "some-agent --acp"]))

https://agentclientprotocol.com/rfds/proxy-chains. Every component but the last is greeted with
`proxy/initialize` and reaches whoever is next through `proxy/successor`; the last is greeted with
`initialize` and never learns of the others. The chain lives and dies as a whole: when a component ends, its
callers get errors, then the client sees the end.

The conductor offers no bridge for MCP servers over ACP: a proxy that brings such servers needs an agent that
takes them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack

from dragoman.errors import DragomanError
from dragoman.runtime import Limits
from dragoman.runtime.owner import TaskOwner
from dragoman.runtime.relay import LAST_WORDS
from dragoman.sdk.proxy.chain import ProxyChain
from dragoman.sdk.proxy.front import FirstBlockTransport, until
from dragoman.sdk.proxy.proxy import Target, open_target
from dragoman.transport.contract import Transport
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR

log = logging.getLogger(__name__)

NOT_STARTED = error_object(INTERNAL_ERROR, "Internal error: a component of the chain could not be started")


class Conductor:
    """Components in order, from the client to the agent: commands, proxies, and last an agent.

        serve(Conductor([Proxy(), "some-proxy --acp", "some-agent --acp"]))

    Specification: https://agentclientprotocol.com/rfds/proxy-chains
    """

    def __init__(self, components: Sequence[Target], *, name: str = "conductor") -> None:
        if not components or isinstance(components, str):
            raise ValueError("a chain is a list of components, and the last of them is an agent")
        self.components = list(components)
        self.name = name

    def run(self, transport: Transport, *, limits: Limits | None = None) -> ConductorRun:
        """Start a conversation with a client over this transport, as an `async with`."""
        return ConductorRun(self, transport, limits=limits)


class ConductorRun:
    """One conversation through a chain; leaving it ends every component."""

    def __init__(self, conductor: Conductor, transport: Transport, *, limits: Limits | None = None) -> None:
        self._conductor = conductor
        self._transport = transport
        self._limits = limits or Limits()
        self._stop = asyncio.Event()
        self._run: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ConductorRun:
        work = self._conduct()
        self._run = asyncio.get_running_loop().create_task(work, name=f"conductor {self._conductor.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def wait_ended(self) -> None:
        """Wait until the client or a component has ended, and all others have been ended."""
        if self._run is not None:
            await asyncio.shield(self._run)

    async def aclose(self, *, grace: float = 0.0) -> None:
        self._stop.set()
        await self.wait_ended()

    async def _conduct(self) -> None:
        front = FirstBlockTransport(self._transport)
        try:
            if await until(self._stop, front.first()) is not None:
                async with AsyncExitStack() as stack:
                    await self._carry(await self._open(front, stack))
        except DragomanError as error:
            log.error("%s: %s", self._conductor.name, error)
        finally:
            await front.aclose()

    async def _open(self, front: FirstBlockTransport, stack: AsyncExitStack) -> list[Transport]:
        components = self._conductor.components
        try:
            transports = [
                await open_target(component, stack, limits=self._limits) for component in components
            ]
        except DragomanError:
            front.refuse_first(NOT_STARTED)
            raise
        return [front, *transports]

    async def _carry(self, transports: list[Transport]) -> None:
        owner = TaskOwner(f"conductor {self._conductor.name}")
        chain = ProxyChain(transports, owner=owner)
        try:
            chain.start()
            await until(self._stop, chain.end_event.wait())
            await until(self._stop, chain.last_answers(LAST_WORDS))
        finally:
            chain.refuse_the_rest()
            await transports[0].aclose()  # flushed first: the client shall not wait for the others' end
            await asyncio.gather(*(transport.aclose() for transport in transports[1:]))
            await owner.aclose()
