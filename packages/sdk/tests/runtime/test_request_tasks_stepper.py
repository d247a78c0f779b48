"""A handler that takes its first step on the spot cannot tell that it did."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.runtime.raw import Routes, cancel_request, linked, request, result

Body = Callable[[], Coroutine[Any, Any, bytes]]

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def answer_of(*bodies: Body) -> list[Any]:
    """What each handler answered; all of them are asked in one block."""
    routes = Routes()
    for n, body in enumerate(bodies):
        routes.requests[f"m{n}"] = lambda _, body=body: body()  # type: ignore[misc]
    async with linked(routes) as (_, peer):
        peer.send(*(request(n, f"m{n}") for n in range(len(bodies))))
        answers = {frame["id"]: frame for frame in [await peer.next() for _ in bodies]}
    return [answers[n].get("result", answers[n].get("error")) for n in range(len(bodies))]


async def test_a_handler_is_in_one_task_from_its_first_step_to_its_last() -> None:
    async def body() -> bytes:
        first = asyncio.current_task()
        await asyncio.sleep(0)
        assert asyncio.current_task() is first
        return b"true" if first is not None else b"false"

    assert await answer_of(body, body, body) == [True, True, True]


async def test_two_handlers_that_wait_are_in_two_tasks() -> None:
    tasks: list[object] = []

    async def body() -> bytes:
        tasks.append(asyncio.current_task())
        await asyncio.sleep(0)
        return b"1"

    await answer_of(body, body)
    assert len(set(tasks)) == 2


async def test_the_reader_is_in_its_own_task_after_a_handler_stepped() -> None:
    # Feeding happens in a callback here, and in a task elsewhere; neither may be taken for the handler's.
    async def body() -> bytes:
        return b"1"

    routes = Routes()
    routes.requests["m"] = lambda _: body()
    async with linked(routes) as (link, peer):
        here = asyncio.current_task()
        link.feed(b'{"jsonrpc":"2.0","id":1,"method":"m"}\n')
        assert asyncio.current_task() is here
        await peer.answer_to(1)


async def test_a_timeout_that_begins_in_the_first_step_works() -> None:
    async def body() -> bytes:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return b'"timed out"'
        return b"1"

    assert await answer_of(body, body) == ["timed out", "timed out"]


async def test_a_timeout_of_zero_in_the_first_step_works() -> None:
    async def body() -> bytes:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return b'"timed out"'
        return b"1"

    assert await answer_of(body, body) == ["timed out", "timed out"]


async def test_a_task_group_that_begins_in_the_first_step_works() -> None:
    async def part(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def body() -> bytes:
        async with asyncio.TaskGroup() as group:
            parts = [group.create_task(part(n)) for n in range(3)]
        return b"%d" % sum(task.result() for task in parts)

    assert await answer_of(body, body) == [3, 3]


async def test_a_task_group_whose_child_fails_ends_its_handler() -> None:
    async def fail() -> None:
        raise ValueError

    async def body() -> bytes:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                await asyncio.Event().wait()
        except ExceptionGroup as failed:
            return b'"%d failed"' % len(failed.exceptions)
        return b"1"

    assert await answer_of(body, body) == ["1 failed", "1 failed"]


async def test_a_handler_that_cancels_itself_in_its_first_step_is_cancelled() -> None:
    async def body() -> bytes:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return b'"cancelled"'
        return b"1"

    assert await answer_of(body) == ["cancelled"]


@pytest.mark.parametrize("waits", [True, False])
async def test_a_context_variable_that_one_handler_sets_is_not_seen_by_the_next(waits: bool) -> None:
    async def body() -> bytes:
        seen = WHO.get()
        WHO.set("me")
        if waits:
            await asyncio.sleep(0)
        return f'["{seen}","{WHO.get()}"]'.encode()

    assert await answer_of(body, body, body) == [["nobody", "me"]] * 3


async def test_a_context_variable_can_be_reset_after_a_wait() -> None:
    async def body() -> bytes:
        token = WHO.set("me")
        await asyncio.sleep(0)
        WHO.reset(token)
        return f'"{WHO.get()}"'.encode()

    assert await answer_of(body, body) == ["nobody", "nobody"]


async def test_a_variable_that_is_already_set_can_be_changed_by_one_handler_alone() -> None:
    # The number of variables does not change, only a value does.
    WHO.set("everybody")

    async def body() -> bytes:
        seen = WHO.get()
        WHO.set("me")
        return f'"{seen}"'.encode()

    assert await answer_of(body, body, body) == ["everybody"] * 3


async def test_cancelling_a_handler_right_after_its_first_step_reaches_it() -> None:
    heard: list[str] = []

    async def body() -> bytes:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            return b'"cancelled"'
        return b"1"

    routes = Routes()
    routes.requests["m"] = lambda _: body()
    async with linked(routes) as (_, peer):
        for n in range(3):
            peer.send(request(n, "m"), cancel_request(n))
            assert await peer.answer_to(n) == result(n, "cancelled")
    assert heard == ["cancelled"] * 3
