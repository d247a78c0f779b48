"""A conversation without an event loop: whoever waits for something reads the pipe until it is there.

One thread at a time has the reader's role. It takes what arrives, in order, and deals with it, until what it
waits for has come; then the role is free for the next thread that waits. A thread that finds the role taken
follows: it sleeps until the reader has its answer, or passes it the role. So a round trip costs no switch of
threads, two threads take turns, and nothing is read that nobody waits for: the peer feels it.

What it promises is what `runtime.Link` promises, and it offers what the SDK uses of one; the coroutines among
that never suspend, because the waiting is done inside of them (see `sdk.blocking_run`). Who works on the
peer's requests, and in which thread, is for `ClientLink` and `AgentLink` to say.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable
from threading import get_ident
from time import monotonic

from msgspec import Raw

from dragoman.blocking.deadlines import Deadlines
from dragoman.blocking.inlet import Inlet
from dragoman.blocking.outbox import Outbox
from dragoman.blocking.signals import Gate, Signal
from dragoman.blocking.waiting import Waiting
from dragoman.blocking.worker import current_worker
from dragoman.core import (
    Answered,
    Asked,
    Call,
    CancelAsked,
    Complaint,
    Connection,
    Debt,
    Event,
    Ignored,
    Lifecycle,
    Told,
)
from dragoman.errors import CallFailed, LinkClosed
from dragoman.runtime.limits import DEFAULT_LIMITS, Limits
from dragoman.runtime.outbox import HIGH_WATER
from dragoman.runtime.router import Router
from dragoman.wire import (
    Envelope,
    ErrorObject,
    LineFramer,
    Request,
    decode_block,
    error_object,
    failure,
    notification,
)
from dragoman.wire.codes import INVALID_REQUEST

log = logging.getLogger(__name__)


class _NoLanes:
    """Handlers that wait do so on the spot, so nothing ever waits in a lane."""

    size = 0


DEAF = 0.2
"""Seconds of silence after which a peer that no longer reads counts as gone."""


class BlockingLink(ABC):
    """One conversation over two descriptors."""

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        router: Router,
        *,
        name: str,
        lifecycle: Lifecycle | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self.limits = limits or DEFAULT_LIMITS
        self.connection: Connection[Waiting] = Connection(lifecycle)
        self.complaints = 0  # frames that we had to refuse, for whoever wants to know how the peer behaves
        self.inlet = Inlet(read_fd)
        self.outbox = Outbox(write_fd, wake=self.inlet.wake)
        self.lanes = _NoLanes()
        self.heard = monotonic()
        self._router = router
        self._framer = LineFramer()
        self._books = threading.Lock()  # of the connection
        self._role = threading.Lock()  # the reader's
        self._reader = 0  # the thread that has it
        self._followers: list[Signal] = []
        self._inbox: deque[Envelope] = deque()
        self._inbox_size = 0
        self._told = False  # notifications that the router has, and was not told to hand over
        self._at_end = False  # the input has ended; what is in the inbox comes first
        self._answer_bytes = 0  # answers given since the peer last took all that we sent
        self._holds: dict[str, None] = {}  # why reading is stopped
        self._deadlines = Deadlines(self)
        self._gone: LinkClosed | None = None

    # What we send.

    async def call(
        self,
        method: str,
        params: bytes | None,
        *,
        deadline: float | None = None,
        silence: float | None = None,
        lane: Hashable | None = None,
    ) -> Raw:
        """Ask the peer and wait for the result."""
        call = self.open_call(method, params, deadline=deadline, silence=silence, lane=lane)
        try:
            self.wait(call.context)
        except BaseException:  # Ctrl-C, mostly: whatever it is, nobody waits for the answer any more
            self.give_up(call, LinkClosed("nobody waits any more"))
            raise
        return self.result(call)

    def open_call(
        self,
        method: str,
        params: bytes | None,
        *,
        deadline: float | None = None,
        silence: float | None = None,
        lane: Hashable | None = None,
    ) -> Call[Waiting]:
        """Ask, without waiting."""
        if self._gone is not None:
            raise self._gone.with_traceback(None)
        worker = current_worker()
        waiting = Waiting(deadline, silence, lane, worker)
        with self._books:
            call, frame = self.connection.call(method, params, waiting)
        if deadline is not None or silence is not None:
            self._deadlines.watch(waiting)
        try:
            self.outbox.add(frame)
        except LinkClosed:
            self.inlet.wake()  # the end of what the peer says explains it better
        if worker is not None and worker.unheard:
            worker.interrupt()
        return call

    def result(self, call: Call[Waiting]) -> Raw:
        """What a settled call brought."""
        outcome = call.context.result()
        if type(outcome) is Raw:
            return outcome
        if isinstance(outcome, ErrorObject):
            data = outcome.data or None
            raise CallFailed(outcome.code, outcome.message, data, method=call.method)
        assert isinstance(outcome, BaseException)
        raise outcome.with_traceback(None)

    def notify(self, method: str, params: bytes | None) -> None:
        """Tell the peer; returns when the system has taken it."""
        if self._gone is not None:
            raise self._gone.with_traceback(None)
        self.outbox.add(notification(method, params))
        if self.outbox.pending:
            self.drain()

    @abstractmethod
    def drain(self) -> None:
        """Wait until the system has taken what we sent."""

    def give_up(self, call: Call[Waiting], why: BaseException) -> None:
        """Stop waiting for an answer; the peer is told, and a late answer is ignored."""
        with self._books:
            frame = self.connection.forget(call)
        if frame is not None and self._gone is None:
            self._send(frame)
        call.context.settle(why)

    def settle(self, debt: Debt, result: bytes) -> None:
        """Answer a debt; only the first answer leaves."""
        with self._books:
            frame = self.connection.answer(debt, result)
        self._settled(frame)

    def refuse(self, debt: Debt, error: ErrorObject) -> None:
        with self._books:
            frame = self.connection.refuse(debt, error)
        self._settled(frame)

    def _settled(self, frame: bytes | None) -> None:
        if frame is None:
            return
        self._answer_bytes += len(frame)
        self._send(frame)
        with self._books:
            held = self.connection.take_held()
        for event in held:
            self._consider(event)

    def _send(self, frame: bytes) -> None:
        try:
            self.outbox.add(frame)
        except LinkClosed:
            pass  # nobody is there to take it; the end of the link reports why

    # Who reads.

    def wait(self, signal: Signal) -> None:
        """Until the signal is reached: by reading, if nobody else does, or by following whoever does."""
        followed = False
        try:
            while not signal.reached:
                if self._reader == get_ident():  # a notification's handler asks in turn
                    self._work_on(self._read_until(signal))
                elif self._role.acquire(blocking=False):
                    self._work_on(self._lead(signal))
                else:
                    followed = True
                    self._follow(signal)
        finally:
            if followed:
                self._pass_on()  # the role may have been meant for us

    def _lead(self, signal: Signal) -> Debt | None:
        """With the role in hand: read until the signal, or until there is a request to work on."""
        self._reader = get_ident()
        try:
            return self._read_until(signal)
        finally:
            self._reader = 0
            self._role.release()
            self._pass_on()

    def _follow(self, signal: Signal) -> None:
        gate = signal.gate = Gate()
        self._followers.append(signal)
        try:
            # Only now: who puts the role down after this look sees us among the followers.
            if not signal.reached and self._role.locked():
                gate.wait()
        finally:
            self._followers.remove(signal)
            signal.gate = None

    def _pass_on(self) -> None:
        """The role is free: whoever still waits may have it."""
        for follower in tuple(self._followers):
            if not follower.reached and follower.gate is not None:
                follower.gate.open()
                return

    def _work_on(self, debt: Debt | None) -> None:
        if debt is not None:
            self.perform(debt)

    @abstractmethod
    def perform(self, debt: Debt) -> None:
        """Work on a request in this thread, without the reader's role."""

    @abstractmethod
    def begin(self, debt: Debt) -> bool:
        """A request has arrived. True: somebody works on it; False: the reader shall, by `perform`."""

    # What arrives.

    def _read_until(self, signal: Signal) -> Debt | None:
        inbox = self._inbox
        while True:
            while inbox:
                if type(inbox[0]) is Request:
                    # Updates that came before a question are seen before it is put.
                    self._hand_over()
                    if signal.reached:
                        return None
                debt = self._receive(inbox.popleft())
                if debt is not None:
                    return debt
            self._hand_over()
            if signal.reached:
                return None
            self._read_more()

    def _hand_over(self) -> None:
        if self._told:
            self._told = False
            size, self._inbox_size = self._inbox_size, 0
            self._router.fed(size)

    def _receive(self, envelope: Envelope) -> Debt | None:
        with self._books:
            event = self.connection.receive(envelope)
        kind = type(event)
        if kind is Answered:
            self._answered(event)  # type: ignore[arg-type]
            return None
        if kind is Asked:
            debt = event.debt  # type: ignore[union-attr]
            return None if self.begin(debt) else debt
        self._consider(event)
        return None

    def _answered(self, event: Answered[Waiting]) -> None:
        waiting = event.call.context
        waiting.answered = True
        waiting.settle(event.answer)

    def _consider(self, event: Event[Waiting]) -> None:
        match event:
            case Told(method, params):
                self._told = True
                try:
                    self._router.told(method, params)
                except Exception:  # a failing handler of one message must not lose the next
                    log.exception("%s: a notification handler failed", self.name)
            case Asked(debt):
                if not self.begin(debt):
                    self.perform(debt)
            case CancelAsked(debt):
                if not self._router.cancelled(debt):
                    self.stop(debt)
            case Complaint(frame, why):
                self.complaints += 1
                log.info("%s: refused a message: %s", self.name, why)
                self._send(frame)
            case Ignored(why):
                log.debug("%s: ignored: %s", self.name, why)

    @abstractmethod
    def stop(self, debt: Debt) -> None:
        """The peer no longer wants the answer to this."""

    def _read_more(self) -> None:
        """Wait for the pipe, once, and put what it brings into the inbox."""
        if self._at_end:
            self._end_of_input()
            return
        outbox = self.outbox
        chunk, room = self.inlet.read(
            self._seconds(), push_to=outbox.fd if outbox.pending else -1, listen=self._may_listen()
        )
        if room:
            outbox.push()
        now = monotonic()
        if chunk is None:
            self._nothing_came(now)
        else:
            self.heard = now
            self._arrived(chunk)
        if now >= self._deadlines.next_look:
            self._deadlines.look(now)

    def _seconds(self) -> float | None:
        """How long the pipe may be waited for."""
        seconds = self._deadlines.interval
        if self.outbox.broken:
            seconds = DEAF if seconds is None else min(seconds, DEAF)
        return seconds

    def look_sooner(self) -> None:
        """Somebody has a deadline before the reader comes back by itself."""
        if self._reader not in (0, get_ident()):
            self.inlet.wake()

    @property
    def on_hold(self) -> bool:
        return bool(self._holds)

    def _may_listen(self) -> bool:
        if self._holds:
            return False
        if self._answer_bytes <= HIGH_WATER:
            return True
        pending = self.outbox.pending
        if pending == 0:
            self._answer_bytes = 0
        return pending <= HIGH_WATER

    def _nothing_came(self, now: float) -> None:
        if self.outbox.broken and now >= self.heard + DEAF:
            self._end_of_input()

    def _arrived(self, chunk: bytes) -> None:
        framer = self._framer
        block = framer.feed(chunk) if chunk else framer.finish()
        for size in framer.take_skipped():
            self._oversized(size)
        if block:
            self._take(block)
        self._at_end = not chunk

    def _take(self, block: bytes) -> None:
        taken = 0 if self._inbox else self._router.told_block(block)
        if taken:
            self.connection.stamp += taken
            self._router.fed(len(block))
        else:
            self._inbox.extend(decode_block(block))
            self._inbox_size += len(block)

    def _oversized(self, size: int) -> None:
        self.complaints += 1
        limit = self._framer.limit
        log.warning("%s: dropped a message of %d bytes; the limit is %d", self.name, size, limit)
        why = f"Invalid request: the message is larger than the limit of {limit} bytes"
        self._send(failure(None, error_object(INVALID_REQUEST, why)))

    def hold(self, why: str) -> None:
        """Stop reading, so that the peer feels it. Each reason is lifted by itself."""
        self._holds[why] = None

    def listen(self, why: str) -> None:
        """This reason to stop reading is gone."""
        if self._holds.pop(why, why) is None:
            self.inlet.wake()

    # The end.

    @property
    def gone(self) -> LinkClosed | None:
        """Why nothing can be sent any more; None while the conversation lasts."""
        return self._gone

    @abstractmethod
    def epitaph(self) -> LinkClosed:
        """Why there is no more to read."""

    def _end_of_input(self) -> None:
        if self._gone is None:
            self.end(self.epitaph())

    def end(self, why: LinkClosed) -> None:
        """Every open call fails now."""
        if self._gone is None:
            self._gone = why
        with self._books:
            calls = self.connection.abandon()
        for call in calls:
            call.context.settle(self._gone)
