"""Copies bytes from one descriptor to another unchanged, and shows each chunk to an observer afterwards.

A slow reader slows the writer: reading stops while more than a pipe's worth waits to be written. The end of
the source is passed on as the end of the target, after everything before it. Nothing here knows lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from dragoman.errors import LinkClosed
from dragoman.transport.contract import TransportLimits
from dragoman.transport.reader import open_reader
from dragoman.transport.writer import open_writer


class ByteFilter(Protocol):
    """Decides which bytes of a chunk are passed on."""

    def take(self, chunk: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


class Pump:
    """Owns both descriptors. Needs a running loop; starts at once."""

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        *,
        on_block: Callable[[bytes], None],
        sieve: ByteFilter | None = None,
        limits: TransportLimits | None = None,
    ) -> None:
        self.source_ended = asyncio.Event()
        """Nothing more comes."""
        self.target_gone = asyncio.Event()
        """Whoever read from us no longer does."""
        self._limits = limits or TransportLimits()
        self._on_block = on_block
        self._sieve = sieve
        self._draining: asyncio.Task[None] | None = None
        self._writer = open_writer(write_fd, limits=self._limits, on_broken=self._on_target_broken)
        self._reader = open_reader(read_fd, intake=self, on_end=self._on_source_end)

    # The intake of the reader.

    def feed(self, chunk: bytes) -> None:
        self._pass(chunk if self._sieve is None else self._sieve.take(chunk))
        self._on_block(chunk)  # after it went on: who reads the record can wait, who reads the wire cannot

    def finish(self) -> None:
        if self._sieve is not None:
            self._pass(self._sieve.finish())

    def stop_reading(self) -> None:
        """Nothing more is taken from the source; what waits is still written."""
        self._reader.close()
        self.source_ended.set()

    async def aclose(self, *, seconds: float) -> None:
        """Write what waits, in time, and let go of both descriptors."""
        self._reader.close()
        try:
            async with asyncio.timeout(seconds):
                await self._writer.drain(0)
        except (TimeoutError, LinkClosed):
            pass  # nobody reads it
        finally:
            self._writer.close()
            if self._draining is not None:
                self._draining.cancel()
                await asyncio.wait([self._draining])

    def _pass(self, chunk: bytes) -> None:
        if not chunk:
            return
        try:
            self._writer.write(chunk)
        except LinkClosed:
            return
        if self._writer.pending > self._limits.high and self._draining is None:
            self._reader.pause()
            self._draining = asyncio.get_running_loop().create_task(self._read_again())

    async def _read_again(self) -> None:
        try:
            await self._writer.drain(self._limits.low)
        except LinkClosed:
            pass  # read on for the record, and to hear the end
        self._draining = None
        self._reader.resume()

    def _on_source_end(self, _: OSError | None) -> None:
        self.source_ended.set()

    def _on_target_broken(self, _: OSError) -> None:
        self.target_gone.set()
