"""A running conversation: order, answers, refusals."""

from __future__ import annotations

import asyncio
import logging

import pytest

from dragoman.core import Lifecycle
from dragoman.errors import CallFailed, ErrorAnswer, LinkClosed
from dragoman.runtime import Answer
from dragoman.transport.contract import TransportLimits as TransportLimits
from tests.runtime.raw import Routes, linked, notification, request, result

SMALL = TransportLimits(frame=10_000)


async def test_notifications_are_handled_in_the_order_of_their_arrival() -> None:
    heard: list[int] = []
    routes = Routes()
    routes.notifications["n"] = heard.append
    async with linked(routes) as (_, peer):
        for start in range(0, 300, 3):  # blocks of three, so that order within and between blocks is tried
            peer.send(*(notification("n", start + step) for step in range(3)))
        peer.send(request(1, "unknown"))
        await peer.answer_to(1)
    assert heard == list(range(300))


async def test_an_answer_is_seen_after_the_notifications_before_it() -> None:
    log: list[str] = []
    routes = Routes()
    routes.notifications["n"] = log.append
    async with linked(routes) as (link, peer):

        async def ask() -> None:
            await link.call("m", None)
            log.append("answer")

        asking = asyncio.create_task(ask())
        call = await peer.asks("m")
        peer.send(notification("n", "one"), notification("n", "two"), result(call["id"], 1))
        await asking
    assert log == ["one", "two", "answer"]


async def test_answers_reach_their_own_callers_in_whatever_order_they_come() -> None:
    async with linked() as (link, peer):
        asked = [asyncio.create_task(link.call("m", b'{"n":%d}' % n)) for n in range(50)]
        calls = [await peer.asks("m") for _ in asked]
        peer.send(*(result(call["id"], call["params"]["n"]) for call in reversed(calls)))
        assert [bytes(await task) for task in asked] == [str(n).encode() for n in range(50)]
        assert not link.connection.calls


async def test_a_request_that_waits_blocks_nobody() -> None:
    gate = asyncio.Event()
    heard: list[object] = []

    async def wait() -> bytes:
        await gate.wait()
        return b'"waited"'

    routes = Routes()
    routes.requests = {"wait": lambda _: wait(), "quick": lambda _: b'"quick"'}
    routes.notifications["n"] = heard.append
    async with linked(routes) as (link, peer):
        peer.send(request(1, "wait"), request(2, "quick"), notification("n", 3))
        assert (await peer.next())["id"] == 2
        assert heard == [3]
        call = asyncio.create_task(link.call("m", None))
        asked = await peer.asks("m")
        peer.send(result(asked["id"], True))
        await call
        gate.set()
        assert await peer.answer_to(1) == result(1, "waited")


async def test_requests_of_the_peer_run_at_the_same_time() -> None:
    # Each waits for the other two: run one after another, none of them would ever end.
    barrier = asyncio.Barrier(3)

    async def meet() -> bytes:
        await barrier.wait()
        return b"true"

    routes = Routes()
    routes.requests["meet"] = lambda _: meet()
    async with linked(routes) as (_, peer):
        peer.send(request(1, "meet"), request(2, "meet"))
        peer.send(request(3, "meet"))
        assert sorted([(await peer.next())["id"] for _ in range(3)]) == [1, 2, 3]


async def test_a_call_from_inside_a_request_handler_gets_its_answer() -> None:
    routes = Routes()
    async with linked(routes) as (link, peer):

        async def ask_back() -> bytes:
            return bytes(await link.call("back", None))

        routes.requests["ask"] = lambda _: ask_back()
        peer.send(request("a", "ask"))
        asked = await peer.asks("back")
        peer.send(result(asked["id"], "here"))
        assert await peer.answer_to("a") == result("a", "here")


async def test_an_unknown_request_is_refused_by_name_and_an_unknown_notification_is_nothing() -> None:
    async with linked() as (_, peer):
        peer.send(notification("nobody/knows"), request("x", "nobody/knows"), request(7, "nobody/knows"))
        first = await peer.next()
        assert (first["id"], first["error"]["code"]) == ("x", -32601)
        assert first["error"]["data"] == {"method": "nobody/knows"}
        assert (await peer.next())["id"] == 7
    assert len(peer.seen) == 2


@pytest.mark.parametrize(
    ("frame", "code"),
    [(b"{nonsense", -32700), (b"\xff", -32700), (b"[]", -32600), (b'{"id":1}', None), (b"7", -32600)],
)
async def test_a_malformed_frame_costs_nothing_but_itself(frame: bytes, code: int | None) -> None:
    heard: list[object] = []
    routes = Routes()
    routes.notifications["n"] = heard.append
    async with linked(routes) as (link, peer):
        peer.send(notification("n", 1), frame, notification("n", 2), request(5, "unknown"))
        await peer.answer_to(5)
        complaints = [said for said in peer.seen if said.get("id") is None]
        assert [said["error"]["code"] for said in complaints] == ([] if code is None else [code])
        assert heard == [1, 2]
        assert link.complaints == len(complaints)


async def test_an_oversized_frame_is_refused_and_the_next_one_is_heard() -> None:
    heard: list[object] = []
    routes = Routes()
    routes.notifications["n"] = heard.append
    async with linked(routes, transport=SMALL) as (link, peer):
        peer.send(notification("n", 1), notification("n", "x" * 20_000), notification("n", 2))
        refusal = await peer.next()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        assert "10000 bytes" in refusal["error"]["message"]
        peer.send(request(1, "unknown"))
        await peer.answer_to(1)
        assert heard == [1, 2]
        assert link.complaints == 1


async def test_a_failing_notification_handler_costs_only_its_own(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[int] = []

    def take(n: int) -> None:
        if n == 2:
            raise RuntimeError("of the handler")
        heard.append(n)

    routes = Routes()
    routes.notifications["n"] = take
    async with linked(routes) as (_, peer):
        with caplog.at_level(logging.ERROR):
            peer.send(*(notification("n", n) for n in (1, 2, 3)), request(1, "unknown"))
            await peer.answer_to(1)
    assert heard == [1, 3]
    assert "a notification handler failed" in caplog.text


async def test_an_error_answer_is_raised_with_all_that_it_said() -> None:
    async with linked() as (link, peer):
        given: list[object] = [None, {"why": "x"}, 0, "", [], False]
        for number, data in enumerate(given, start=1):
            asking = asyncio.create_task(link.call("m", None))
            asked = await peer.asks("m")
            error = {"code": -32000 - number, "message": "no"}
            peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": {**error, "data": data}})
            with pytest.raises(CallFailed) as failed:
                await asking
            assert (failed.value.code, failed.value.message) == (-32000 - number, "no")
            assert failed.value.data == data
            assert failed.value.method == "m"


async def test_an_answer_that_nobody_waits_for_is_ignored() -> None:
    async with linked() as (link, peer):
        peer.send(result(99, "never asked"), result("1", "wrong type"), request(1, "unknown"))
        assert (await peer.next())["id"] == 1
        asking = asyncio.create_task(link.call("m", None))
        asked = await peer.asks("m")
        peer.send(result(asked["id"], "first"), result(asked["id"], "again"))
        assert bytes(await asking) == b'"first"'
    assert len(peer.seen) == 2


async def test_requests_wait_for_initialize_and_are_refused_before_it() -> None:
    gate = asyncio.Event()

    async def initialize() -> bytes:
        await gate.wait()
        return b"{}"

    routes = Routes()
    routes.requests = {"initialize": lambda _: initialize(), "m": lambda _: b"1"}
    async with linked(routes, lifecycle=Lifecycle()) as (_, peer):
        peer.send(request(1, "m"))
        assert (await peer.answer_to(1))["error"]["code"] == -32600
        peer.send(request(2, "initialize"), request(3, "m"), request(4, "m"))
        peer.send(request(5, "m"))
        gate.set()
        assert [(await peer.next())["id"] for _ in range(4)] == [2, 3, 4, 5]
        assert "error" not in peer.seen[-1]


async def test_a_duplicate_id_is_refused_and_the_first_is_still_answered() -> None:
    gate = asyncio.Event()

    async def wait() -> bytes:
        await gate.wait()
        return b"true"

    routes = Routes()
    routes.requests["wait"] = lambda _: wait()
    async with linked(routes) as (_, peer):
        peer.send(request(1, "wait"), request(1, "wait"))
        refused = await peer.answer_to(1)
        assert refused["error"]["code"] == -32600
        gate.set()
        assert await peer.answer_to(1) == result(1, True)


async def test_when_the_peer_hangs_up_every_open_call_fails_and_no_new_one_starts() -> None:
    async with linked() as (link, peer):
        asking = [asyncio.create_task(link.call("m", None)) for _ in range(20)]
        await peer.asks("m")
        await peer.aclose()
        for task in asking:
            with pytest.raises(LinkClosed, match="the peer closed the connection"):
                await task
        assert not link.connection.calls
        await link.wait_ended()
        with pytest.raises(LinkClosed):
            await link.call("m", None)
        with pytest.raises(LinkClosed):
            link.notify("n", None)


async def test_what_the_peer_said_before_it_hung_up_is_heard_first() -> None:
    heard: list[object] = []
    routes = Routes()
    routes.notifications["n"] = heard.append
    async with linked(routes) as (link, peer):
        asking = asyncio.create_task(link.call("m", None))
        call = await peer.asks("m")
        peer.send(*(notification("n", n) for n in range(500)), result(call["id"], "last"))
        await peer.aclose()
        assert bytes(await asking) == b'"last"'
        await link.wait_ended()
    assert heard == list(range(500))


async def test_an_answer_from_outside_counts_once() -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    async def wait() -> bytes:
        started.set()
        await gate.wait()
        return b'"mine"'

    routes = Routes()
    routes.requests["wait"] = lambda _: wait()
    async with linked(routes) as (link, peer):
        peer.send(request(1, "wait"))
        await started.wait()
        incoming = link.connection.incoming_requests[1]
        link.settle(incoming, b'"theirs"')
        link.settle(incoming, b'"again"')
        gate.set()
        peer.send(request(2, "unknown"))
        await peer.answer_to(2)
    assert [frame for frame in peer.answers() if frame["id"] == 1] == [result(1, "theirs")]


async def test_a_router_may_refuse_on_the_spot() -> None:
    def refuse(_: object) -> Answer:
        raise ErrorAnswer(-32042, "not today", {"until": "tomorrow"})

    routes = Routes()
    routes.requests["m"] = refuse
    async with linked(routes) as (_, peer):
        peer.send(request(1, "m"), request(2, "m"))
        for number in (1, 2):
            error = (await peer.answer_to(number))["error"]
            assert error == {"code": -32042, "message": "not today", "data": {"until": "tomorrow"}}
