"""A call that waits for its answer, as the calling coroutine sees it.

The answers of one block wake their callers together, see `private.wake_all`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw, Struct

from dragoman.errors import DragomanError
from dragoman.wire import ErrorObject

if TYPE_CHECKING:
    import asyncio

Outcome: TypeAlias = Raw | ErrorObject | DragomanError
"""What a call comes to. Errors are values here, so that one that nobody asks for bothers nobody."""


class PendingCall(Struct, eq=False):
    """The caller's side of a call. Whoever waits awaits the `future`, which comes to nothing, and then takes
    the `outcome`.
    """

    future: asyncio.Future[None]
    deadline: float | None
    silence: float | None
    lane: Hashable | None
    expires: float = 0.0
    """When the deadline is over; zero while nobody has looked yet."""
    is_answered: bool = False
    """The answer has arrived, though it may still wait its turn."""
    outcome: Outcome | None = None
    is_patient: bool = False
    """The deadline does not pass while the peer waits for a person at our side."""

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
