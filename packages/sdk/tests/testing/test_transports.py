"""The contract check passes good transports and names what is wrong with broken ones."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import LinkClosed
from dragoman.testing import check_transport
from dragoman.testing.transports import Pair
from dragoman.transport.contract import Grace, Sink, TransportLimits
from dragoman.transport.memory import MemoryTransport, memory_pair
from dragoman.transport.pipe import PipeTransport
from dragoman.transport.process import spawn
from dragoman.transport.reader import ThreadReader
from dragoman.transport.writer import ThreadWriter
from tests.transport.programs import RELAY, python

QUICK = TransportLimits(flush=0.3, frame=6_000_000)  # small enough that an oversized frame is tried too


def joined_by_pipes(*, non_blocking: bool) -> Pair:
    left_read, right_write = os.pipe()
    right_read, left_write = os.pipe()
    for fd in (left_write, right_write):
        os.set_blocking(fd, not non_blocking)
    return PipeTransport(left_read, left_write, limits=QUICK), PipeTransport(
        right_read, right_write, limits=QUICK
    )


def joined_by_sockets() -> Pair:
    left, right = socket.socketpair()
    return tuple(PipeTransport(fd, fd, limits=QUICK) for fd in (left.detach(), right.detach()))  # type: ignore[return-value]


async def test_memory_keeps_the_contract() -> None:
    async def make() -> Pair:
        return memory_pair(limits=QUICK)

    await check_transport(make)


@pytest.mark.bound(30)
@pytest.mark.parametrize("non_blocking", [True, False], ids=["our own pipes", "inherited pipes"])
async def test_pipes_keep_the_contract(non_blocking: bool) -> None:
    async def make() -> Pair:
        return joined_by_pipes(non_blocking=non_blocking)

    await check_transport(make)


@pytest.mark.bound(30)
async def test_sockets_keep_the_contract() -> None:
    async def make() -> Pair:
        return joined_by_sockets()

    await check_transport(make)


@pytest.mark.bound(30)
async def test_pipes_with_threads_keep_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where no loop can watch a pipe."""
    monkeypatch.setattr("dragoman.transport.pipe.open_reader", ThreadReader)
    monkeypatch.setattr("dragoman.transport.pipe.open_writer", ThreadWriter)

    async def make() -> Pair:
        return joined_by_pipes(non_blocking=False)

    await check_transport(make)


@pytest.mark.bound(30)
async def test_pipes_that_are_polled_keep_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a pipe is inherited and there is no /proc to open it anew."""
    monkeypatch.setattr("dragoman.transport.file_outlet.FileOutlet._reopen", lambda self: False)

    async def make() -> Pair:
        return joined_by_pipes(non_blocking=False)

    await check_transport(make)


@pytest.mark.bound(60)
async def test_a_child_process_keeps_the_contract(tmp_path: Path) -> None:
    made = 0

    async def make() -> Pair:
        nonlocal made
        made += 1
        outward, inward = tmp_path / f"out{made}", tmp_path / f"in{made}"
        os.mkfifo(outward)
        os.mkfifo(inward)
        grace = Grace(after_eof=0.5, after_terminate=0.5)
        near = spawn(python(RELAY, str(outward), str(inward)), limits=QUICK, grace=grace)
        # Opening a FIFO waits for the other side, which is in another process.
        opened = [
            asyncio.to_thread(os.open, outward, os.O_RDONLY),
            asyncio.to_thread(os.open, inward, os.O_WRONLY),
        ]
        far = PipeTransport(*await asyncio.gather(*opened), limits=QUICK)
        return near, far

    await check_transport(make)


class Broken(MemoryTransport):
    """A good transport to spoil in one way each."""


class DropsFrames(Broken):
    def write(self, block: bytes | bytearray | memoryview) -> None:
        if bytes(block[:7]) != b'{"n":99':
            super().write(block)


class EndsTwice(Broken):
    async def aclose(self) -> None:
        await super().aclose()
        assert self._sink is not None
        self._sink.on_end(None)


class IgnoresPause(Broken):
    def pause(self) -> None:
        pass


class WritesAfterClose(Broken):
    def write(self, block: bytes | bytearray | memoryview) -> None:
        try:
            super().write(block)
        except LinkClosed:
            return


class DrainsAtOnce(Broken):
    async def drain(self) -> None:
        if self._is_closed:
            raise LinkClosed("closed")


class LeavesATask(Broken):
    def start(self, sink: Sink) -> None:
        super().start(sink)
        self.task = asyncio.ensure_future(asyncio.Event().wait())


class LeavesADescriptor(Broken):
    def start(self, sink: Sink) -> None:
        super().start(sink)
        self.left = os.pipe()


@pytest.mark.bound(30)
@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (DropsFrames, "whole and in order"),
        (EndsTwice, "ended was called"),
        (IgnoresPause, "while the reader was paused"),
        (WritesAfterClose, "write did not raise LinkClosed"),
        (DrainsAtOnce, "low-water mark"),
        (LeavesATask, "a task left behind"),
        (LeavesADescriptor, "descriptors left open"),
    ],
)
async def test_a_broken_transport_is_named(
    broken: Callable[..., MemoryTransport], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.testing.transports.BOUND", 0.5)
    made: list[MemoryTransport] = []

    async def make() -> Pair:
        left, right = broken(limits=QUICK), broken(limits=QUICK)
        left.peer, right.peer = right, left
        made.extend((left, right))
        return left, right

    try:
        with pytest.raises(AssertionError, match=complaint):
            await check_transport(make)
    finally:
        for end in made:
            if isinstance(end, LeavesATask):
                end.task.cancel()
                await asyncio.wait({end.task})
            if isinstance(end, LeavesADescriptor):
                for fd in end.left:
                    os.close(fd)
