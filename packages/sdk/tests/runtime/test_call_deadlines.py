"""Every call has an end: its answer, its deadline, or its caller's cancellation."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import CallTimeout, SilenceTimeout
from tests.runtime.clock import virtually
from tests.runtime.raw import Routes, cancel_request, linked, notification, request, result


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_call_that_is_not_answered_in_time_fails_and_the_peer_is_told() -> None:
    async def body() -> None:
        async with linked() as (link, peer):
            start = now()
            with pytest.raises(CallTimeout) as late:
                await link.call("slow", None, deadline=10)
            assert 10 <= now() - start <= 10.5
            assert (late.value.what, late.value.seconds) == ("slow", 10)
            asked = await peer.asks("slow")
            assert await peer.next() == cancel_request(asked["id"])
            peer.send(result(asked["id"], "late"), request(1, "m"))
            await peer.answer_to(1)  # the late answer harmed nobody
            assert not link.connection.calls

    virtually(body())


def test_a_call_that_is_answered_in_time_is_not_touched_by_its_deadline() -> None:
    async def body() -> None:
        async with linked() as (link, peer):
            asking = asyncio.create_task(link.call("m", None, deadline=10))
            asked = await peer.asks("m")
            await asyncio.sleep(9.9)
            peer.send(result(asked["id"], 1))
            assert bytes(await asking) == b"1"
            await asyncio.sleep(100)
            assert peer.seen == [asked]

    virtually(body())


def test_a_deadline_holds_while_the_peer_does_not_even_read() -> None:
    async def body() -> None:
        async with linked() as (link, peer):
            peer.transport.pause()
            link.notify("n", b'"%b"' % (b"x" * 1_000_000))
            with pytest.raises(CallTimeout):
                await link.call("m", None, deadline=10)

    virtually(body())


def test_each_of_many_calls_has_its_own_deadline() -> None:
    async def body() -> None:
        async with linked() as (link, _):
            ended: dict[float, float] = {}

            async def ask(seconds: float) -> None:
                with pytest.raises(CallTimeout):
                    await link.call("m", None, deadline=seconds)
                ended[seconds] = now()

            await asyncio.gather(*(ask(seconds) for seconds in (60, 0.04, 5, 0.5)))
            assert list(ended) == [0.04, 0.5, 5, 60]
            assert all(seconds <= when <= seconds * 1.3 for seconds, when in ended.items())

    virtually(body())


def test_no_timer_is_left_when_nothing_is_watched() -> None:
    async def body() -> None:
        async with linked() as (link, peer):
            asking = asyncio.create_task(link.call("m", None, deadline=10))
            peer.send(result((await peer.asks("m"))["id"], 1))
            await asking
            await asyncio.sleep(1)
            loop = asyncio.get_running_loop()
            assert [timer for timer in loop._scheduled if not timer.cancelled()] == []  # type: ignore[attr-defined]

    virtually(body())


def test_silence_counts_from_the_last_frame_of_any_kind() -> None:
    async def body() -> None:
        async with linked() as (link, peer):
            asking = asyncio.create_task(link.call("turn", None, silence=10))
            asked = await peer.asks("turn")
            for _ in range(10):
                await asyncio.sleep(9)
                peer.send(notification("still/here"))
            last = now()
            with pytest.raises(SilenceTimeout) as silent:
                await asking
            assert 10 <= now() - last <= 11
            assert silent.value.seconds == 10
            assert await peer.next() == cancel_request(asked["id"])

    virtually(body())


def test_silence_counts_from_the_beginning_of_the_call() -> None:
    async def body() -> None:
        async with linked() as (link, peer):
            await asyncio.sleep(1000)
            asking = asyncio.create_task(link.call("turn", None, silence=10))
            asked = await peer.asks("turn")
            await asyncio.sleep(9)
            peer.send(result(asked["id"], 1))
            await asking

    virtually(body())


def test_a_peer_that_waits_for_our_answer_is_not_silent() -> None:
    async def body() -> None:
        async def think() -> bytes:
            await asyncio.sleep(600)
            return b'"yes"'

        routes = Routes()
        routes.requests["may/i"] = lambda _: think()
        async with linked(routes) as (link, peer):
            asking = asyncio.create_task(link.call("turn", None, silence=10))
            asked = await peer.asks("turn")
            peer.send(request(1, "may/i"))
            await peer.answer_to(1)
            await asyncio.sleep(9)  # its turn to be silent begins with our answer
            peer.send(result(asked["id"], 1))
            await asking

    virtually(body())


def test_after_our_answer_the_peer_can_be_silent_again() -> None:
    async def body() -> None:
        async def think() -> bytes:
            await asyncio.sleep(600)
            return b'"yes"'

        routes = Routes()
        routes.requests["may/i"] = lambda _: think()
        async with linked(routes) as (link, peer):
            asking = asyncio.create_task(link.call("turn", None, silence=10))
            peer.send(request(1, "may/i"))
            await peer.answer_to(1)
            answered = now()
            with pytest.raises(SilenceTimeout):
                await asking
            assert 10 <= now() - answered <= 13

    virtually(body())


def test_a_peer_that_we_do_not_listen_to_is_not_silent() -> None:
    async def body() -> None:
        async with linked() as (link, peer):
            asking = asyncio.create_task(link.call("turn", None, silence=10))
            asked = await peer.asks("turn")
            link.hold("somebody is slow")
            peer.send(notification("n"), result(asked["id"], 1))
            await asyncio.sleep(60)
            link.listen("somebody is slow")
            await asking

    virtually(body())


async def test_a_caller_that_gives_up_tells_the_peer_and_ignores_the_late_answer() -> None:
    async with linked() as (link, peer):
        asking = asyncio.create_task(link.call("m", None))
        asked = await peer.asks("m")
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await peer.next() == cancel_request(asked["id"])
        peer.send(result(asked["id"], "late"), request(1, "unknown"))
        assert (await peer.next())["id"] == 1
        assert not link.connection.calls


async def test_a_caller_that_gives_up_after_the_answer_has_come_tells_nobody() -> None:
    async with linked() as (link, peer):
        asking = asyncio.create_task(link.call("m", None))
        asked = await peer.asks("m")
        link.feed(b'{"jsonrpc":"2.0","id":%d,"result":1}\n' % asked["id"])
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        peer.send(request(1, "unknown"))
        assert (await peer.next())["id"] == 1


async def test_one_caller_giving_up_does_not_disturb_the_others() -> None:
    async with linked() as (link, peer):
        asking = [asyncio.create_task(link.call("m", None)) for _ in range(10)]
        asked = [await peer.asks("m") for _ in asking]
        for task in asking[::2]:
            task.cancel()
        await asyncio.wait(asking[::2])
        peer.send(*(result(call["id"], call["id"]) for call in asked))
        for task, call in list(zip(asking, asked, strict=True))[1::2]:
            assert bytes(await task) == str(call["id"]).encode()
        assert all(task.cancelled() for task in asking[::2])
