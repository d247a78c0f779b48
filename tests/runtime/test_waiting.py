"""What waits for a call is a future to asyncio, though not asyncio's own."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest
from msgspec import Raw

from dragoman.errors import LinkClosed
from dragoman.runtime.waiting import Waiting, wake_all

ANSWER = Raw(b"1")

told: contextvars.ContextVar[str] = contextvars.ContextVar("told", default="")


def waiting() -> Waiting:
    return Waiting(asyncio.get_running_loop(), None, None, None)


async def wait_for(one: Waiting) -> Any:
    await one
    return one.result()


async def begun(one: Waiting) -> asyncio.Task[Any]:
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


async def test_a_cancelled_task_leaves_it_cancelled_with_its_message() -> None:
    one = waiting()
    task = await begun(one)
    task.cancel("enough")
    with pytest.raises(asyncio.CancelledError, match="enough"):
        await task
    assert one.done()
    with pytest.raises(asyncio.CancelledError):
        one.result()


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
    looking = asyncio.create_task(asyncio.wait((one,)))  # type: ignore[type-var]
    await asyncio.sleep(0)
    looking.cancel()
    await asyncio.wait((looking,))
    assert not one.done()
    one.settle(ANSWER)
    assert await task is ANSWER


async def test_callbacks_run_in_their_order_and_context_and_not_after_they_were_removed() -> None:
    one, heard = waiting(), []
    contexts = [contextvars.copy_context() for _ in range(4)]
    callbacks = [lambda _, n=n: heard.append((n, told.get())) for n in range(4)]
    for n, (callback, context) in enumerate(zip(callbacks, contexts, strict=True)):
        context.run(told.set, f"context {n}")
        one.add_done_callback(callback, context=context)
    assert one.remove_done_callback(callbacks[0]) == 1
    assert one.remove_done_callback(callbacks[2]) == 1
    assert one.remove_done_callback(callbacks[2]) == 0
    one.settle(ANSWER)
    one.add_done_callback(callbacks[0])
    assert heard == []  # never from inside whoever settles it
    await asyncio.sleep(0)
    assert heard == [(1, "context 1"), (3, "context 3"), (0, "")]


async def test_many_are_woken_in_one_step_each_in_its_own_context_and_name() -> None:
    ones = [waiting() for _ in range(5)]
    seen: list[tuple[str, str]] = []

    async def one_of_many(number: int) -> None:
        told.set(f"mine {number}")
        await ones[number]
        seen.append((told.get(), getattr(asyncio.current_task(), "get_name", str)()))

    tasks = [asyncio.create_task(one_of_many(n), name=f"task {n}") for n in range(5)]
    await asyncio.sleep(0)
    for one in ones:
        one.outcome = ANSWER
    asyncio.get_running_loop().call_soon(wake_all, iter(ones))
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
    loop.call_soon(wake_all, iter(ones))
    assert [await first, await last] == [ANSWER] * 2
    assert [str(error) for error in reported] == ["mine"]


async def test_all_who_wait_for_one_of_many_are_woken() -> None:
    one = waiting()
    tasks = [await begun(one) for _ in range(3)]
    one.outcome = ANSWER
    asyncio.get_running_loop().call_soon(wake_all, iter((one,)))
    assert await asyncio.gather(*tasks) == [ANSWER] * 3
