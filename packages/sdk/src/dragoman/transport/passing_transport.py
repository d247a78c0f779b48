"""Base of transports that wrap another one and change one behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.transport.contract import Sink, Transport, TransportLimits

if TYPE_CHECKING:  # not every transport is a process
    from dragoman.transport.owned_tree import OwnedTree


class PassingTransport:
    """Keeps all promises of `inner`."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    @property
    def tree(self) -> OwnedTree | None:
        """The process tree of the child process, if there is one."""
        return getattr(self.inner, "tree", None)

    def start(self, sink: Sink) -> None:
        self.inner.start(sink)

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.inner.write(block)

    @property
    def pending(self) -> int:
        return self.inner.pending

    @property
    def limits(self) -> TransportLimits:
        return self.inner.limits

    async def drain(self) -> None:
        await self.inner.drain()

    def pause(self) -> None:
        self.inner.pause()

    def resume(self) -> None:
        self.inner.resume()

    async def aclose(self) -> None:
        await self.inner.aclose()
