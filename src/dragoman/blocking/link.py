"""A conversation without an event loop: whoever waits for something reads the pipe until it is there.

One thread at a time has the reader's role. It takes what arrives, in order, and deals with it, until what it
waits for has come; then the role is free for the next thread that waits. A thread that finds the role taken
follows: it sleeps until the reader has its answer, or passes it the role. So a round trip costs no switch of
threads, two threads take turns, and nothing is read that nobody waits for: the peer feels it.

What it promises is what `runtime.Link` promises, and it offers what the SDK uses of one; the coroutines among
that never suspend, because the waiting is done inside of them (see `sdk.blocking_run`). How the pipe is read
is in `intake`; who works on the peer's requests, and in which thread, is for `ClientLink` and `AgentLink` to
say.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Hashable
from threading import get_ident

from msgspec import UNSET, Raw

from dragoman.blocking.intake import ThreadIntake
from dragoman.blocking.pending_call import ThreadPendingCall
from dragoman.blocking.plain import is_lone
from dragoman.blocking.signals import ThreadSignal, WakeGate
from dragoman.blocking.worker import current_worker
from dragoman.core import (
    CancellationReceived,
    ErrorReply,
    Event,
    Ignored,
    IncomingRequest,
    Lifecycle,
    NotificationReceived,
    OutgoingCall,
    RequestReceived,
    ResponseReceived,
)
from dragoman.core.lifecycle import INITIALIZE
from dragoman.errors import CallFailed, LinkClosed, PeerDied
from dragoman.runtime.limits import Limits
from dragoman.runtime.router import Router
from dragoman.wire import Envelope, ErrorObject, Notification, Request, decode, notification

log = logging.getLogger(__name__)


class _NoLanes:
    """Handlers that wait do so on the spot, so nothing ever waits in a lane."""

    size = 0


class BlockingLink(ThreadIntake):
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
        super().__init__(read_fd, write_fd, router, name=name, lifecycle=lifecycle, limits=limits)
        self.lanes = _NoLanes()
        self._books = self.outbox.lock  # of the connection; what is noted there leaves in the same order
        self._role = threading.Lock()  # the reader's
        self._reader = 0  # the thread that has it
        self._followers: list[ThreadSignal] = []

    # What we send.

    async def call(
        self,
        method: str,
        params: bytes | None,
        *,
        deadline: float | None = None,
        silence: float | None = None,
        lane: Hashable | None = None,
        is_patient: bool = False,
    ) -> Raw:
        """Ask the peer and wait for the result."""
        return self.await_result(
            self.open_call(
                method, params, deadline=deadline, silence=silence, lane=lane, is_patient=is_patient
            )
        )

    def await_result(self, call: OutgoingCall[ThreadPendingCall]) -> Raw:
        worker = call.context.worker
        try:
            if worker is not None and worker.unheard:  # it came before there was a call to interrupt
                worker.interrupt()
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
        is_patient: bool = False,
    ) -> OutgoingCall[ThreadPendingCall]:
        """Ask, without waiting."""
        if self._end_reason is not None:
            raise self._end_reason.with_traceback(None)
        waiting = ThreadPendingCall(deadline, silence, lane, current_worker(), is_patient=is_patient)
        if deadline is not None or silence is not None:
            self._deadlines.watch(waiting)
        with self._books:
            call, frame = self.connection.call(method, params, waiting)
            try:
                self.outbox.put(frame)
            except LinkClosed:
                self.wake()  # the end of what the peer says explains it better
        return call

    async def wait_answered(self, call: OutgoingCall[ThreadPendingCall]) -> None:
        """Until a call has its answer. Unlike `call`, whoever is cancelled meanwhile leaves it open."""
        waiting, worker = call.context, call.context.worker
        if worker is None:
            self.wait(waiting)
            return
        signal = worker.left_open = ThreadSignal()
        waiting.worker = None  # so that a cancel does not take it back
        waiting.add_done_callback(lambda _: signal.set())
        try:
            if not worker.unheard:
                self.wait(signal)
        finally:
            worker.left_open = None
        if not waiting.done():
            worker.check()

    def result(self, call: OutgoingCall[ThreadPendingCall]) -> Raw:
        """The result of a settled call; raises its error."""
        outcome = call.context.outcome
        if type(outcome) is Raw:
            return outcome
        if isinstance(outcome, ErrorObject):
            data = None if outcome.data is UNSET else outcome.data
            raise CallFailed(outcome.code, outcome.message, data, method=call.method)
        assert isinstance(outcome, BaseException)
        raise outcome.with_traceback(None)

    def notify(self, method: str, params: bytes | None) -> None:
        """Tell the peer; returns when the system has taken it."""
        if self._end_reason is not None:
            raise self._end_reason.with_traceback(None)
        self.outbox.add(notification(method, params))
        if self.outbox.pending:
            self.drain()

    @abstractmethod
    def drain(self) -> None:
        """Wait until the system has taken what we sent."""

    def give_up(self, call: OutgoingCall[ThreadPendingCall], why: BaseException) -> bool:
        """Stop waiting for an answer; the peer is told, and a late answer is ignored. False when it is here
        already.
        """
        with self._books:
            frame = self.connection.forget(call)
        if frame is not None and self._end_reason is None:
            self.send(frame)
        return call.context.settle(why)

    def settle(self, incoming: IncomingRequest, result: bytes) -> None:
        """Answer an incoming request; only the first answer leaves."""
        try:
            with self._books:
                frame = self.connection.answer(incoming, result)
                if frame is not None:
                    self.answer_bytes += len(frame)
                    self.outbox.put(frame)
        except LinkClosed:
            pass  # nobody is there to take it; the end of the link reports why
        if incoming.method in INITIALIZE:
            self._consider_held_events()

    def refuse(self, incoming: IncomingRequest, error: ErrorObject) -> None:
        with self._books:
            frame = self.connection.refuse(incoming, error)
        if frame is not None:
            self.answer_bytes += len(frame)
            self.send(frame)
        if incoming.method in INITIALIZE:
            self._consider_held_events()

    def _consider_held_events(self) -> None:
        """`initialize` was answered: what had to wait for that is asked now."""
        with self._books:
            events = self.connection.take_held()
        for event in events:
            self._consider(event)

    # Who reads.

    def wait(self, signal: ThreadSignal) -> None:
        """Until the signal is reached: by reading, if nobody else does, or by following whoever does."""
        has_followed = False
        try:
            while not signal.is_reached:
                if self._reader == get_ident():  # a notification's handler asks in turn
                    incoming = self._read_until(signal)
                elif self._role.acquire(blocking=False):
                    incoming = self._lead(signal)
                else:
                    has_followed, incoming = True, None
                    self._follow(signal)
                if incoming is not None:
                    self.perform(incoming)
        finally:
            if has_followed:
                self._pass_on()  # the role may have been meant for us

    def _lead(self, signal: ThreadSignal) -> IncomingRequest | None:
        """With the role in hand: read until the signal, or until there is a request to work on."""
        self._reader = get_ident()
        try:
            return self._read_until(signal)
        finally:
            self._reader = 0
            self._role.release()
            if self._followers:
                self._pass_on()

    def _follow(self, signal: ThreadSignal) -> None:
        gate = signal.gate = WakeGate()
        self._followers.append(signal)
        try:
            # Only now: who puts the role down after this look sees us among the followers.
            if not signal.is_reached and self._role.locked():
                gate.wait()
        finally:
            self._followers.remove(signal)
            signal.gate = None

    def _pass_on(self) -> None:
        """The role is free: whoever still waits may have it."""
        for follower in tuple(self._followers):
            if not follower.is_reached and follower.gate is not None:
                follower.gate.open()
                return

    def look_sooner(self) -> None:
        if self._reader not in (0, get_ident()):
            self.wake()

    # What arrives.

    def _read_until(self, signal: ThreadSignal) -> IncomingRequest | None:
        inbox = self._inbox
        while True:
            while inbox:
                envelope = inbox[0]
                # Updates that came before a question are seen before it is put, and those before an answer
                # before it is known: another thread may wait for it, and takes what is there by then.
                if self._has_notifications and type(envelope) is not Notification:
                    self._hand_over()
                if signal.is_reached and type(envelope) is Request:
                    return None
                incoming = self._receive(inbox.popleft())
                if incoming is not None:
                    return incoming
            if self._has_notifications:
                self._hand_over()
            if signal.is_reached:
                return None
            block = self.read_block()
            if block and (incoming := self._take(block)) is not None:
                return incoming

    def _take(self, block: bytes) -> IncomingRequest | None:
        """Deal with a lone frame on the spot, and put any other into the inbox, which is empty."""
        if is_lone(block):
            return self._receive(decode(block[:-1]))
        self.put_into_inbox(block)
        return None

    def _receive(self, envelope: Envelope) -> IncomingRequest | None:
        with self._books:
            event = self.connection.receive(envelope)
        kind = type(event)
        if kind is ResponseReceived:
            self._on_answer(event.call, event.answer)  # type: ignore[union-attr]
        elif kind is RequestReceived:
            return self.begin(event.request)  # type: ignore[union-attr]
        else:
            self._consider(event)
        return None

    def _on_answer(self, call: OutgoingCall[ThreadPendingCall], answer: Raw | ErrorObject) -> None:
        waiting = call.context
        waiting.is_answered = True
        waiting.settle(answer)

    def _consider(self, event: Event[ThreadPendingCall]) -> None:
        match event:
            case NotificationReceived(method, params):
                self._has_notifications = True
                try:
                    self._router.on_notification(method, params)
                except Exception:  # a failing handler of one message must not lose the next
                    log.exception("%s: a notification handler failed", self.name)
            case RequestReceived(incoming):
                if self.begin(incoming) is not None:
                    self.perform(incoming)
            case CancellationReceived(incoming):
                if not self._router.on_cancel_request(incoming):
                    self.stop(incoming)
            case ErrorReply(frame, why, stray):
                self.complaints += 1
                if stray:
                    self.stray.add(stray)
                self.answer_bytes += len(frame)
                log.info("%s: refused a message: %s", self.name, why)
                self.send(frame)
            case Ignored(why):
                log.debug("%s: ignored: %s", self.name, why)

    @abstractmethod
    def begin(self, incoming: IncomingRequest) -> IncomingRequest | None:
        """A request has arrived. None: somebody works on it; otherwise the reader shall, by `perform`."""

    @abstractmethod
    def perform(self, incoming: IncomingRequest) -> None:
        """Work on a request in this thread, without the reader's role."""

    @abstractmethod
    def stop(self, incoming: IncomingRequest) -> None:
        """The peer no longer wants the answer to this."""

    # The end.

    def end(self, why: LinkClosed) -> None:
        """Every open call fails now."""
        if isinstance(why, PeerDied) and self.stray.count:
            why = why.with_stray(self.stray.text)
        if self._end_reason is None:
            self._end_reason = why
        with self._books:
            calls = self.connection.abandon()
        for call in calls:
            call.context.settle(self._end_reason)
