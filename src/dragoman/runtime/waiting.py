"""A call, as the coroutine that made it waits for it.

To a task it is a future: it has what asyncio asks of a future of another make, and awaiting it waits until
the call is settled. It is not asyncio's own, because a thousand open calls are a thousand of them, and each
would cost an object more, and a handle and a turn of the loop when its answer comes. The answers of one block
wake their waiters together (`wake_all`).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Generator, Hashable, Iterator
from typing import Any, TypeAlias

from msgspec import Raw, Struct

from dragoman.errors import DragomanError
from dragoman.wire import ErrorObject

Outcome: TypeAlias = Raw | ErrorObject | DragomanError
"""What a call comes to. Errors are values here, so that one that nobody asks for bothers nobody."""

_Callback: TypeAlias = Callable[[Any], object]
_Wanted: TypeAlias = tuple[_Callback, contextvars.Context]


class Waiting(Struct, eq=False):
    """The caller's side of a call."""

    _loop: asyncio.AbstractEventLoop  # by this name asyncio finds it
    deadline: float | None
    silence: float | None
    lane: Hashable | None
    expires: float = 0.0
    """When the deadline is over; zero while nobody has looked yet."""
    answered: bool = False
    """The answer has arrived, though it may still wait its turn."""
    outcome: Outcome | asyncio.CancelledError | None = None
    _asyncio_future_blocking: bool = False  # how a task knows that it is to wait for this
    _callback: _Callback | None = None
    _context: contextvars.Context | None = None
    _others: list[_Wanted] | None = None  # hardly ever more than the one

    def settle(self, outcome: Outcome) -> None:
        """The first outcome counts."""
        if self.outcome is None:
            self._end(outcome)

    def done(self) -> bool:
        return self.outcome is not None

    def result(self) -> Outcome:
        """What it came to. A task that waits asks for this to hear whether it was cancelled."""
        outcome = self.outcome
        if isinstance(outcome, asyncio.CancelledError):
            raise outcome
        assert outcome is not None
        return outcome

    def __await__(self) -> Generator[Any, None, None]:
        """Waits, and comes to nothing: whoever waited takes the `outcome`."""
        if self.outcome is not None:
            return iter(())  # type: ignore[return-value]
        self._asyncio_future_blocking = True
        # Any iterator will do, and this one has no frame. What a task throws is raised where it was awaited.
        return iter((self,))  # type: ignore[return-value]

    def cancel(self, msg: object = None) -> bool:
        """The task that waits for this is cancelled."""
        if self.outcome is not None:
            return False
        self._end(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True

    def add_done_callback(self, callback: _Callback, *, context: contextvars.Context | None = None) -> None:
        context = contextvars.copy_context() if context is None else context
        if self.outcome is not None:
            self._loop.call_soon(callback, self, context=context)
        elif self._callback is None:
            self._callback, self._context = callback, context
        else:
            self._others = [*(self._others or ()), (callback, context)]

    def remove_done_callback(self, callback: _Callback) -> int:
        known = self._take_callbacks()
        kept = [pair for pair in known if pair[0] != callback]
        if kept:
            (self._callback, self._context), *self._others = kept
        return len(known) - len(kept)

    def _end(self, outcome: Outcome | asyncio.CancelledError) -> None:
        self.outcome = outcome
        self._call_soon(self._take_callbacks())

    def _call_soon(self, callbacks: list[_Wanted]) -> None:
        for callback, context in callbacks:
            self._loop.call_soon(callback, self, context=context)

    def _take_callbacks(self) -> list[_Wanted]:
        callback, context = self._callback, self._context
        self._callback = self._context = None
        first = [] if callback is None or context is None else [(callback, context)]
        return first + self._take_others()

    def _take_others(self) -> list[_Wanted]:
        others, self._others = self._others, None
        return others or []


def wake_all(settled: Iterator[Waiting]) -> None:
    """Tell those who wait for calls that have their outcomes, in one step of the loop, which is nobody
    else's.
    """
    try:
        for waiting in settled:
            callback, context = waiting._callback, waiting._context
            waiting._callback = waiting._context = None
            if waiting._others is not None:
                waiting._call_soon(waiting._take_callbacks())
            if callback is not None and context is not None:
                context.run(callback, waiting)
    except BaseException:
        # That is for the loop to report, or to end with; the others are told all the same.
        asyncio.get_running_loop().call_soon(wake_all, settled)
        raise
