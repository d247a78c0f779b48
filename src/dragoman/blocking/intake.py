"""How a conversation without an event loop reads its pipe.

A block of whole frames is read by one wait and one read, as long as there is nothing else to do; what there
may be (output that the peer did not take, timers, a reader that has to be slowed down) is looked after on
another way, which is taken only while there is a reason to. An answer that is written as everybody writes
answers is cut out of its frame without looking at the envelope twice.

It knows descriptors, frames and deadlines. What frames mean to a conversation is `link`'s to know.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from os import read
from time import monotonic

from dragoman.blocking.deadlines import ThreadDeadlines
from dragoman.blocking.inlet import Inlet
from dragoman.blocking.outbox import ThreadOutbox
from dragoman.blocking.pending_call import ThreadPendingCall
from dragoman.core import Connection, Lifecycle, OutgoingCall
from dragoman.errors import LinkClosed
from dragoman.runtime.limits import DEFAULT_LIMITS, Limits
from dragoman.runtime.outbox import HIGH_WATER
from dragoman.runtime.router import Router, asks_nobody
from dragoman.transport.contract import READ_SIZE
from dragoman.transport.program_output import StrayOutput
from dragoman.wire import Envelope, LineFramer, decode_block, error_object, failure
from dragoman.wire.codes import INVALID_REQUEST

log = logging.getLogger(__name__)

STALL_LOOK = 1.0
"""Seconds between two looks at whether a peer reads our answers, while we do not read what it says."""

DEAF = 0.2
"""Seconds of silence after which a peer that no longer reads counts as gone."""


class ThreadIntake(ABC):
    """The reading half of a link. All of it is done by the thread that has the reader's role."""

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        router: Router,
        *,
        name: str,
        lifecycle: Lifecycle | None,
        limits: Limits | None,
    ) -> None:
        self.name = name
        self.limits = limits or DEFAULT_LIMITS
        self.connection: Connection[ThreadPendingCall] = Connection(lifecycle)
        self.asks_person: Callable[[str], bool] = asks_nobody
        self.complaints = 0  # frames that we had to refuse, for whoever wants to know how the peer behaves
        self.stray = StrayOutput()
        self.answer_bytes = 0  # answers given since the peer last took all that we sent
        self.last_heard = monotonic()
        self.poll_ms: float | None = None  # how long to wait for the pipe, if there is nothing else to do
        self.inlet = Inlet(read_fd)
        self.outbox = self.open_outbox(write_fd)
        self._poll = self.inlet.poll
        self._fd = read_fd
        self._router = router
        self._framer = LineFramer()
        self._whole = False  # the framer holds no piece of a frame
        self._inbox: deque[Envelope] = deque()
        self._inbox_size = 0
        self._has_notifications = False  # the router has notifications that it was not told to hand over
        self._busy = False  # there may be something else to do
        self._at_end = False  # the input has ended; what is in the inbox comes first
        self._holds: dict[str, None] = {}  # why reading is stopped
        self._deadlines = ThreadDeadlines(self)
        self._end_reason: LinkClosed | None = None

    def open_outbox(self, fd: int) -> ThreadOutbox:
        """The way out; for a link that sends in another way than frame by frame as they are."""
        return ThreadOutbox(fd, wake=self.wake)

    def wake(self) -> None:
        """Wake the thread that reads, or is about to: there is other work for it."""
        self._busy = True
        self.inlet.wake()

    def send(self, frame: bytes) -> None:
        """Send what nobody waits for."""
        try:
            self.outbox.add(frame)
        except LinkClosed:
            pass  # nobody is there to take it; the end of the link reports why

    def read_block(self) -> bytes:
        """Wait for the pipe, once. Returns whole frames, or nothing."""
        if self._busy:
            return self._read_with_care()
        events = self._poll(self.poll_ms)
        if len(events) != 1 or events[0][0] != self._fd:
            self._busy = True  # woken, or time to look at the deadlines
            return b""
        try:
            chunk = read(self._fd, READ_SIZE)
        except OSError:
            self._busy = True
            return b""
        if self.poll_ms is not None:  # somebody has a deadline
            self.last_heard = now = monotonic()
            if now >= self._deadlines.next_look:
                self._deadlines.look(now)
        if self._whole and chunk[-1:] == b"\n":
            return chunk
        return self._frame_chunk(chunk)

    def put_into_inbox(self, block: bytes) -> None:
        message_count = 0 if self._inbox else self._router.on_block(block)
        if message_count:
            self.connection.stamp += message_count
            self._router.on_block_end(len(block))
        else:
            self._inbox.extend(decode_block(block))
            self._inbox_size += len(block)

    def _hand_over(self) -> None:
        self._has_notifications = False
        size, self._inbox_size = self._inbox_size, 0
        self._router.on_block_end(size)

    def _frame_chunk(self, chunk: bytes) -> bytes:
        framer = self._framer
        block = framer.feed(chunk) if chunk else framer.finish()
        self._whole = chunk[-1:] == b"\n"
        if not chunk:
            self._at_end = self._busy = True
        for size in framer.take_skipped():
            self._on_oversized_frame(size)
        return block

    def _on_oversized_frame(self, size: int) -> None:
        self.complaints += 1
        limit = self._framer.limit
        log.warning("%s: dropped a message of %d bytes; the limit is %d", self.name, size, limit)
        why = (
            f"Invalid request: the message is larger than the limit of {limit} bytes, or than the free memory"
        )
        frame = failure(None, error_object(INVALID_REQUEST, why))
        self.answer_bytes += len(frame)
        self.send(frame)

    # While there is something else to do.

    def _read_with_care(self) -> bytes:
        if self._at_end:
            self._end_of_input()
            return b""
        self._busy = False  # before the looks that follow: what comes after a look sets it again
        outbox = self.outbox
        listening, seconds = self._may_listen(), self._seconds()
        if outbox.pending or seconds is not None or not listening:
            self._busy = True
        elif self.poll_ms is not None:
            seconds = self.poll_ms / 1000
        if not listening and not self._holds:
            seconds = STALL_LOOK if seconds is None else min(seconds, STALL_LOOK)
        chunk, room = self.inlet.read(seconds, push_to=outbox.fd if outbox.pending else -1, listen=listening)
        if room:
            outbox.push()
        elif not listening and not self._holds and self.connection.calls:
            try:
                outbox.check_stalled()
            except LinkClosed as stalled:
                self.end(stalled)
        now = monotonic()
        if now >= self._deadlines.next_look:
            self._deadlines.look(now)
        self._came_back(now, empty_handed=chunk is None)
        if chunk is None:
            return b""
        self.last_heard = now
        return self._frame_chunk(chunk)

    def _seconds(self) -> float | None:
        """How long the pipe may be waited for, if there is a reason not to wait for ever."""
        return DEAF if self.outbox.broken else None

    def _may_listen(self) -> bool:
        if self._holds:
            return False
        if self.answer_bytes <= HIGH_WATER:
            return True
        pending = self.outbox.pending
        if pending == 0:
            self.answer_bytes = 0
        # Two ends that ask each other for much, and each stop listening, would wait for each other forever.
        return pending <= (self.limits.backlog_hard_bytes if self.connection.calls else HIGH_WATER)

    def _came_back(self, now: float, *, empty_handed: bool) -> None:
        """From waiting for the pipe: is anything else due?"""
        if empty_handed and self.outbox.broken and now >= self.last_heard + DEAF:
            self._end_of_input()

    def hold(self, why: str) -> None:
        """Stop reading, so that the peer feels it. Each reason is lifted by itself."""
        self._holds[why] = None
        self._busy = True

    def listen(self, why: str) -> None:
        """This reason to stop reading is gone."""
        if self._holds and self._holds.pop(why, why) is None:
            self.wake()

    @property
    def on_hold(self) -> bool:
        return bool(self._holds)

    def _end_of_input(self) -> None:
        if self._end_reason is None:
            self.end(self.epitaph())

    @property
    def close_reason(self) -> LinkClosed | None:
        """Why nothing can be sent any more; None while the conversation lasts."""
        return self._end_reason

    @abstractmethod
    def look_sooner(self) -> None:
        """Make the reader come back earlier: a call has a deadline before its next look."""

    @abstractmethod
    def epitaph(self) -> LinkClosed:
        """Why there is no more to read."""

    @abstractmethod
    def end(self, why: LinkClosed) -> None:
        """No more can be sent or expected."""

    @abstractmethod
    def give_up(self, call: OutgoingCall[ThreadPendingCall], why: BaseException) -> bool:
        """Stop waiting for an answer."""
