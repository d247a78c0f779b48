"""The peer's requests while they are worked on: each is answered exactly once, whatever its handler does."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dragoman.errors import ErrorAnswer
from dragoman.runtime import Limits
from tests.runtime.raw import Routes, cancel_request, linked, request, result

Step = Callable[[], Coroutine[Any, Any, None]]


async def no_wait() -> None:
    pass


async def one_turn() -> None:
    await asyncio.sleep(0)


both_ways = pytest.mark.parametrize("first", [no_wait, one_turn], ids=["at once", "after a wait"])


@both_ways
async def test_a_handler_that_raises_becomes_an_internal_error_without_its_text(
    first: Step, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> bytes:
        await first()
        raise RuntimeError("password=hunter2")

    routes = Routes()
    routes.requests = {"fail": lambda _: fail(), "ok": lambda _: b"1"}
    async with linked(routes) as (_, peer):
        with caplog.at_level(logging.ERROR):
            peer.send(request(1, "fail"), request(2, "ok"))
            failed = await peer.next_of(lambda frame: frame["id"] == 1)
    assert failed["error"] == {"code": -32603, "message": "Internal error"}
    assert "hunter2" not in json.dumps(peer.seen)
    assert "hunter2" in caplog.text  # it is ours to read
    assert result(2, 1) in peer.seen


@both_ways
async def test_a_handler_chooses_its_error_answer(first: Step) -> None:
    async def refuse() -> bytes:
        await first()
        raise ErrorAnswer(-32000, "Authentication required", {"methods": ["login"]})

    routes = Routes()
    routes.requests["m"] = lambda _: refuse()
    async with linked(routes) as (_, peer):
        peer.send(request(1, "m"))
        error = (await peer.answer_to(1))["error"]
    assert error == {"code": -32000, "message": "Authentication required", "data": {"methods": ["login"]}}


@both_ways
@pytest.mark.parametrize(
    "error",
    [
        ErrorAnswer(-32000, "no", object()),
        ErrorAnswer(-32000, "half a pair: \ud800"),
        ErrorAnswer(-32000, "no", {"path": "/tmp/\udcff"}),
        ErrorAnswer(-32000, "no", {1: {(2, 3): set}}),
    ],
    ids=["an object", "a surrogate in the message", "a surrogate in the data", "a strange key"],
)
async def test_an_error_answer_that_cannot_be_written_is_still_an_error_answer(
    first: Step, error: ErrorAnswer
) -> None:
    async def refuse() -> bytes:
        await first()
        raise error

    routes = Routes()
    routes.requests = {"m": lambda _: refuse(), "ok": lambda _: b"1"}
    async with linked(routes) as (_, peer):
        peer.send(request(1, "m"), request(2, "ok"))
        answers = {frame["id"]: frame for frame in (await peer.next(), await peer.next())}
    assert answers[1]["error"]["code"] in (-32000, -32603)
    assert answers[2] == result(2, 1)


@both_ways
async def test_a_handler_that_is_cancelled_by_nobody_is_answered_all_the_same(first: Step) -> None:
    async def give_up() -> bytes:
        await first()
        abandoned: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        abandoned.cancel()
        return await abandoned

    routes = Routes()
    routes.requests = {"m": lambda _: give_up(), "ok": lambda _: b"1"}
    async with linked(routes) as (link, peer):
        peer.send(request(1, "m"), request(2, "ok"))
        answers = {frame["id"]: frame for frame in (await peer.next(), await peer.next())}
        assert answers[1]["error"]["code"] == -32800
        assert answers[2] == result(2, 1)
        assert not link.connection.incoming_requests


@pytest.mark.parametrize("same_block", [True, False], ids=["in the same block", "later"])
@pytest.mark.parametrize("nth", [1, 2], ids=["the first request", "the second request"])
async def test_a_cancelled_request_is_answered_so(same_block: bool, nth: int) -> None:
    heard: list[str] = []

    async def wait() -> bytes:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise
        return b"1"

    routes = Routes()
    routes.requests = {"wait": lambda _: wait()}
    async with linked(routes) as (link, peer):
        frames = [request(number, "wait") for number in range(1, nth + 1)]
        if same_block:
            peer.send(*frames, cancel_request(nth))
        else:
            peer.send(*frames)
            peer.send(request("sync", "unknown"))
            await peer.answer_to("sync")
            peer.send(cancel_request(nth))
        answer = await peer.answer_to(nth)
        assert answer["error"]["code"] == -32800
        assert heard == ["cancelled"]
        assert len(link.connection.incoming_requests) == nth - 1


async def test_a_cancel_overtakes_what_waits() -> None:
    # The lanes are blocked and a hundred requests are under way; the cancel is heard at once.
    async def wait() -> bytes:
        await asyncio.Event().wait()
        return b"1"

    async def block() -> None:
        await asyncio.Event().wait()

    routes = Routes()
    routes.requests["wait"] = lambda _: wait()
    async with linked(routes) as (link, peer):
        link.lanes.submit("a", block, 1)
        link.lanes.submit("a", block, 1)
        peer.send(*(request(n, "wait") for n in range(100)))
        peer.send(cancel_request(57))
        assert (await peer.next())["id"] == 57


async def test_a_cancelled_handler_may_still_answer() -> None:
    started = asyncio.Event()

    async def wait() -> bytes:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return b'"what I had"'
        return b"1"

    routes = Routes()
    routes.requests["wait"] = lambda _: wait()
    async with linked(routes) as (_, peer):
        peer.send(request(1, "wait"))
        await started.wait()
        peer.send(cancel_request(1), cancel_request(1))
        assert await peer.answer_to(1) == result(1, "what I had")


async def test_a_cancel_for_nothing_is_nothing() -> None:
    routes = Routes()
    routes.requests["ok"] = lambda _: b"1"
    async with linked(routes) as (_, peer):
        peer.send(
            cancel_request(1), request(1, "ok"), cancel_request(1), cancel_request("1"), request(2, "ok")
        )
        await peer.answer_to(2)
    assert peer.seen == [result(1, 1), result(2, 1)]


async def test_every_request_of_a_crowd_is_answered_once() -> None:
    async def work(turns: int) -> bytes:
        for _ in range(turns):
            await asyncio.sleep(0)
        if turns == 3:
            raise RuntimeError
        return b"%d" % turns

    routes = Routes()
    routes.requests["work"] = work
    async with linked(routes) as (link, peer):
        for start in range(0, 1000, 50):
            peer.send(*(request(n, "work", n % 5) for n in range(start, start + 50)))
        answers = [await peer.next() for _ in range(1000)]
        assert sorted(frame["id"] for frame in answers) == list(range(1000))
        assert all(("error" in frame) == (frame["id"] % 5 == 3) for frame in answers)
        assert not link.connection.incoming_requests
    assert len(peer.seen) == 1000


async def test_above_the_limit_of_work_requests_are_refused_and_cancels_are_heard() -> None:
    async def wait() -> bytes:
        await asyncio.Event().wait()
        return b"1"

    routes = Routes()
    routes.requests = {"wait": lambda _: wait()}
    async with linked(routes, limits=Limits(work_bytes=10_000)) as (_, peer):
        large = "x" * 4_000
        peer.send(request(1, "wait", large), request(2, "wait", large), request(3, "wait", large))
        refused = await peer.next()
        assert (refused["id"], refused["error"]["code"]) == (3, -32603)
        assert "too much work" in refused["error"]["message"]
        peer.send(cancel_request(1))
        assert (await peer.next())["id"] == 1
        peer.send(request(4, "wait", large), request(5, "wait", large))
        assert (await peer.next())["id"] == 5  # four took the room that one had left


async def test_above_the_number_of_requests_in_flight_the_next_is_refused() -> None:
    async def wait() -> bytes:
        await asyncio.Event().wait()
        return b"1"

    routes = Routes()
    routes.requests = {"wait": lambda _: wait(), "now": lambda _: b"2"}
    async with linked(routes, limits=Limits(work_requests=2)) as (_, peer):
        peer.send(request(1, "wait"), request(2, "wait"), request(3, "wait"))
        refused = await peer.next()
        assert (refused["id"], refused["error"]["code"]) == (3, -32603)
        peer.send(cancel_request(1))
        assert (await peer.next())["id"] == 1
        peer.send(request(4, "now"), request(5, "wait"), request(6, "wait"))
        assert await peer.next() == result(4, 2)
        assert (await peer.next())["id"] == 6


async def test_a_lone_request_may_be_larger_than_the_limit_of_work() -> None:
    async def length(text: str) -> bytes:
        await asyncio.sleep(0)
        return b"%d" % len(text)

    routes = Routes()
    routes.requests["length"] = length
    async with linked(routes, limits=Limits(work_bytes=1_000)) as (_, peer):
        peer.send(request(1, "length", "x" * 50_000))
        assert await peer.answer_to(1) == result(1, 50_000)
