"""Notification handlers that wait: order within a lane, answers behind them, and no deadlock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from dragoman.errors import CallTimeout
from dragoman.runtime import Link
from tests.runtime.clock import virtually
from tests.runtime.raw import RawEnd, Routes, linked, notification, request, result

Handle = Callable[[str], Awaitable[None]]


@asynccontextmanager
async def laned(handle: Handle) -> AsyncIterator[tuple[Link, RawEnd]]:
    """A link whose notification `n` with params `[lane, text]` is handled by a coroutine in that lane."""
    routes = Routes()
    async with linked(routes) as (link, peer):

        def take(params: list[str]) -> None:
            lane, text = params

            async def work() -> None:
                await handle(text)

            link.lanes.submit(lane, work, len(text))

        routes.notifications["n"] = take
        yield link, peer


def note(lane: str, text: str) -> dict[str, object]:
    return notification("n", [lane, text])


async def spin(turns: int = 5) -> None:
    """Let everything that can happen happen."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def test_handlers_of_one_lane_run_one_by_one_in_order() -> None:
    log: list[str] = []

    async def handle(text: str) -> None:
        log.append(f"{text} begins")
        await spin(3)
        log.append(f"{text} ends")

    async with laned(handle) as (link, peer):
        asking = asyncio.create_task(link.call("m", None))
        call = await peer.asks("m")
        peer.send(*(note("a", str(n)) for n in range(5)))
        peer.send(*(note("a", str(n)) for n in range(5, 10)), result(call["id"], 1))
        await asking
    assert log == [f"{n} {what}" for n in range(10) for what in ("begins", "ends")]


async def test_an_answer_is_seen_after_the_handlers_of_what_came_before_it() -> None:
    log: list[str] = []

    async def handle(text: str) -> None:
        await spin(3)
        log.append(text)

    async with laned(handle) as (link, peer):
        asking = asyncio.create_task(link.call("m", None, lane="a"))
        asking.add_done_callback(lambda _: log.append("answer"))
        call = await peer.asks("m")
        peer.send(note("a", "one"), note("a", "two"), result(call["id"], 1), note("a", "three"))
        await asking
        await spin(20)
    assert log == ["one", "two", "answer", "three"]


async def test_a_slow_lane_does_not_delay_the_answers_of_another() -> None:
    gate = asyncio.Event()
    log: list[str] = []

    async def handle(text: str) -> None:
        if text == "slow":
            await gate.wait()
        log.append(text)

    async with laned(handle) as (link, peer):
        asking = asyncio.create_task(link.call("m", None, lane="b"))
        call = await peer.asks("m")
        peer.send(note("a", "slow"), note("b", "quick"), result(call["id"], 1))
        await asking
        assert log == ["quick"]
        gate.set()
        await spin()
    assert log == ["quick", "slow"]


async def test_an_answer_that_belongs_to_no_lane_waits_for_all_of_them() -> None:
    gates = {"a": asyncio.Event(), "b": asyncio.Event()}

    async def handle(text: str) -> None:
        await gates[text].wait()

    async with laned(handle) as (link, peer):
        asking = asyncio.create_task(link.call("m", None))
        call = await peer.asks("m")
        peer.send(note("a", "a"), note("b", "b"), result(call["id"], 1))
        await spin()
        gates["b"].set()
        await spin()
        assert not asking.done()
        gates["a"].set()
        await asking


async def test_a_call_from_inside_a_handler_gets_its_answer_whatever_has_queued_up() -> None:
    log: list[str] = []
    link: Link

    async def handle(text: str) -> None:
        if text == "first":
            log.append(bytes(await link.call("m", None, lane="a")).decode())
        log.append(text)

    async with laned(handle) as (link, peer):
        peer.send(note("a", "first"))
        call = await peer.asks("m")
        peer.send(note("a", "second"), note("a", "third"), result(call["id"], "answer"))
        await spin(10)
    assert log == ['"answer"', "first", "second", "third"]


async def test_calls_nested_three_deep_across_both_kinds_of_handler_end() -> None:
    routes = Routes()
    done = asyncio.Event()
    async with linked(routes) as (link, peer):

        async def outer() -> None:
            assert bytes(await link.call("one", None)) == b'"middle"'
            done.set()

        async def middle() -> bytes:
            return bytes(await link.call("two", None))

        async def inner() -> None:
            assert bytes(await link.call("three", None, lane="a")) == b'"inner"'

        routes.notifications["outer"] = lambda _: link.lanes.submit("a", outer, 1)
        routes.notifications["inner"] = lambda _: link.lanes.submit("b", inner, 1)
        routes.requests["middle"] = lambda _: middle()
        peer.send(notification("outer"))
        one = await peer.asks("one")
        peer.send(request("x", "middle"))
        two = await peer.asks("two")
        peer.send(notification("inner"))
        three = await peer.asks("three")
        peer.send(result(three["id"], "inner"))
        peer.send(result(two["id"], "middle"))
        answer = await peer.answer_to("x")
        peer.send(result(one["id"], answer["result"]))
        await done.wait()


async def test_handlers_of_two_lanes_that_both_call_do_not_wait_for_each_other() -> None:
    ended: list[str] = []
    link: Link

    async def handle(text: str) -> None:
        await link.call("m", None)  # belongs to no lane, so it is behind both
        ended.append(text)

    async with laned(handle) as (link, peer):
        peer.send(note("a", "a"), note("b", "b"))
        first, second = await peer.asks("m"), await peer.asks("m")
        peer.send(note("a", "a2"), note("b", "b2"), result(second["id"], 1), result(first["id"], 1))
        for _ in range(2):
            peer.send(result((await peer.asks("m"))["id"], 1))
        await spin(10)
    assert sorted(ended) == ["a", "a2", "b", "b2"]


async def test_a_failing_handler_does_not_stop_its_lane(caplog: pytest.LogCaptureFixture) -> None:
    log: list[str] = []

    async def handle(text: str) -> None:
        if text == "bad":
            raise RuntimeError(text)
        log.append(text)

    async with laned(handle) as (_, peer):
        with caplog.at_level(logging.ERROR):
            peer.send(note("a", "one"), note("a", "bad"), note("a", "two"), request(1, "m"))
            await peer.answer_to(1)
            await spin(10)
    assert log == ["one", "two"]
    assert "a notification handler failed" in caplog.text


async def test_a_lane_exists_and_weighs_only_while_it_is_busy() -> None:
    gate = asyncio.Event()

    async def handle(_: str) -> None:
        await gate.wait()

    async with laned(handle) as (link, peer):
        peer.send(note("a", "x" * 100), note("b", "y" * 10), note("a", "z"), request(1, "m"))
        await peer.answer_to(1)
        assert link.lanes
        assert link.lanes.size == 111
        gate.set()
        await spin(10)
        assert not link.lanes
        assert link.lanes.size == 0


async def test_what_is_left_of_a_run_weighs_nothing_when_the_link_is_closed() -> None:
    handled: list[str] = []

    async def handle(text: str) -> None:
        handled.append(text)
        if text == "two":
            await asyncio.get_running_loop().create_future()

    async with linked(Routes()) as (link, _):
        link.lanes.submit_run("a", handle, ["one", "two", "three"], 10)
        link.lanes.submit_run("a", handle, ["four"], 5)
        assert link.lanes.size == 35
        await spin()
        assert (handled, link.lanes.size) == (["one", "two"], 25)
    assert (handled, link.lanes.size) == (["one", "two"], 0)


def test_a_call_keeps_its_deadline_while_its_answer_waits_behind_a_handler_that_hangs() -> None:
    async def body() -> None:
        async def hang(_: str) -> None:
            await asyncio.Event().wait()

        async with laned(hang) as (link, peer):
            asking = asyncio.create_task(link.call("m", None, deadline=10, lane="a"))
            call = await peer.asks("m")
            peer.send(note("a", "hangs"), result(call["id"], 1))
            with pytest.raises(CallTimeout):
                await asking

    virtually(body())
