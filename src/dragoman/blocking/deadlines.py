"""Looks now and then whether a call is overdue.

A deadline is a bound, not a stopwatch: whoever reads the pipe comes back from it every `interval` to look,
which costs a call nothing but a comparison. Silence is the peer's only while we owe it no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from dragoman.errors import CallTimeout, DragomanError, SilenceTimeout
from dragoman.runtime.call_deadlines import LONGEST_LOOK, SHORTEST_LOOK, is_person_asked

if TYPE_CHECKING:
    from dragoman.blocking.pending_call import ThreadPendingCall
    from dragoman.core import Connection, OutgoingCall


class WatchedLink(Protocol):
    """What the deadlines need of a link; `intake.ThreadIntake` is one."""

    connection: Connection[ThreadPendingCall]
    last_heard: float
    """When the peer was last heard."""
    poll_ms: float | None
    """How long the reading thread may wait for the pipe; None means without end."""

    asks_person: Callable[[str], bool]
    """Whether a request of the peer is put before a person here, by its method."""

    @property
    def on_hold(self) -> bool: ...

    def look_sooner(self) -> None:
        """Make the thread that waits for the pipe wait no longer than the new `poll_ms`."""

    def give_up(self, call: OutgoingCall[ThreadPendingCall], why: BaseException) -> bool: ...


class ThreadDeadlines:
    """All deadlines of one link."""

    __slots__ = ("_link", "interval", "next_look")

    def __init__(self, link: WatchedLink) -> None:
        self._link = link
        self.interval: float | None = None
        self.next_look = inf

    def watch(self, waiting: ThreadPendingCall) -> None:
        now = monotonic()
        if now >= self.next_look:
            self.look(now)  # whoever reads in a tight sequence never comes back empty-handed
        shortest = inf
        if waiting.deadline is not None:
            waiting.expires = now + waiting.deadline
            shortest = waiting.deadline
        if waiting.silence is not None:
            self._link.last_heard = now  # the clock of silence starts when the turn does
            shortest = min(shortest, waiting.silence)
        if self.interval is not None and shortest >= 4 * self.interval:
            return  # somebody looks often enough already
        look = max(SHORTEST_LOOK, min(LONGEST_LOOK, shortest / 4))
        if self.interval is None or look < self.interval:
            self.interval = look
            self._link.poll_ms = look * 1000
            self.next_look = min(self.next_look, now + look)
            self._link.look_sooner()

    def look(self, now: float) -> None:
        link = self._link
        if link.connection.incoming_requests or link.on_hold:
            link.last_heard = (
                now  # while the peer waits for us, or we do not listen, it is not the silent one
            )
        is_watching, is_asked = False, is_person_asked(link)
        for call in tuple(link.connection.calls.values()):
            waiting = call.context
            if is_asked and waiting.is_patient and waiting.deadline is not None:
                waiting.expires = now + waiting.deadline
            overdue = self._overdue(waiting, call.method, now)
            if overdue is not None:
                link.give_up(call, overdue)
            elif waiting.deadline is not None or waiting.silence is not None:
                is_watching = True
        if not is_watching:
            self.interval = self._link.poll_ms = None
        self.next_look = now + self.interval if self.interval is not None else inf

    def _overdue(self, waiting: ThreadPendingCall, method: str, now: float) -> DragomanError | None:
        if waiting.deadline is not None and now >= waiting.expires:
            return CallTimeout(method, waiting.deadline)
        if waiting.silence is not None and now >= self._link.last_heard + waiting.silence:
            return SilenceTimeout(f"the peer's silence during {method}", waiting.silence)
        return None
