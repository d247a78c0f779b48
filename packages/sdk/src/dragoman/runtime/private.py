"""All private parts of asyncio that we use, each with the public alternative that works without it.

- `Future._callbacks` (CPython 3.11 to 3.14): `wake_all` runs the only waiter of a future at once. Without it
  `set_result` alone is called, and the loop wakes each waiter with a handle of its own.
- `asyncio.tasks._enter_task` and `_leave_task` (CPython 3.11 to 3.14; the page "Extending asyncio" describes
  them): `stepper` takes the first step of a handler in the name of a task that waits for it. Without them
  that task takes the first step itself.

Both ways have the same results; the public one costs more.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

SwitchTask: TypeAlias = "Callable[[asyncio.AbstractEventLoop, asyncio.Task[object]], None]"

enter_task: SwitchTask | None = getattr(asyncio.tasks, "_enter_task", None)
"""Makes a task the current task of its loop; None if this Python has no such function."""

leave_task: SwitchTask | None = getattr(asyncio.tasks, "_leave_task", None)
"""Undoes `enter_task`."""


class HasFuture(Protocol):
    """A call with an outcome, whose caller still waits for the future."""

    @property
    def future(self) -> asyncio.Future[None]: ...


H = TypeVar("H", bound=HasFuture)


def wake_all(calls: deque[H]) -> None:
    """Wake the callers of answered calls, together in a later step of the loop.

    A thousand open calls are a thousand waiting tasks, and to wake each through the loop costs a handle and a
    turn of its queue. So each future is relieved of its only callback, which is its task's, and that is run
    as the loop would have run it.
    """
    try:
        while calls:
            future = calls.popleft().future  # let go of at once: who is woken makes the next
            callbacks = getattr(future, "_callbacks", None)
            if callbacks and len(callbacks) == 1:
                callback, context = callbacks[0]
                future.remove_done_callback(callback)
                future.set_result(None)
                context.run(callback, future)
            elif not future.done():
                future.set_result(None)
    except BaseException:
        # That is for the loop to report, or to end with; the others are woken all the same.
        asyncio.get_running_loop().call_soon(wake_all, calls)
        raise
