"""Tasks that wait for calls are woken as the loop would, one by one or all together."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from typing import Any

import pytest
from msgspec import Raw

from dragoman.errors import LinkClosed
from dragoman.runtime.pending_call import PendingCall
from dragoman.runtime.private import wake_all

ANSWER = Raw(b"1")

told: contextvars.ContextVar[str] = contextvars.ContextVar("told", default="")


def waiting() -> PendingCall:
    return PendingCall(asyncio.get_running_loop().create_future(), None, None, None)


async def wait_for(one: PendingCall) -> Any:
    await one.future
    return one.result()


async def begun(one: PendingCall) -> asyncio.Task[Any]:
    task = asyncio.create_task(wait_for(one))
    await asyncio.sleep(0)
    return task


async def test_a_task_waits_until_it_is_settled_and_the_first_outcome_counts() -> None:
    one = waiting()
    task = await begun(one)
    assert not task.done()
    assert not one.done()
    one.settle(ANSWER)
    one.settle(LinkClosed("late"))
    assert await task is ANSWER


async def test_what_is_settled_is_not_waited_for() -> None:
    one = waiting()
    one.settle(ANSWER)
    with pytest.raises(StopIteration):
        wait_for(one).send(None)


async def test_several_tasks_may_wait_for_the_same() -> None:
    one = waiting()
    tasks = [await begun(one) for _ in range(3)]
    one.settle(ANSWER)
    assert await asyncio.gather(*tasks) == [ANSWER] * 3


async def test_who_waits_may_be_cancelled_and_what_comes_later_is_kept() -> None:
    one = waiting()
    task = await begun(one)
    task.cancel("enough")
    with pytest.raises(asyncio.CancelledError, match="enough"):
        await task
    assert not one.done()
    one.settle(ANSWER)
    assert one.result() is ANSWER


async def test_who_is_cancelled_before_it_is_woken_is_cancelled() -> None:
    ones = [waiting() for _ in range(2)]
    first, last = [await begun(one) for one in ones]
    for one in ones:
        one.outcome = ANSWER
    asyncio.get_running_loop().call_soon(wake_all, deque(ones))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await last is ANSWER


async def test_a_cancel_that_comes_after_the_answer_is_still_heard() -> None:
    one = waiting()
    task = await begun(one)
    one.settle(ANSWER)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert one.result() is ANSWER


async def test_who_waits_beside_others_may_leave_and_leave_it_open() -> None:
    one = waiting()
    task = await begun(one)
    looking = asyncio.create_task(asyncio.wait((one.future,)))
    await asyncio.sleep(0)
    looking.cancel()
    await asyncio.wait((looking,))
    assert not one.done()
    one.settle(ANSWER)
    assert await task is ANSWER


async def test_many_are_woken_in_one_step_each_in_its_own_context_and_name() -> None:
    ones = [waiting() for _ in range(5)]
    seen: list[tuple[str, str]] = []

    async def one_of_many(number: int) -> None:
        told.set(f"mine {number}")
        await ones[number].future
        seen.append((told.get(), getattr(asyncio.current_task(), "get_name", str)()))

    tasks = [asyncio.create_task(one_of_many(n), name=f"task {n}") for n in range(5)]
    await asyncio.sleep(0)
    for one in ones:
        one.outcome = ANSWER
    asyncio.get_running_loop().call_soon(wake_all, deque(ones))
    await asyncio.gather(*tasks)
    assert seen == [(f"mine {n}", f"task {n}") for n in range(5)]


async def test_whoever_fails_to_be_woken_keeps_nobody_else_asleep() -> None:
    ones, reported = [waiting() for _ in range(3)], []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, about: reported.append(about["exception"]))

    def fail(_: object) -> None:
        raise ValueError("mine")

    first, last = await begun(ones[0]), await begun(ones[2])
    ones[1].add_done_callback(fail)
    for one in ones:
        one.outcome = ANSWER
    loop.call_soon(wake_all, deque(ones))
    assert [await first, await last] == [ANSWER] * 2
    assert [str(error) for error in reported] == ["mine"]


async def test_all_who_wait_for_one_of_many_are_woken() -> None:
    one = waiting()
    tasks = [await begun(one) for _ in range(3)]
    one.outcome = ANSWER
    asyncio.get_running_loop().call_soon(wake_all, deque((one,)))
    assert await asyncio.gather(*tasks) == [ANSWER] * 3
