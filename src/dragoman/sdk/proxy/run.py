"""Runs a proxy over one transport, from the first frame to the end.

The first frame tells what we are: after `proxy/initialize` a link of a chain, whose next link is reached over
the same connection; after anything else the last proxy before its own agent, which is started then. So the
same program works alone and under a conductor.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import TypeVar

from dragoman.errors import DragomanError, LocalMistake
from dragoman.runtime import Limits
from dragoman.runtime.relay import LAST_WORDS
from dragoman.sdk.proxy.front import FirstBlockTransport
from dragoman.sdk.proxy.proxy import Proxy
from dragoman.sdk.proxy.side import ProxySide
from dragoman.sdk.proxy.successor import Successor
from dragoman.sdk.proxy.target import open_target
from dragoman.sdk.proxy.wrapping import INITIALIZE_PROXY
from dragoman.transport.contract import Transport
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.glance import glance_block

log = logging.getLogger(__name__)

T = TypeVar("T")

NO_AGENT = error_object(INTERNAL_ERROR, "Internal error: the agent could not be started")


class ProxyRun:
    """One conversation through a proxy, as an `async with`; leaving it ends both sides."""

    def __init__(self, proxy: Proxy, transport: Transport, *, limits: Limits | None = None) -> None:
        self._proxy = proxy
        self._transport = transport
        self._limits = limits or Limits()
        self._grace = LAST_WORDS
        self._run: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def __aenter__(self) -> ProxyRun:
        self._run = asyncio.get_running_loop().create_task(self._converse(), name=f"proxy {self._proxy.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def wait_ended(self) -> None:
        """Until one side has ended and the other was brought to its end."""
        if self._run is not None:
            await asyncio.shield(self._run)

    async def aclose(self, *, grace: float = 0.0) -> None:
        """End the conversation; what is held back gets `grace` seconds to go on."""
        if not self._stop.is_set():
            self._grace = grace
            self._stop.set()
        await self.wait_ended()

    async def _converse(self) -> None:
        front = FirstBlockTransport(self._transport)
        try:
            first = await until(self._stop, front.first())
            if first is not None:
                async with AsyncExitStack() as stack:
                    await self._pass(front, first, stack)
        except DragomanError as error:
            log.error("%s: %s", self._proxy.name, error)
        finally:
            await front.aclose()

    async def _pass(self, front: FirstBlockTransport, first: bytes, stack: AsyncExitStack) -> None:
        side = ProxySide(self._proxy, *await self._sides(front, first, stack), limits=self._limits)
        self._proxy.running.append(side)
        try:
            side.relay.start()
            await until(self._stop, side.relay.wait_ended())
            await side.relay.aclose(grace=self._grace)
        finally:
            self._proxy.running.remove(side)

    async def _sides(
        self, front: FirstBlockTransport, first: bytes, stack: AsyncExitStack
    ) -> tuple[Transport, Transport]:
        seen = glance_block(first)
        if seen and seen[0].method == INITIALIZE_PROXY:
            successor = Successor(front)
            return successor.client, successor.agent
        proxy = self._proxy
        try:
            if proxy.target is None:
                raise LocalMistake("this proxy has no agent: it is made to be a link of a chain")
            return front, await open_target(
                proxy.target, stack, limits=self._limits, cwd=proxy.cwd, env=proxy.env
            )
        except DragomanError:
            front.refuse_first(NO_AGENT)
            raise


async def until(stop: asyncio.Event, work: Coroutine[object, None, T]) -> T | None:
    """The result of the work, or None if we are told to stop before."""
    loop = asyncio.get_running_loop()
    working, stopping = loop.create_task(work), loop.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.wait((working, stopping))
