"""A conversation ends as a whole: nothing outlives `aclose`, and nobody waits for it in vain."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import warnings

import pytest

from dragoman.errors import LinkClosed
from dragoman.runtime import Link
from dragoman.testing.pace import deadline
from dragoman.transport.memory import memory_pair
from tests.runtime.clock import virtually
from tests.runtime.raw import RawEnd, Routes, linked, notification, request, result


async def forever() -> bytes:
    await asyncio.Event().wait()
    return b'"never"'


async def test_closing_ends_every_handler_and_every_call() -> None:
    ended: list[str] = []
    before = asyncio.all_tasks()

    async def handle(name: str) -> bytes:
        try:
            return await forever()
        finally:
            ended.append(name)

    routes = Routes()
    routes.requests["wait"] = handle
    async with linked(routes) as (link, peer):
        routes.notifications["n"] = lambda name: link.lanes.submit(name, lambda: quietly(handle(name)), 1)
        peer.send(request(1, "wait", "a"), request(2, "wait", "b"), notification("n", "c"), request(3, "m"))
        await peer.answer_to(3)
        call = asyncio.create_task(link.call("m", None))
        await peer.asks("m")
        await link.aclose()
        with pytest.raises(LinkClosed, match="this side closed"):
            await call
        assert sorted(ended) == ["a", "b", "c"]
        assert asyncio.all_tasks() - before == set()
        assert not link.connection.calls
        assert not link.connection.incoming_requests
        assert not link.lanes
        assert link.lanes.size == 0


async def quietly(work: object) -> None:
    await work  # type: ignore[misc]


async def test_closing_twice_and_at_the_same_time_is_closing_once() -> None:
    async with linked() as (link, peer):
        await asyncio.gather(link.aclose(), link.aclose(), link.aclose(grace=1))
        await link.aclose()
        await peer.ends()


async def test_the_peer_sees_the_end() -> None:
    async with linked() as (link, peer):
        link.notify("n", b'"last words"')
        await link.aclose()
        await peer.ends()
        assert peer.seen == [notification("n", "last words")]


async def test_a_handler_may_close_the_link_that_it_serves() -> None:
    routes = Routes()
    async with linked(routes) as (link, peer):

        async def close() -> bytes:
            await link.aclose()
            return b"true"

        routes.requests["close"] = lambda _: close()
        peer.send(request(1, "close"))
        await peer.ends()
        assert link.close_reason is not None


async def test_a_notification_handler_may_close_the_link_that_it_serves() -> None:
    routes = Routes()
    async with linked(routes) as (link, peer):
        routes.notifications["close"] = lambda _: link.lanes.submit("lane", link.aclose, 1)
        peer.send(notification("close"))
        await peer.ends()


async def test_a_request_that_comes_while_we_close_starts_nothing() -> None:
    cleaning, clean, late = asyncio.Event(), asyncio.Event(), asyncio.Event()
    before = asyncio.all_tasks()

    async def slow_to_end() -> bytes:
        try:
            return await forever()
        finally:
            cleaning.set()
            await clean.wait()

    async def start() -> bytes:
        late.set()
        return await forever()

    routes = Routes()
    routes.requests = {"slow": lambda _: slow_to_end(), "start": lambda _: start()}
    async with linked(routes) as (link, peer):
        peer.send(request(1, "slow"), request(2, "m"))
        await peer.answer_to(2)
        closing = asyncio.create_task(link.aclose())
        await cleaning.wait()
        with contextlib.suppress(LinkClosed):  # that it cannot be sent any more is as good
            peer.send(request(3, "start"))
        for _ in range(5):
            await asyncio.sleep(0)
        clean.set()
        await closing
        assert not late.is_set()
        assert asyncio.all_tasks() - before == set()


@pytest.mark.filterwarnings("error")
async def test_closing_in_the_same_breath_as_a_block_arrives_leaves_no_coroutine_behind() -> None:
    begun: list[str] = []

    async def handle(name: str) -> bytes:
        begun.append(name)
        return await forever()

    routes = Routes()
    routes.requests["wait"] = handle
    ours, theirs = memory_pair()
    link, peer = Link(ours, routes), RawEnd(theirs)
    routes.notifications["n"] = lambda name: link.lanes.submit(name, lambda: quietly(handle(name)), 1)
    link.start()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        link.feed(b'{"jsonrpc":"2.0","id":1,"method":"wait","params":"a"}\n')
        link.feed(b'{"jsonrpc":"2.0","method":"n","params":"b"}\n')
        await link.aclose()
        gc.collect()
    await peer.aclose()
    assert [str(warning.message) for warning in caught] == []
    assert not link.lanes


async def test_a_caller_whose_answer_waits_in_a_lane_is_not_forgotten_by_the_close() -> None:
    routes = Routes()
    async with linked(routes) as (link, peer):
        routes.notifications["n"] = lambda _: link.lanes.submit("lane", lambda: quietly(forever()), 1)
        asking = asyncio.create_task(link.call("m", None, lane="lane"))
        call = await peer.asks("m")
        closing = asyncio.create_task(link.aclose())
        await asyncio.sleep(0)  # it has begun, and is about to cancel what has not begun yet
        link.feed(b'{"jsonrpc":"2.0","method":"n"}\n{"jsonrpc":"2.0","id":%d,"result":7}\n' % call["id"])
        await closing
        async with deadline(1):
            with contextlib.suppress(LinkClosed):
                assert bytes(await asking) == b"7"


async def test_a_caller_whose_answer_waits_behind_a_running_handler_is_not_forgotten_either() -> None:
    begun = asyncio.Event()

    async def handle() -> None:
        begun.set()
        await forever()

    routes = Routes()
    async with linked(routes) as (link, peer):
        routes.notifications["n"] = lambda _: link.lanes.submit("lane", handle, 1)
        asking = asyncio.create_task(link.call("m", None, lane="lane"))
        call = await peer.asks("m")
        peer.send(notification("n"), result(call["id"], 7))
        await begun.wait()
        await link.aclose()
        async with deadline(1):
            with contextlib.suppress(LinkClosed):
                assert bytes(await asking) == b"7"


async def test_with_grace_a_handler_may_finish_and_its_answer_is_sent() -> None:
    gate = asyncio.Event()

    async def work() -> bytes:
        await gate.wait()
        return b'"finished"'

    routes = Routes()
    routes.requests["work"] = lambda _: work()
    async with linked(routes) as (link, peer):
        peer.send(request(1, "work"), request(2, "m"))
        await peer.answer_to(2)
        closing = asyncio.create_task(link.aclose(grace=60))
        gate.set()
        await closing
        await peer.ends()
        assert peer.answers()[-1] == result(1, "finished")


def test_grace_ends() -> None:
    async def body() -> None:
        routes = Routes()
        routes.requests["wait"] = lambda _: forever()
        async with linked(routes) as (link, peer):
            peer.send(request(1, "wait"), request(2, "m"))
            await peer.answer_to(2)
            start = asyncio.get_running_loop().time()
            await link.aclose(grace=2)
            assert 2 <= asyncio.get_running_loop().time() - start < 2.5

    virtually(body())


def test_a_handler_that_refuses_to_end_is_named_in_the_log_and_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        refusals = 0

        async def stubborn() -> bytes:
            nonlocal refusals
            until = asyncio.get_running_loop().time() + 30
            while (left := until - asyncio.get_running_loop().time()) > 0:
                try:
                    await asyncio.sleep(left)
                except asyncio.CancelledError:
                    refusals += 1
            return b'"at last"'

        routes = Routes()
        routes.requests["stubborn"] = lambda _: stubborn()
        async with linked(routes) as (link, peer):
            peer.send(request(1, "stubborn"), request(2, "m"))
            await peer.answer_to(2)
            start = asyncio.get_running_loop().time()
            await link.aclose()
            assert asyncio.get_running_loop().time() - start < 10
            assert refusals > 0
        await asyncio.sleep(60)  # so that the test itself leaves nothing behind

    with caplog.at_level(logging.ERROR):
        virtually(body())
    assert "did not end" in caplog.text


async def test_a_cancelled_close_still_closes() -> None:
    cleaning, clean = asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> bytes:
        try:
            return await forever()
        finally:
            cleaning.set()
            await clean.wait()

    routes = Routes()
    routes.requests["slow"] = lambda _: slow_to_end()
    async with linked(routes) as (link, peer):
        peer.send(request(1, "slow"), request(2, "m"))
        await peer.answer_to(2)
        closing = asyncio.create_task(link.aclose())
        await cleaning.wait()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        clean.set()
        await link.aclose()
        await peer.ends()
