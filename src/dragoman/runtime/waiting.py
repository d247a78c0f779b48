"""A call, as the coroutine that made it waits for it.

A thousand open calls are a thousand waiting tasks, and to wake each through the loop costs a handle and a
turn of its queue. The answers of one block wake their waiters together (`wake_all`): each future is relieved
of its only callback, which is its task's, and that is run as the loop would have run it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from msgspec import Raw, Struct

from dragoman.errors import DragomanError
from dragoman.wire import ErrorObject

Outcome: TypeAlias = Raw | ErrorObject | DragomanError
"""What a call comes to. Errors are values here, so that one that nobody asks for bothers nobody."""


class Waiting(Struct, eq=False):
    """The caller's side of a call. Whoever waits awaits the `future`, which comes to nothing, and then takes
    the `outcome`.
    """

    future: asyncio.Future[None]
    deadline: float | None
    silence: float | None
    lane: Hashable | None
    expires: float = 0.0
    """When the deadline is over; zero while nobody has looked yet."""
    answered: bool = False
    """The answer has arrived, though it may still wait its turn."""
    outcome: Outcome | None = None

    def settle(self, outcome: Outcome) -> None:
        """The first outcome counts."""
        if self.outcome is None:
            self.outcome = outcome
            if not self.future.done():  # whoever waited may have been cancelled
                self.future.set_result(None)

    def done(self) -> bool:
        return self.outcome is not None

    def result(self) -> Outcome:
        assert self.outcome is not None
        return self.outcome

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        self.future.add_done_callback(callback)


def wake_all(settled: deque[Waiting]) -> None:
    """Tell those who wait for calls that have their outcomes, in one step of the loop, which is nobody
    else's.
    """
    try:
        while settled:
            future = settled.popleft().future  # let go of at once: who is woken makes the next
            callbacks = future._callbacks
            if callbacks and len(callbacks) == 1:
                callback, context = callbacks[0]
                future.remove_done_callback(callback)
                future.set_result(None)
                context.run(callback, future)
            elif not future.done():
                future.set_result(None)
    except BaseException:
        # That is for the loop to report, or to end with; the others are told all the same.
        asyncio.get_running_loop().call_soon(wake_all, settled)
        raise
