"""Every queue is bounded, in bytes: who does not read is not written to, and who is slow is waited for."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import LinkClosed
from dragoman.runtime import Link
from dragoman.runtime.outbox import HIGH_WATER
from dragoman.transport.memory import memory_pair
from tests.runtime.raw import Routes, cancel_request, linked, notification, request, result

KIBIBYTE = 1024
ENOUGH = 4 * 1024 * KIBIBYTE  # sixteen times what may wait


async def settled(turns: int = 50) -> None:
    """Let everything that can happen happen."""
    for _ in range(turns):
        await asyncio.sleep(0)


def held(link: Link) -> bool:
    return link.on_hold


async def test_who_asks_without_reading_the_answers_is_no_longer_listened_to() -> None:
    large = b'"%b"' % (b"x" * 8 * KIBIBYTE)
    asked = 0

    def answer(_: object) -> bytes:
        nonlocal asked
        asked += 1
        return large

    routes = Routes()
    routes.requests["m"] = answer
    async with linked(routes) as (link, peer):
        peer.transport.pause()
        count = ENOUGH // len(large)
        for n in range(count):
            peer.send(request(n, "m", "x" * 1000))
            await asyncio.sleep(0)
        await settled()
        assert held(link)
        assert asked < count / 4
        # One read may bring many requests; what they are answered is all that may come on top.
        assert link.transport.pending < HIGH_WATER + 70 * len(large)
        peer.transport.resume()
        answers = [await peer.next() for _ in range(count)]
        assert [frame["id"] for frame in answers] == list(range(count))
        await settled()
        assert not held(link)


async def test_who_sends_nonsense_without_reading_the_complaints_is_no_longer_listened_to() -> None:
    async with linked() as (link, peer):
        peer.transport.pause()
        for _ in range(ENOUGH // (64 * 100)):
            peer.send(*[b"{nonsense"] * 64)
            await asyncio.sleep(0)
        await settled()
        assert held(link)
        assert link.transport.pending < 2 * HIGH_WATER
        peer.transport.resume()
        peer.send(request(1, "m"))
        await peer.answer_to(1)


async def test_a_call_that_is_made_while_we_do_not_listen_gets_its_answer() -> None:
    routes = Routes()
    routes.requests["m"] = lambda _: b'"%b"' % (b"x" * 8 * KIBIBYTE)
    async with linked(routes) as (link, peer):
        peer.transport.pause()
        for n in range(200):
            peer.send(request(n, "m", "x" * 1000))
            await asyncio.sleep(0)
        await settled()
        assert held(link)
        asking = asyncio.create_task(link.call("back", None))
        await asyncio.sleep(0)
        assert not held(link)
        peer.transport.resume()
        peer.send(result((await peer.asks("back"))["id"], "here"))
        assert bytes(await asking) == b'"here"'


async def test_two_links_that_ask_each_other_for_much_at_once_both_finish() -> None:
    def answer(_: object) -> bytes:
        return b'"%b"' % (b"x" * KIBIBYTE)

    routes = Routes()
    routes.requests["m"] = answer
    left_end, right_end = memory_pair()
    left, right = Link(left_end, routes), Link(right_end, routes)
    left.start()
    right.start()
    calls = [link.call("m", None) for link in (left, right) for _ in range(2000)]
    try:
        assert len(await asyncio.gather(*calls)) == 4000
    finally:
        await left.aclose()
        await right.aclose()


async def test_a_sender_waits_while_the_peer_does_not_read() -> None:
    text = b'"%b"' % (b"x" * KIBIBYTE)
    sent = 0

    async def tell(link: Link) -> None:
        nonlocal sent
        for _ in range(ENOUGH // KIBIBYTE):
            link.notify("n", text)
            sent += len(text)
            await link.outbox.flow()

    async with linked() as (link, peer):
        peer.transport.pause()
        telling = asyncio.create_task(tell(link))
        await settled(2000)
        assert not telling.done()
        assert HIGH_WATER / 2 < sent < 2 * HIGH_WATER
        assert link.transport.pending < 2 * HIGH_WATER
        peer.transport.resume()
        await telling
        assert sent >= ENOUGH


async def test_a_caller_waits_too_and_its_call_is_answered_in_the_end() -> None:
    async with linked() as (link, peer):
        peer.transport.pause()
        big = b'"%b"' % (b"x" * 2 * HIGH_WATER)
        calls = [asyncio.create_task(link.call("m", big)) for _ in range(3)]
        await settled()
        assert not any(call.done() for call in calls)
        peer.transport.resume()
        for _ in calls:
            peer.send(result((await peer.asks("m"))["id"], True))
        for call in calls:
            assert bytes(await call) == b"true"


async def test_a_cancel_is_heard_while_a_sender_waits() -> None:
    routes = Routes()
    ended = asyncio.Event()
    async with linked(routes) as (link, peer):

        async def flood() -> bytes:
            try:
                while True:
                    link.notify("n", b'"%b"' % (b"x" * KIBIBYTE))
                    await link.outbox.flow()
            finally:
                ended.set()

        routes.requests["flood"] = lambda _: flood()
        peer.transport.pause()
        peer.send(request(1, "flood"))
        await settled(2000)
        assert link.transport.pending > HIGH_WATER
        peer.send(cancel_request(1))
        await ended.wait()


async def test_a_sender_that_waits_learns_that_the_peer_is_gone() -> None:
    async with linked() as (link, peer):
        peer.transport.pause()

        async def flood() -> None:
            while True:
                link.notify("n", b'"%b"' % (b"x" * KIBIBYTE))
                await link.outbox.flow()

        flooding = asyncio.create_task(flood())
        await settled(2000)
        await peer.aclose()
        with pytest.raises(LinkClosed):
            await flooding


async def test_reading_goes_on_only_when_every_reason_to_stop_is_gone() -> None:
    heard: list[object] = []
    routes = Routes()
    routes.notifications["n"] = heard.append
    async with linked(routes) as (link, peer):
        link.hold("one")
        link.hold("two")
        link.hold("two")
        peer.send(notification("n", 1))
        link.listen("one")
        link.listen("never held")
        await settled()
        assert heard == []
        link.listen("two")
        await settled()
        assert heard == [1]
