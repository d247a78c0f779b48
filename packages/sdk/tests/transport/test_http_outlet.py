"""Event streams of one connection: what waits, what is kept, who is given up."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import LinkClosed
from dragoman.transport.http_outlet import AT_ONCE, EVENT_BYTES, Backlog, SseOutlet


async def never() -> None:
    await asyncio.Event().wait()


class Reader:
    """Reads one outlet, event by event."""

    def __init__(self, outlet: SseOutlet) -> None:
        self.outlet = outlet
        self.left = asyncio.create_task(never())

    async def take(self, *, delivered: bool = True) -> list[bytes]:
        events = await self.outlet.take(self.left, 1)
        if delivered:
            self.outlet.on_delivery()
        return [event.split(b"data: ")[1] for event in (events or b"").split(b"\n\n") if event]

    async def leave(self) -> None:
        self.left.cancel()
        await asyncio.wait((self.left,))


async def test_what_was_not_delivered_waits_for_the_next_reader() -> None:
    outlet = SseOutlet(Backlog())
    for message in (b"1", b"2"):
        await outlet.put(message)
    reader = Reader(outlet)
    with outlet.reading(""):
        assert await reader.take(delivered=False) == [b"1", b"2"]
    with outlet.reading(""):
        assert await reader.take() == [b"1", b"2"]
    assert outlet.is_empty
    await reader.leave()


async def test_a_reader_that_comes_back_gets_what_it_missed_of_its_own_stream_only() -> None:
    backlog = Backlog()
    one, two = SseOutlet(backlog), SseOutlet(backlog)
    reader, other = Reader(one), Reader(two)
    for message in (b"1", b"2", b"3"):
        await one.put(message)
        await two.put(b"other")
    with one.reading(""), two.reading(""):
        await reader.take()
        await other.take()
    with one.reading("1"):
        assert await reader.take() == [b"2", b"3"]
    with two.reading("99999999999999999999999"):
        assert two.is_empty
    await reader.leave()
    await other.leave()


async def test_what_is_kept_is_bounded_for_all_streams_together() -> None:
    backlog = Backlog(kept_limit=2 * EVENT_BYTES)
    old, new = SseOutlet(backlog), SseOutlet(backlog)
    reader, other = Reader(old), Reader(new)
    with old.reading(""), new.reading(""):
        await old.put(b"x" * 8)
        await reader.take()
        await new.put(b"y" * 8)
        await other.take()
    with old.reading("0"), new.reading("0"):
        assert old.is_empty
        assert await other.take() == [b"y" * 8]
    await reader.leave()
    await other.leave()


async def test_a_writer_waits_for_room_and_gives_up_when_nobody_reads() -> None:
    outlet = SseOutlet(Backlog(unread=10, patience=30))
    reader = Reader(outlet)
    putting = asyncio.create_task(outlet.put(b"x" * 11))
    await asyncio.sleep(0)
    assert not putting.done()
    with outlet.reading(""):
        await reader.take()
    await putting
    await reader.leave()
    with pytest.raises(LinkClosed, match="nothing was read"):
        await SseOutlet(Backlog(unread=10, patience=0)).put(b"x" * 11)


async def test_not_all_that_waits_is_taken_at_once() -> None:
    outlet = SseOutlet(Backlog())
    reader = Reader(outlet)
    for _ in range(4):
        await outlet.put(b"x" * (AT_ONCE - 1))
    with outlet.reading(""):
        assert [len(await reader.take()) for _ in range(2)] == [2, 2]
    await reader.leave()


async def test_short_messages_count_for_what_they_take_in_memory() -> None:
    backlog = Backlog(unread=100_000, patience=0.05)
    outlet = SseOutlet(backlog)
    for _ in range(100_000 // (8 + EVENT_BYTES)):
        await outlet.put(b"12345678")
    with pytest.raises(LinkClosed):
        await outlet.put(b"one more")
