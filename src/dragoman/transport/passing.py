"""A transport in front of another one that passes everything on: for those that change one thing."""

from __future__ import annotations

from dragoman.transport.contract import Limits, Sink, Transport


class PassingTransport:
    """Keeps the promises of `inner`, whatever they are."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    def start(self, sink: Sink) -> None:
        self.inner.start(sink)

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.inner.write(block)

    @property
    def pending(self) -> int:
        return self.inner.pending

    @property
    def limits(self) -> Limits:
        return self.inner.limits

    async def drain(self) -> None:
        await self.inner.drain()

    def pause(self) -> None:
        self.inner.pause()

    def resume(self) -> None:
        self.inner.resume()

    async def aclose(self) -> None:
        await self.inner.aclose()
