"""How long a call may wait for its answer.

One timer watches all calls of a link instead of one timer a call: a deadline is a bound, not a stopwatch,
and arming a timer costs more than many calls do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.core import Connection, OutgoingCall
from dragoman.errors import CallTimeout, DragomanError, SilenceTimeout
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.runtime.pending_call import PendingCall

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = DeferredModule("asyncio")

SHORTEST_LOOK = 0.005
LONGEST_LOOK = 0.25
LONG = 40  # looks; a deadline that long is not missed for one of them


class WatchedLink(Protocol):
    """The parts of a link that deadlines use."""

    connection: Connection[PendingCall]
    last_heard_at: float
    """When the last block arrived, by the loop's clock."""

    asks_person: Callable[[str], bool]
    """Whether a request of the peer with this method asks a person here."""

    @property
    def on_hold(self) -> bool: ...
    def give_up(self, call: OutgoingCall[PendingCall], why: DragomanError) -> None: ...


class AskedLink(Protocol):
    """A link whose peer may ask a person here."""

    connection: Connection[Any]
    asks_person: Callable[[str], bool]


def is_person_asked(link: AskedLink) -> bool:
    """Whether the peer waits for a person here: until the answer it can't continue, so it is not late."""
    return any(link.asks_person(request.method) for request in link.connection.incoming_requests.values())


class CallDeadlines:
    """Checks from time to time whether a call of the link is overdue."""

    __slots__ = ("_answers_in_queue", "_link", "_look", "_loop", "_timer", "long")

    def __init__(self, link: WatchedLink) -> None:
        self._link = link
        self._answers_in_queue: dict[
            PendingCall, str
        ] = {}  # answers that wait behind handlers, which may hang
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._look = LONGEST_LOOK
        self.long = math.inf
        """A deadline of so many seconds may begin with the next look, if that is all there is to watch."""

    def watch(self, waiting: PendingCall) -> None:
        """Watch a call's deadline. A call without its own deadline is watched too, if its deadline is above
        `long`.
        """
        now = self._loop.time()
        if waiting.silence is not None:
            self._link.last_heard_at = now  # the clock of silence starts when the turn does
        if waiting.deadline is not None:
            waiting.expires = now + waiting.deadline
        shortest = waiting.deadline or waiting.silence or LONGEST_LOOK
        if waiting.silence is not None and waiting.silence < shortest:
            shortest = waiting.silence
        if self._timer is not None and shortest >= 4 * self._look:
            return  # somebody looks often enough already
        look = max(SHORTEST_LOOK, min(LONGEST_LOOK, shortest / 4))
        if self._timer is not None and look < self._look:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._look = look
            self.long = look * LONG
            self._timer = self._loop.call_later(look, self._sweep)

    def on_answer(self, waiting: PendingCall, method: str) -> None:
        """Note that the answer is here but must wait for earlier messages: the deadline still applies."""
        if waiting.deadline is not None:
            self._answers_in_queue[waiting] = method

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.long = math.inf

    def _sweep(self) -> None:
        self._timer = None
        now = self._loop.time()
        connection = self._link.connection
        if connection.incoming_requests or self._link.on_hold:
            # While the peer waits for us, or we do not listen, it is not the peer who is silent.
            self._link.last_heard_at = now
        is_asked = is_person_asked(self._link)
        has_more_to_watch = self._sweep_answered(now) if self._answers_in_queue else False
        for call in list(connection.calls.values()):
            waiting = call.context
            if is_asked and waiting.is_patient and waiting.deadline is not None:
                waiting.expires = now + waiting.deadline
            overdue = self._overdue(waiting, call.method, now)
            if overdue is not None:
                self._link.give_up(call, overdue)
            elif waiting.deadline is not None or waiting.silence is not None:
                has_more_to_watch = True
        if has_more_to_watch:
            self._timer = self._loop.call_later(self._look, self._sweep)
        else:
            self._look = LONGEST_LOOK
            self.long = math.inf

    def _sweep_answered(self, now: float) -> bool:
        for waiting, method in list(self._answers_in_queue.items()):
            if waiting.deadline is not None and now >= self._expiry(waiting, waiting.deadline, now):
                waiting.settle(CallTimeout(method, waiting.deadline))
            if waiting.done():
                del self._answers_in_queue[waiting]
        return bool(self._answers_in_queue)

    def _overdue(self, waiting: PendingCall, method: str, now: float) -> DragomanError | None:
        if waiting.deadline is not None and now >= self._expiry(waiting, waiting.deadline, now):
            return CallTimeout(method, waiting.deadline)
        if waiting.silence is not None and now >= self._link.last_heard_at + waiting.silence:
            return SilenceTimeout(f"the peer's silence during {method}", waiting.silence)
        return None

    @staticmethod
    def _expiry(waiting: PendingCall, deadline: float, now: float) -> float:
        if waiting.expires == 0.0:
            waiting.expires = now + deadline  # its first look
        return waiting.expires
