"""A conversation that a main thread attends to: it reads while nobody else does, and keeps the time.

Other threads, the workers, read for themselves while they wait for an answer. One who asks once will ask
again, so the main thread keeps away from the pipe for a moment (the lease) after each answer: that way a
tight sequence of calls wakes nobody. A worker that computes for longer than that does not keep a cancel from
being heard.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Callable
from itertools import count
from math import inf
from time import monotonic

from msgspec import Raw

from dragoman.blocking.link import BlockingLink
from dragoman.blocking.pending_call import ThreadPendingCall
from dragoman.blocking.signals import ThreadSignal, WakeGate
from dragoman.core import Lifecycle, OutgoingCall
from dragoman.errors import LinkClosed
from dragoman.runtime.limits import Limits
from dragoman.runtime.router import Router
from dragoman.wire import ErrorObject

LEASE = 0.005
"""Seconds that the main thread keeps away from the pipe after a worker had an answer. It is also what the
interpreter lets a thread compute before another one may run, so a shorter one would be no shorter.
"""


class AttendedLink(BlockingLink):
    """`attend` is the main thread's work."""

    def __init__(
        self, read_fd: int, write_fd: int, router: Router, *, name: str, limits: Limits | None = None
    ) -> None:
        super().__init__(read_fd, write_fd, router, name=name, lifecycle=Lifecycle(), limits=limits)
        self.is_dismissed = False
        self._main = ThreadSignal()  # the main thread shall come back from the pipe
        self._gate = WakeGate()  # where it waits when it does not read
        self._main_waits = False  # for the role to be put down, however long that takes
        self._lease = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    @property
    @abstractmethod
    def at_work(self) -> bool:
        """Whether there are workers."""

    def attend(self) -> None:
        """Read whenever nobody else does, until the end of input or `dismiss`."""
        while True:
            self._main.clear()  # before all the looks that follow: what comes after a look sets it again
            if self._end_reason is not None or self.is_dismissed:
                return
            self._look_around(monotonic())
            if self.at_work and monotonic() < self._lease:
                self._gate.wait(min(LEASE, self._until_timer()))
            elif self._role.acquire(blocking=False):
                self._lead(self._main)
            else:
                self._await_role()

    def _await_role(self) -> None:
        self._main_waits = True
        if self._role.locked():
            seconds = self._until_timer()
            self._gate.wait(None if seconds == inf else seconds)
        self._main_waits = False

    def dismiss(self) -> None:
        """End `attend`. May be called from a signal handler."""
        self.is_dismissed = True
        self._call_main()

    def later(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call it in the main thread when the time has come."""
        heapq.heappush(self._timers, (monotonic() + seconds, next(self._numbers), callback))
        self._call_main()

    def finish(self, seconds: float) -> None:
        """Let the workers end by themselves for a while."""
        until = monotonic() + seconds
        while self.at_work and monotonic() < until:
            self._look_around(monotonic())
            self.outbox.push()
            self._gate.wait(min(LEASE, until - monotonic()))

    def _call_main(self) -> None:
        self._main.is_reached = True
        self._gate.open()
        self.wake()

    def _look_around(self, now: float) -> None:
        """The main thread keeps the time: send what was gathered, and call what is due."""
        if self.outbox.due <= now:
            self._flush()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()

    def _until_timer(self) -> float:
        due = min(self._timers[0][0] if self._timers else inf, self.outbox.due)
        return max(0.0, due - monotonic()) if due < inf else inf

    def _flush(self) -> None:
        try:
            self.outbox.flush()
        except LinkClosed:
            pass  # nobody is there to take it; the end of the link reports why

    # The reader's role.

    def _pass_on(self) -> None:
        if self._followers:
            super()._pass_on()
        if self.at_work:
            now = monotonic()
            self._lease = now + LEASE
            if now >= self._deadlines.next_look:
                self._deadlines.look(now)
        if self._main_waits:
            self._gate.open()

    def _on_answer(self, call: OutgoingCall[ThreadPendingCall], answer: Raw | ErrorObject) -> None:
        # If the main thread reads, it stops: the thread that asked reads from now on.
        self._main.is_reached = True
        super()._on_answer(call, answer)

    def _seconds(self) -> float | None:
        seconds, until = super()._seconds(), self._until_timer()
        return seconds if until == inf else until if seconds is None else min(seconds, until)

    def _came_back(self, now: float, *, empty_handed: bool) -> None:
        """The reading thread sends what is due; timers are the main thread's, whichever thread reads."""
        super()._came_back(now, empty_handed=empty_handed)
        if empty_handed:
            self._gate.open()  # perhaps a signal woke us, and only the main thread can be told of it
        if self.outbox.due <= now:
            self._flush()
        if self._timers and self._timers[0][0] <= now:
            self._main.is_reached = True
            self._gate.open()

    # The end.

    def end(self, why: LinkClosed) -> None:
        super().end(why)
        self._call_main()

    def epitaph(self) -> LinkClosed:
        return LinkClosed(self.outbox.broken or "the peer closed the connection")
