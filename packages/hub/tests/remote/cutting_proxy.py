"""A proxy on loopback that cuts connections at random bytes, and can be slow.

What a cut loses is what a cut loses in life: bytes that were on their way, in both directions. Delays and
losses are those of a network below TCP, where a lost segment is a late one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable

CHUNK = 4096
HANDSHAKE = 22_000
"""Bytes of a connection before it carries records, about."""


class CuttingProxy:
    """`limits()` says after how many bytes the next connection is cut; None lets it live. `seconds` cuts each
    connection so long after it has carried `HANDSHAKE` bytes.
    """

    def __init__(
        self,
        target: int,
        *,
        limits: Callable[[], int | None] = lambda: None,
        delay: float = 0.0,
        loss: float = 0.0,
        seed: int = 0,
        seconds: float | None = None,
    ) -> None:
        self.port = 0
        self.cuts = 0
        self.seconds = seconds
        self._target = target
        self._limits = limits
        self._delay = delay
        self._loss = loss
        self._random = random.Random(seed)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> CuttingProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut_all()
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._server.wait_closed()

    def cut_all(self) -> None:
        """Cut every connection now."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _arrivals(self, source: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """What is read, in order, each piece so much later: a lost one is sent again after a timeout."""
        if not self._delay:
            while chunk := await source.read(CHUNK):
                yield chunk
            return
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=256)

        async def read() -> None:
            while True:
                chunk = await source.read(CHUNK)
                factor = 5 if self._random.random() < self._loss else 1
                await pieces.put((loop.time() + factor * self._delay, chunk))
                if not chunk:
                    return

        reading = asyncio.ensure_future(read())
        try:
            while True:
                moment, chunk = await pieces.get()
                await asyncio.sleep(max(0.0, moment - loop.time()))
                if not chunk:
                    return
                yield chunk
        finally:
            reading.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._join(reader, writer)
        finally:
            self._tasks.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        rest = self._limits()
        carried = 0
        cut: asyncio.TimerHandle | None = None
        pair = {writer, back}
        self._writers |= pair

        def cut_now() -> None:
            self.cuts += 1
            for side in pair:
                side.transport.abort()

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            nonlocal rest, carried, cut
            async for chunk in self._arrivals(source):
                if self.seconds is not None and carried < HANDSHAKE <= carried + len(chunk):
                    cut = asyncio.get_running_loop().call_later(self.seconds, cut_now)
                carried += len(chunk)
                if rest is not None and (rest := rest - len(chunk)) <= 0:
                    target.write(chunk[:rest])
                    self.cuts += 1
                    break
                target.write(chunk)
                await target.drain()

        ways = [asyncio.ensure_future(pump(reader, back)), asyncio.ensure_future(pump(there, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if cut is not None:
                cut.cancel()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            # A reset also takes what had arrived and was not read yet; an end does not.
            is_reset = self._random.random() < 0.5
            for side in pair:
                side.transport.abort() if is_reset else side.close()
            self._writers -= pair
