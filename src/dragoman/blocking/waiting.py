"""A call, as the thread that made it waits for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Raw

from dragoman.blocking.signals import Signal
from dragoman.wire import ErrorObject

if TYPE_CHECKING:
    from dragoman.blocking.worker import Worker

Outcome: TypeAlias = Raw | ErrorObject | BaseException


class Waiting(Signal):
    """What a link keeps with a call. It answers to what the SDK does with a call's `future`."""

    __slots__ = ("_callbacks", "_outcome", "answered", "deadline", "expires", "lane", "silence", "worker")

    def __init__(
        self,
        deadline: float | None,
        silence: float | None,
        lane: Hashable | None,
        worker: Worker | None,
    ) -> None:
        self.reached = False  # written out: one of these is made for every call
        self.gate = None
        self.deadline = deadline
        self.silence = silence
        self.lane = lane
        self.worker = worker
        self.expires = 0.0
        self.answered = False
        self._outcome: Outcome | None = None
        self._callbacks: list[Callable[[object], None]] | None = None

    @property
    def future(self) -> Waiting:
        return self

    def settle(self, outcome: Outcome) -> None:
        """The first outcome counts."""
        if self._outcome is None:
            self._outcome = outcome
            self.set()
            for callback in self._callbacks or ():
                callback(self)

    def add_done_callback(self, callback: Callable[[object], None]) -> None:
        if self._outcome is not None:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def done(self) -> bool:
        return self.reached

    def result(self) -> Outcome:
        assert self._outcome is not None
        return self._outcome
