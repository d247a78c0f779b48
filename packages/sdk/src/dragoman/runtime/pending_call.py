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
"""The outcome of a call. Errors are values here, so that an error without a reader causes no warning."""


class PendingCall(Struct, eq=False):
    """The caller's side of a call. Await `future`, which has no value, then read `outcome`."""

    future: asyncio.Future[None]
    deadline: float | None
    silence: float | None
    lane: Hashable | None
    expires: float = 0.0
    """The end of the deadline; zero until the first check."""
    is_answered: bool = False
    """Whether the answer has arrived, even if earlier messages must be handled first."""
    outcome: Outcome | None = None
    is_patient: bool = False
    """Whether the deadline is paused while the peer waits for a person here."""

    def settle(self, outcome: Outcome) -> None:
        """Set the outcome; only the first one counts."""
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
