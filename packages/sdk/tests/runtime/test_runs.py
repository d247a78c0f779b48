"""Blocks of nothing but requests, or nothing but answers: the same follows as from them one by one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dragoman.core import Lifecycle
from dragoman.errors import CallTimeout, ErrorAnswer
from tests.runtime.raw import Frame, Routes, cancel_request, linked, request, result


def double(params: Any) -> bytes:
    return json.dumps({"value": params["value"] * 2}).encode()


async def later(params: Any) -> bytes:
    await asyncio.sleep(0)
    return double(params)


async def fail(params: Any) -> bytes:
    raise ErrorAnswer(7, "no")


def routes() -> Routes:
    made = Routes()
    made.requests = {"double": double, "later": later, "fail": fail}
    return made


def asking(*methods: str) -> list[Frame]:
    return [request(number, method, {"value": number}) for number, method in enumerate(methods)]


def written(frame: Frame) -> bytes:
    return json.dumps(frame, separators=(",", ":")).encode() + b"\n"


async def answers(peer: Any, count: int) -> dict[Any, Frame]:
    frames = [await peer.next() for _ in range(count)]
    return {frame["id"]: frame for frame in frames}


async def test_a_run_of_requests_is_answered_in_order_where_nobody_waits() -> None:
    async with linked(routes()) as (_, peer):
        peer.send(*asking(*["double"] * 50))
        assert [await peer.next() for _ in range(50)] == [result(n, {"value": 2 * n}) for n in range(50)]


async def test_each_request_of_a_run_has_its_own_fate() -> None:
    async with linked(routes()) as (link, peer):
        peer.send(*asking("double", "fail", "later", "unknown", "double"))
        got = await answers(peer, 5)
        assert [got[n].get("result", {}).get("value") for n in range(5)] == [0, None, 4, None, 8]
        assert [got[n].get("error", {}).get("code") for n in range(5)] == [None, 7, None, -32601, None]
        assert not link.connection.incoming_requests


async def test_an_id_that_is_used_twice_in_a_run_is_refused_while_it_is_in_use() -> None:
    async with linked(routes()) as (_, peer):
        peer.send(request(1, "later", {"value": 1}), request(1, "later", {"value": 2}))
        first, second = await peer.next(), await peer.next()
        assert (first["error"]["code"], second["result"]) == (-32600, {"value": 2})


async def test_an_id_that_is_in_use_before_the_run_is_refused() -> None:
    async with linked(routes()) as (_, peer):
        peer.send(request(1, "later", {"value": 1}))
        peer.send(request(1, "double", {"value": 2}), request(2, "double", {"value": 3}))
        frames = [await peer.next() for _ in range(3)]
        assert [frame["error"]["code"] for frame in frames if "error" in frame] == [-32600]
        assert [frame["result"]["value"] for frame in frames if "result" in frame] == [6, 2]


async def test_a_run_before_initialize_is_refused() -> None:
    async with linked(routes(), lifecycle=Lifecycle()) as (_, peer):
        peer.send(*asking("double", "double"))
        assert [(await peer.next())["error"]["code"] for _ in range(2)] == [-32600] * 2


async def test_a_cancel_behind_a_run_reaches_what_still_waits() -> None:
    made = routes()
    begun = asyncio.Event()

    async def hang(params: Any) -> bytes:
        begun.set()
        await asyncio.Event().wait()
        return b""

    made.requests["hang"] = hang
    async with linked(made) as (_, peer):
        peer.send(*asking("hang", "double"))
        await begun.wait()
        peer.send(cancel_request(0))
        got = await answers(peer, 2)
        assert (got[0]["error"]["code"], got[1]["result"]) == (-32800, {"value": 2})


async def test_a_run_of_answers_reaches_those_who_wait_and_nobody_else() -> None:
    async with linked(routes()) as (link, peer):
        calls = [asyncio.ensure_future(link.call("x", b"{}")) for _ in range(5)]
        asked = [await peer.next() for _ in range(5)]
        calls[2].cancel()
        await asyncio.wait((calls[2],))
        peer.send(*[result(frame["id"], n) for n, frame in enumerate(asked)], result(99, "late"))
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [None if isinstance(one, BaseException) else bytes(one) for one in done] == [
            b"0",
            b"1",
            None,
            b"3",
            b"4",
        ]


@pytest.mark.bound(30)
async def test_a_long_deadline_that_began_with_a_look_still_ends() -> None:
    async with linked(routes()) as (link, peer):
        first = asyncio.ensure_future(link.call("x", b"{}", deadline=60))  # somebody looks from now on
        await peer.next()
        call = link.open_call("y", b"{}", deadline=10.5)
        assert call.context.expires == 0.0
        call.context.deadline = 0.4  # nobody waits ten seconds in a test
        await link.wait_answered(call)
        with pytest.raises(CallTimeout):
            link.result(call)
        first.cancel()


async def test_a_caller_is_woken_in_the_step_of_the_loop_that_brings_its_answer() -> None:
    async with linked(routes()) as (link, peer):
        loop = asyncio.get_running_loop()
        got: list[bytes] = []

        async def ask() -> None:
            got.append(bytes(await link.call("x", b"{}")))

        def answer() -> None:
            link.feed(written(result(peer.seen[0]["id"], 1)))
            got.append(b"fed")

        asking = asyncio.create_task(ask())
        await peer.next()
        loop.call_soon(answer)
        await asking
        assert got == [b"1", b"fed"]


async def test_a_caller_is_woken_later_if_a_task_brings_its_answer() -> None:
    async with linked(routes()) as (link, peer):
        asking = asyncio.create_task(link.call("x", b"{}"))
        await peer.next()
        link.feed(written(result(peer.seen[0]["id"], 1)))
        assert not asking.done()
        assert bytes(await asking) == b"1"


@pytest.mark.parametrize("count", [1, 2])
async def test_answers_that_are_given_at_once_leave_without_another_turn_of_the_loop(count: int) -> None:
    async with linked(routes()) as (link, _):
        link.is_client = True
        block = b"".join(map(written, asking(*["double"] * count)))
        asyncio.get_running_loop().call_soon(link.feed, block)
        await asyncio.sleep(0)
        assert not link.outbox.buffer
        assert not link.outbox.is_scheduled


async def test_a_clients_caller_goes_on_behind_what_closely_follows_its_answer() -> None:
    heard: list[str] = []
    router = routes()
    router.on_notification = lambda method, params: heard.append(method)  # type: ignore[method-assign]
    async with linked(router) as (link, peer):
        link.is_client = True

        async def ask() -> None:
            await link.call("x", b"{}")
            heard.append("answered")

        asking = asyncio.create_task(ask())
        await peer.next()
        loop = asyncio.get_running_loop()
        loop.call_soon(link.feed, written(result(peer.seen[0]["id"], 1)))
        loop.call_soon(link.feed, b'{"jsonrpc":"2.0","method":"commands"}\n')
        await asking
        assert heard == ["commands", "answered"]
