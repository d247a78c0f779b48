"""A running proxy: the interpreter on a relay, and the two sides as its hooks may call them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from secrets import token_hex

from dragoman.errors import LinkClosed
from dragoman.runtime import Limits
from dragoman.runtime.relay import Relay, RelayDirection
from dragoman.sdk.proxy.calls import ProxyPeer
from dragoman.sdk.proxy.flow import ProxyFlow
from dragoman.sdk.proxy.proxy import Proxy
from dragoman.transport.contract import Transport
from dragoman.transport.memory import MemoryTransport

log = logging.getLogger(__name__)


class ProxySide:
    """One conversation through a proxy. A hook with a second parameter gets this."""

    def __init__(self, proxy: Proxy, client: Transport, agent: Transport, *, limits: Limits) -> None:
        self.proxy = proxy
        self.relay = Relay(client, agent, interpreter=self, name=f"proxy {proxy.name}")
        self.owner = self.relay.owner
        self._agent = self._flow(self.relay.to_agent, limits)
        self._client = self._flow(self.relay.to_client, limits)
        self._agent.back, self._client.back = self._client, self._agent
        self.to_agent = ProxyPeer(self._agent, seconds=limits.call_seconds)
        self.to_client = ProxyPeer(self._client, seconds=limits.call_seconds)

    def _flow(self, way: RelayDirection, limits: Limits) -> ProxyFlow:
        proxy, direction = self.proxy, way.direction
        return ProxyFlow(
            self,
            way,
            hooks=proxy.hooks[direction],
            results=proxy.results[direction],
            # Each side sees one of the prefixes, and cannot make up the other.
            prefix=f"{proxy.name}-{token_hex(8)}-",
            limits=limits,
        )

    # The interpreter's face.

    def take(self, way: RelayDirection, block: bytes) -> None:
        (self._agent if way.direction == "to_agent" else self._client).take(block)

    async def finish(self, way: RelayDirection, seconds: float) -> None:
        """One side has ended: what it said last still goes on, and nobody is left waiting for it."""
        heard, unheard = self._agent, self._client
        if way.direction == "to_client":
            heard, unheard = unheard, heard
        unheard.hang_up(_gone("client" if heard is self._agent else "agent", way))
        await heard.lanes.finish(seconds)
        unheard.answer_unheard()
        if heard is self._agent and isinstance(way.target, MemoryTransport):
            # A program hears the end of its input and may still answer; memory cannot say it, so we wait.
            await self._answers(seconds)

    async def _answers(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._agent.open and not self.relay.to_client.over.is_set():
                    await self._agent.settled.wait()


def _gone(who: str, way: RelayDirection) -> LinkClosed:
    reason = way.reason
    if reason is not None:
        log.warning("the %s has ended: %s", who, reason)
    return reason if isinstance(reason, LinkClosed) else LinkClosed(f"the {who} has hung up")
