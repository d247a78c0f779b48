"""Frames gather into blocks, in order, and never longer than a turn of the loop."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import LinkClosed
from dragoman.runtime.outbox import FLUSH_AT, HIGH_WATER, LARGE, Outbox
from dragoman.testing.pace import deadline
from dragoman.transport.contract import DEFAULT_LIMITS, Sink, TransportLimits


class Shelf:
    """A transport that keeps each block it is given."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.pending = 0
        self.closed = False
        self.room = asyncio.Event()

    @property
    def limits(self) -> TransportLimits:
        return DEFAULT_LIMITS

    def start(self, sink: Sink) -> None: ...

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self.closed:
            raise LinkClosed("closed")
        self.blocks.append(bytes(block))

    async def drain(self) -> None:
        await self.room.wait()

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    async def aclose(self) -> None:
        self.closed = True


async def test_small_frames_of_one_turn_leave_in_one_block() -> None:
    shelf = Shelf()
    outbox = Outbox(shelf)
    for n in range(100):
        outbox.add(b"%d\n" % n)
    assert shelf.blocks == []
    await asyncio.sleep(0)
    assert shelf.blocks == [b"".join(b"%d\n" % n for n in range(100))]


async def test_a_pipe_worth_of_frames_leaves_at_once() -> None:
    shelf = Shelf()
    outbox = Outbox(shelf)
    for _ in range(FLUSH_AT // 100 + 1):
        outbox.add(b"x" * 99 + b"\n")
    assert len(shelf.blocks) == 1


async def test_a_frame_that_cannot_wait_takes_along_what_waits_before_it() -> None:
    shelf = Shelf()
    outbox = Outbox(shelf)
    outbox.add(b"one\n")
    outbox.add_now(b"two\n")
    outbox.add_now(b"three\n")
    outbox.add(b"four\n")
    await asyncio.sleep(0)
    assert shelf.blocks == [b"one\ntwo\n", b"three\n", b"four\n"]


async def test_a_large_frame_keeps_its_place() -> None:
    shelf = Shelf()
    outbox = Outbox(shelf)
    large = b"x" * LARGE + b"\n"
    outbox.add(b"one\n")
    outbox.add(large)
    outbox.add(b"two\n")
    await asyncio.sleep(0)
    assert shelf.blocks == [b"one\n", large, b"two\n"]


async def test_a_sender_waits_above_the_mark_and_not_below_it() -> None:
    shelf = Shelf()
    outbox = Outbox(shelf)
    shelf.pending = HIGH_WATER
    async with deadline(1):
        await outbox.flow()
    shelf.pending = HIGH_WATER + 1
    waiting = asyncio.create_task(outbox.flow())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    shelf.room.set()
    await waiting


async def test_a_sender_below_the_mark_still_lets_others_run() -> None:
    outbox = Outbox(Shelf())
    ran: list[str] = []
    asyncio.get_running_loop().call_soon(ran.append, "another")
    await outbox.flow()
    assert ran == ["another"]


async def test_what_was_gathered_before_the_end_is_dropped_without_a_word() -> None:
    shelf = Shelf()
    outbox = Outbox(shelf)
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    outbox.add(b"one\n")
    await shelf.aclose()
    await asyncio.sleep(0)
    assert complaints == []
    outbox.add(b"two\n")
    with pytest.raises(LinkClosed):
        await outbox.flow()
