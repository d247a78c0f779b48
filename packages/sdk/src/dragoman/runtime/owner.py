"""Owns tasks: a task that was started here ends with its owner, never later.

A `TaskGroup` would do the same inside one `async with`; a conversation starts tasks from callbacks of the
event loop, which have no such block around them.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class TaskOwner:
    """A set of tasks that end together."""

    __slots__ = ("_loop", "_name", "_tasks")

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[asyncio.Task[Any], None] = {}  # an empty dict takes a third of an empty set

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self, work: Coroutine[object, None, T], *, context: contextvars.Context | None = None
    ) -> asyncio.Task[T]:
        task = self._loop.create_task(work, name=self._name, context=context)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    async def finish(self, seconds: float) -> None:
        """Let the tasks end by themselves for a while."""
        tasks = self._other_tasks()
        if tasks and seconds > 0:
            await asyncio.wait(tasks, timeout=seconds)

    async def aclose(self, *, patience: float = 5.0) -> None:
        """Cancel the remaining tasks and wait for them. A task that ignores its cancellation is logged and
        given up.
        """
        tasks = self._other_tasks()
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        _, stubborn = await asyncio.wait(tasks, timeout=patience)
        for task in stubborn:
            task.cancel()
            log.error(
                "%s: a handler did not end within %g s of its cancellation: %s", self._name, patience, task
            )

    def _other_tasks(self) -> set[asyncio.Task[None]]:
        # Closing from inside one of our own handlers is legal: it cannot wait for itself.
        return {task for task in self._tasks if task is not asyncio.current_task()}


async def run_to_end(work: Coroutine[object, None, T]) -> T:
    """Run a coroutine to its end and return the result; a cancellation in the meantime takes effect
    afterwards.
    """
    task = asyncio.get_running_loop().create_task(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is not None:
        if not task.cancelled():
            task.exception()  # looked at, lest the loop complain; who was cancelled wants no other news
        raise cancellation
    return task.result()
