"""A call, as the thread that made it waits for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Raw

from dragoman.blocking.signals import ThreadSignal
from dragoman.wire import ErrorObject

if TYPE_CHECKING:
    from dragoman.blocking.worker import Worker

Outcome: TypeAlias = Raw | ErrorObject | BaseException


class ThreadPendingCall(ThreadSignal):
    """The state that a link keeps for a call, with the methods that the SDK needs of a pending call."""

    __slots__ = (
        "_callbacks",
        "deadline",
        "expires",
        "is_answered",
        "is_patient",
        "lane",
        "outcome",
        "silence",
        "worker",
    )

    def __init__(
        self,
        deadline: float | None,
        silence: float | None,
        lane: Hashable | None,
        worker: Worker | None,
        *,
        is_patient: bool = False,
    ) -> None:
        self.is_reached = False  # written out: one of these is made for every call
        self.gate = None
        self.deadline = deadline
        self.silence = silence
        self.lane = lane
        self.worker = worker
        self.is_patient = is_patient
        self.expires = inf  # until it is watched
        self.is_answered = False
        self.outcome: Outcome | None = None
        self._callbacks: list[Callable[[object], None]] | None = None

    def settle(self, outcome: Outcome) -> bool:
        """The first outcome counts; False when there was one."""
        if self.outcome is not None:
            return False
        self.outcome = outcome
        self.is_reached = True  # in this order, as in `set`
        if self.gate is not None:
            self.gate.open()
        if self._callbacks is not None:
            for callback in self._callbacks:
                callback(self)
        return True

    def add_done_callback(self, callback: Callable[[object], None]) -> None:
        if self.outcome is not None:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def done(self) -> bool:
        return self.is_reached

    def result(self) -> Outcome:
        assert self.outcome is not None
        return self.outcome
