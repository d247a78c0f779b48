"""Private parts of asyncio, and the public way that is taken without them: both lead to the same."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from dataclasses import dataclass

import pytest

from dragoman.runtime import private
from dragoman.runtime.owner import TaskOwner
from dragoman.runtime.request_tasks import Stepper, SuspendedWork

seen: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="")


class PublicFuture(asyncio.Future[None]):
    """A future of a Python that does not show its callbacks."""

    def __getattribute__(self, name: str) -> object:
        if name == "_callbacks":
            raise AttributeError(name)
        return super().__getattribute__(name)


@dataclass
class Call:
    future: asyncio.Future[None]


FUTURES = [asyncio.Future, PublicFuture]


@pytest.mark.parametrize("kind", FUTURES)
async def test_callers_are_woken_in_order_and_in_their_own_context(kind: type[asyncio.Future[None]]) -> None:
    woken: list[str] = []

    async def wait(name: str, future: asyncio.Future[None]) -> None:
        seen.set(name)
        await future
        woken.append(seen.get())

    calls = [Call(kind()) for _ in range(3)]
    tasks = [asyncio.create_task(wait(str(n), call.future)) for n, call in enumerate(calls)]
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(private.wake_all, deque(calls))
    await asyncio.gather(*tasks)
    assert woken == ["0", "1", "2"]


@pytest.mark.parametrize("kind", FUTURES)
async def test_a_caller_that_was_cancelled_does_not_stop_the_others(kind: type[asyncio.Future[None]]) -> None:
    async def wait(future: asyncio.Future[None]) -> str:
        await future
        return "woken"

    calls = [Call(kind()) for _ in range(2)]
    tasks = [asyncio.create_task(wait(call.future)) for call in calls]
    await asyncio.sleep(0)
    tasks[0].cancel()
    asyncio.get_running_loop().call_soon(private.wake_all, deque(calls))
    assert await tasks[1] == "woken"
    assert tasks[0].cancelled()


@pytest.fixture(params=["private", "public"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "public":
        monkeypatch.setattr(private, "enter_task", None)
        monkeypatch.setattr(private, "leave_task", None)
    return str(request.param)


async def test_a_handler_runs_to_its_end_whoever_takes_its_first_step(way: str) -> None:
    owner = TaskOwner("test")
    results: list[str] = []

    async def carry_on(rest: SuspendedWork[str]) -> None:
        results.append(await rest)

    async def handle(waits: bool) -> str:
        task = asyncio.current_task()
        if waits:
            await asyncio.sleep(0)
        assert asyncio.current_task() is task  # a timeout that began before the wait ends the same task
        return "answered"

    stepper = Stepper(owner, carry_on)
    for waits in (False, True):
        stepped = stepper.step(handle(waits), asyncio.current_task())
        if isinstance(stepped, str):
            results.append(stepped)
        else:
            await stepped[1]
    assert results == ["answered", "answered"]
    stepper.dismiss()
    await owner.aclose()


async def test_a_handler_that_is_cancelled_at_once_hears_of_it(way: str) -> None:
    owner = TaskOwner("test")
    ended: list[str] = []

    async def carry_on(rest: SuspendedWork[str]) -> None:
        try:
            await rest
        except asyncio.CancelledError:
            ended.append("cancelled")

    async def handle() -> str:
        await asyncio.Event().wait()
        return "never"

    stepper = Stepper(owner, carry_on)
    stepped = stepper.step(handle(), asyncio.current_task())
    assert not isinstance(stepped, str)
    stepped[1].cancel()
    await asyncio.wait([stepped[1]])
    assert ended == ["cancelled"]
    await owner.aclose()
