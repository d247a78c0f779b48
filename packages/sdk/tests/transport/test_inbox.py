"""What waits to be taken: in order, bounded in bytes, to the end."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import LinkClosed
from dragoman.transport.inbox import Inbox


async def test_what_is_put_is_taken_in_order_and_then_comes_the_end() -> None:
    inbox = Inbox(100)
    for message in (b"a", b"b"):
        inbox.put(message)
    inbox.end()
    inbox.put(b"too late")
    assert [await inbox.take() for _ in range(4)] == [b"a", b"b", None, None]


async def test_an_end_with_a_reason_is_raised_behind_what_came_before_it() -> None:
    inbox = Inbox(100)
    inbox.put(b"a")
    inbox.end(LinkClosed("gone"))
    inbox.end()
    assert await inbox.take() == b"a"
    with pytest.raises(LinkClosed, match="gone"):
        await inbox.take()


async def test_whoever_brings_too_much_waits_until_it_is_taken() -> None:
    inbox = Inbox(10)
    inbox.put(b"x" * 25)  # larger than the room: let in, because nothing else waits
    assert not inbox.has_room
    waiting = asyncio.create_task(inbox.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    await inbox.take()
    await waiting
    assert inbox.has_room


async def test_an_end_frees_whoever_waits() -> None:
    inbox = Inbox(1)
    inbox.put(b"xx")
    bringing = asyncio.create_task(inbox.wait_for_room())
    await asyncio.sleep(0)
    inbox.end()
    await bringing
    assert await inbox.take() == b"xx"
    taking = asyncio.create_task(Inbox(1).take())
    await asyncio.sleep(0)
    assert not taking.done()
    taking.cancel()
    await asyncio.wait((taking,))
