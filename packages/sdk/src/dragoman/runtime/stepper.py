"""Runs handlers without a task for each.

Most handlers finish without ever waiting, and a task costs more than they do. So a handler's coroutine
takes its first step on the spot, in the name and context of a task that is kept ready for it. Only if it
really suspends does that task carry it on, so that timeouts, cancellation and context variables work in it
as in any other task; the next handler gets a fresh one.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from dragoman.runtime import private
from dragoman.runtime.owner import TaskOwner

T = TypeVar("T")


class SuspendedWork(Generic[T]):
    """Awaiting this continues a coroutine that has been stepped once and yielded `waiting_for`."""

    __slots__ = ("_cancellation", "_waiting_for", "_work")

    def __init__(self, work: Coroutine[object, None, T], waiting_for: object) -> None:
        self._work = work
        self._waiting_for = waiting_for
        self._cancellation: BaseException | None = None

    def cancelled_early(self, error: asyncio.CancelledError) -> None:
        """Note a cancellation before the first await; the coroutine receives it first."""
        self._cancellation = error

    def __await__(self) -> Generator[Any, Any, T]:
        work, waiting_for, cancellation = self._work, self._waiting_for, self._cancellation
        try:
            if cancellation is not None:
                waiting_for = work.throw(cancellation)
            while True:
                try:
                    value = yield waiting_for
                except BaseException as error:  # noqa: BLE001  # handed on into the coroutine
                    waiting_for = work.throw(error)
                else:
                    waiting_for = work.send(value)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


class _Ready(Coroutine[Any, Any, None]):
    """A task that waits for something to carry on, and the coroutine that this task runs.

    It is no `async def`: one that is cancelled before its first step never runs at all, and what has been
    handed to it by then would be lost, `finally` and all.
    """

    __slots__ = ("_began", "_waits", "context", "pristine", "rest", "rest_future", "task")

    def __init__(
        self, owner: TaskOwner, carry_on: Callable[[SuspendedWork[T]], Coroutine[object, None, None]]
    ) -> None:
        self.context = contextvars.copy_context()
        self.pristine = self.context.copy()
        self.rest_future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.rest: SuspendedWork[Any] | None = None
        self._began = False
        self._waits = self._wait(carry_on)
        self.task = owner.start(self, context=self.context)

    def send(self, value: object) -> Any:
        self._began = True
        return self._waits.send(value)

    def throw(self, *error: Any) -> Any:
        if self._began or self.rest is None:
            return self._waits.throw(*error)
        self.rest.cancelled_early(error[0])
        return self.send(None)

    def close(self) -> None:
        self._waits.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._waits.__await__()

    async def _wait(self, carry_on: Callable[[SuspendedWork[Any]], Coroutine[object, None, None]]) -> None:
        try:
            await self.rest_future
        except asyncio.CancelledError as error:
            if self.rest is None:
                raise
            self.rest.cancelled_early(error)
        assert self.rest is not None
        await carry_on(self.rest)


class Stepper:
    """Keeps one task ready. `carry_on` is run by a task for a coroutine that has suspended."""

    __slots__ = ("_carry_on", "_loop", "_owner", "_ready")

    def __init__(
        self, owner: TaskOwner, carry_on: Callable[[SuspendedWork[Any]], Coroutine[object, None, None]]
    ) -> None:
        self._owner = owner
        self._carry_on = carry_on
        self._loop = asyncio.get_running_loop()
        self._ready: _Ready | None = None

    def step(
        self, work: Coroutine[object, None, T], outer: asyncio.Task[object] | None
    ) -> tuple[SuspendedWork[T], asyncio.Task[None]] | T:
        """Run a coroutine's first step. Returns the result, or the rest for the task that continues it.
        `outer` is the current task, which a caller of many steps looks up once.
        """
        ready = self._ready
        # A handler that set a context variable and left it set must not pass it on to the next one.
        if ready is None or ready.context != ready.pristine:
            self.dismiss()
            ready = self._ready = _Ready(self._owner, self._carry_on)
        waiting_for: Any = None  # what a bare `yield` gives: then the task takes the first step itself
        enter, leave = private.enter_task, private.leave_task
        if enter is not None and leave is not None:
            loop = self._loop
            if outer is not None:
                leave(loop, outer)
            enter(loop, ready.task)
            try:
                waiting_for = ready.context.run(work.send, None)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            finally:
                leave(loop, ready.task)
                if outer is not None:
                    enter(loop, outer)
        self._ready = None
        ready.rest = SuspendedWork(work, waiting_for)
        ready.rest_future.set_result(None)
        return ready.rest, ready.task

    def dismiss(self) -> None:
        """Let the task go that waits for nothing."""
        if self._ready is not None:
            self._ready.task.cancel()
            self._ready = None
