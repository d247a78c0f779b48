"""What is special about memory; what holds for every transport is tried in
packages/sdk/tests/testing/test_transports.py.
"""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import LinkClosed
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.contract import TransportLimits
from dragoman.transport.memory import memory_pair


async def test_a_write_is_never_delivered_inside_the_write() -> None:
    left, right = memory_pair()
    right.start(heard := SinkRecorder())
    left.write(b"1\n")
    assert heard.blocks == []
    await asyncio.sleep(0)
    assert heard.blocks == [b"1\n"]


async def test_small_blocks_are_delivered_together() -> None:
    left, right = memory_pair()
    right.start(heard := SinkRecorder())
    for n in range(10):
        left.write(b"%d\n" % n)
    await asyncio.sleep(0)
    assert heard.blocks == [b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"]


async def test_what_was_written_before_the_peer_started_is_kept() -> None:
    left, right = memory_pair()
    left.write(b"early\n")
    await left.aclose()
    right.start(heard := SinkRecorder())
    await heard.until_ended()
    assert heard.stream == b"early\n"


async def test_what_waits_at_the_peer_is_pending_here() -> None:
    left, right = memory_pair()
    right.start(heard := SinkRecorder())
    right.pause()
    left.write(b"12345\n")
    assert (left.pending, right.pending) == (6, 0)
    right.resume()
    await heard.until_size(6)
    assert left.pending == 0


async def test_a_frame_may_come_in_pieces() -> None:
    left, right = memory_pair()
    right.start(heard := SinkRecorder())
    left.write(b'{"id"')
    left.write(b":1}\n")
    await heard.until_size(9)
    assert heard.stream == b'{"id":1}\n'


async def test_a_reader_that_pauses_inside_feed_gets_nothing_more() -> None:
    left, right = memory_pair()

    class OneAtATime(SinkRecorder):
        def feed(self, block: bytes) -> None:
            super().feed(block)
            right.pause()
            self.is_paused = True

    right.start(heard := OneAtATime())
    for _ in range(3):
        left.write(b"x" * 60_000 + b"\n")
    for expected in (1, 2, 3):
        heard.is_paused = False
        right.resume()
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(heard.blocks) == expected
    assert heard.faults == []


@pytest.mark.parametrize("closer", ["left", "right"])
async def test_a_writer_who_waits_is_told_of_the_close(closer: str) -> None:
    left, right = memory_pair(limits=TransportLimits(low=0))
    left.write(b"x\n")
    waiting = asyncio.ensure_future(left.drain())
    await asyncio.sleep(0)
    await (left if closer == "left" else right).aclose()
    with pytest.raises(LinkClosed):
        await waiting


async def test_it_is_started_once() -> None:
    left, _ = memory_pair()
    left.start(SinkRecorder())
    with pytest.raises(RuntimeError):
        left.start(SinkRecorder())
