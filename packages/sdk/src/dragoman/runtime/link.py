"""A running conversation: the rules of `core.Connection` on top of a transport.

What it promises:
- Notifications are handled in arrival order; an answer is seen after the notifications that arrived before
  it.
- Requests of the peer never block the reader and do not wait for each other; cancels overtake.
- Every call has an end: its answer, its deadline, its caller's cancellation, or the death of the peer,
  whichever comes first.
- No task outlives `aclose`. Senders wait above a high-water mark; reading stops while the peer does not
  take our answers.

It knows JSON-RPC. What a method means is the router's business.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

from msgspec import UNSET, Raw

from dragoman.core import (
    CancellationReceived,
    Connection,
    ErrorReply,
    Ignored,
    IncomingRequest,
    Lifecycle,
    NotificationReceived,
    OutgoingCall,
    RequestReceived,
    ResponseReceived,
)
from dragoman.errors import CallFailed, DragomanError, LinkClosed, PeerDied
from dragoman.runtime.call_deadlines import CallDeadlines
from dragoman.runtime.limits import DEFAULT_LIMITS, Limits
from dragoman.runtime.outbox import FLUSH_AT, HIGH_WATER, STALL_SECONDS, Outbox, unread_answers
from dragoman.runtime.owner import TaskOwner
from dragoman.runtime.pending_call import PendingCall
from dragoman.runtime.private import wake_all
from dragoman.runtime.request_tasks import RequestTasks
from dragoman.runtime.router import Router, asks_nobody
from dragoman.runtime.runs import ask_run, settle_run
from dragoman.runtime.session_queues import SessionQueues
from dragoman.transport.contract import Transport
from dragoman.transport.program_output import StrayOutput
from dragoman.wire import (
    ErrorObject,
    decode_block,
    error_object,
    failure,
    notification,
)
from dragoman.wire.codes import INVALID_REQUEST

log = logging.getLogger(__name__)

ANSWERS = "the peer does not take our answers"


class Link:
    """One conversation over one transport, from `start` to `aclose`."""

    __slots__ = (
        "_answered_calls",
        "_close_reason",
        "_closing",
        "_deadlines",
        "_feeding",
        "_holds",
        "_loop",
        "_over",
        "_owner",
        "_router",
        "_work",
        "asks_person",
        "complaints",
        "connection",
        "is_client",
        "lanes",
        "last_heard_at",
        "limits",
        "name",
        "on_stray",
        "outbox",
        "stray",
        "transport",
    )

    def __init__(
        self,
        transport: Transport,
        router: Router,
        *,
        name: str = "link",
        lifecycle: Lifecycle | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or DEFAULT_LIMITS
        self.name = name
        self.transport = transport
        self.connection: Connection[PendingCall] = Connection(lifecycle)
        self.complaints = 0  # frames that we had to refuse, for whoever wants to know how the peer behaves
        self.stray = StrayOutput()
        self.on_stray: Callable[[str], None] | None = None  # called with each line that is not JSON
        self.is_client = False
        """Whether we ask for sessions. What an agent says right behind an answer, such as the commands of a
        new session, is not a part of the first turn: its outbox has a turn of the loop then, and we hear it
        before the caller goes on. What a client answers leaves without such a turn, and who asks it goes on
        at once.
        """
        self.asks_person: Callable[[str], bool] = asks_nobody
        """Whether a request of the peer is put before a person here, by its method."""
        self._router = router
        self._loop = asyncio.get_running_loop()
        self.outbox = Outbox(transport)
        self._owner = TaskOwner(name)
        self.lanes = SessionQueues(self.connection, self._owner, self._on_relief)
        self._deadlines = CallDeadlines(self)
        self._work = RequestTasks(
            self.connection, router, self._owner, self._send, self.outbox.gather, limits=self.limits
        )
        self._feeding = False  # a block is being dealt with: its answers leave together at its end
        self._answered_calls: list[PendingCall] = []  # by the block that is being dealt with
        self._holds: dict[str, None] = {}  # why reading is stopped
        self._close_reason: LinkClosed | None = None
        self._over: asyncio.Future[None] | None = None  # made by the first who waits for the end
        self._closing: asyncio.Task[None] | None = None
        self.last_heard_at = self._loop.time()

    def start(self) -> None:
        self.transport.start(self)

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
        """Send a request and wait for the result. `lane` names the notifications that must come before the
        answer. `is_patient`: the deadline is paused while the peer waits for a person here.
        """
        call = self.open_call(
            method, params, deadline=deadline, silence=silence, lane=lane, is_patient=is_patient
        )
        try:
            # Not for `flow` as well: who waits for an answer sends nothing meanwhile, and has a deadline.
            await call.context.future
        except asyncio.CancelledError:
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
    ) -> OutgoingCall[PendingCall]:
        """Send a request without waiting. The caller must await its context or give it up."""
        if self._close_reason is not None:
            raise self._close_reason.with_traceback(None)
        connection, outbox = self.connection, self.outbox
        waiting = PendingCall(asyncio.Future(loop=self._loop), deadline, silence, lane, is_patient=is_patient)
        call, frame = connection.call(method, params, waiting)
        # A lone request must not wait for the loop's turn; a crowd is better served by one write.
        try:
            if len(connection.calls) <= 2:
                outbox.add_now(frame)
            elif outbox.is_scheduled and len(outbox.buffer) + len(frame) < FLUSH_AT:
                outbox.buffer += frame  # what `add` does with most of a crowd, without asking it
            else:
                outbox.add(frame)
        except LinkClosed:
            pass  # a broken pipe is seen before the death behind it; the end, which is on its way, says more
        if silence is not None or (deadline is not None and deadline < self._deadlines.long):
            self._deadlines.watch(waiting)
        if self._holds:  # whoever stopped the reading must think again: somebody waits for an answer now
            self._router.on_block_end(0)
            if self.transport.pending <= self._answers_allowed:
                self.listen(ANSWERS)
        return call

    async def wait_answered(self, call: OutgoingCall[PendingCall]) -> None:
        """Wait until a call has its answer. Unlike `call`, a cancelled waiter leaves the call open."""
        await asyncio.wait((call.context.future,))

    def result(self, call: OutgoingCall[PendingCall]) -> Raw:
        """Return the result of an answered call."""
        answer = call.context.result()
        if type(answer) is Raw:
            return answer
        if isinstance(answer, ErrorObject):
            raise CallFailed(answer.code, answer.message, _data(answer), method=call.method)
        assert isinstance(answer, DragomanError)
        raise answer.with_traceback(None)

    def notify(self, method: str, params: bytes | None) -> None:
        """Send a notification. Await `outbox.flow` now and then if you send many."""
        if self._close_reason is not None:
            raise self._close_reason.with_traceback(None)
        self.outbox.add(notification(method, params))

    def own(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Run a coroutine until the link closes, which cancels the coroutine and waits for it."""
        return self._owner.start(work)

    # What arrives (the transport's sink).

    def feed(self, block: bytes) -> None:
        if self._close_reason is not None:
            return  # we are closing: what begins now would have no owner any more
        self.last_heard_at = self._loop.time()
        self._feeding = True
        message_count = self._router.on_block(block) or self._take_run(block)
        if message_count:
            self.connection.stamp += message_count
        else:
            self._tell_each(block)
        self._feeding = False
        self._router.on_block_end(len(block))
        if self._work.answer_bytes:
            self._flush()
            self._check_answers()
        elif self.outbox.buffer and (self.is_client or not self.outbox.is_scheduled):
            self._flush()
        if self._answered_calls:
            calls, self._answered_calls = deque(self._answered_calls), []
            # Where a loop feeds us, nobody else is at work in this step of it, and another one is not needed.
            if not self.is_client and asyncio.current_task(self._loop) is None:
                wake_all(calls)
            else:
                self._loop.call_soon(wake_all, calls)

    def _take_run(self, block: bytes) -> int:
        connection = self.connection
        if connection.calls and not self.lanes:
            answer_count = settle_run(connection, block, self._answered_calls)
            if answer_count:
                return answer_count
        return ask_run(connection, self._work, block)

    def _tell_each(self, block: bytes) -> None:
        connection, on_notification, ask = self.connection, self._router.on_notification, self._work.ask
        for envelope in decode_block(block):
            event = connection.receive(envelope)
            if isinstance(event, RequestReceived):
                ask(event.request)
            elif isinstance(event, NotificationReceived):
                try:
                    on_notification(event.method, event.params)
                except Exception:  # a failing handler of one message must not lose the next
                    log.exception("%s: a notification handler failed", self.name)
            elif isinstance(event, ResponseReceived):
                self._on_response(event)
            else:
                self._consider(event)

    def on_oversized(self, size: int) -> None:
        self.complaints += 1
        limit = self.transport.limits.frame
        log.warning("%s: dropped a message of %d bytes; the limit is %d", self.name, size, limit)
        why = (
            f"Invalid request: the message is larger than the limit of {limit} bytes, or than the free memory"
        )
        self._complain(failure(None, error_object(INVALID_REQUEST, why)))

    def on_end(self, reason: BaseException | None) -> None:
        """Fail every open call with the reason, because no more messages will come."""
        close_reason = (
            reason
            if isinstance(reason, LinkClosed)
            else LinkClosed(str(reason) if reason else "the peer closed the connection")
        )
        if isinstance(close_reason, PeerDied) and self.stray.count:
            close_reason = close_reason.with_stray(self.stray.text)
        self._end(close_reason)

    def hold(self, why: str) -> None:
        """Stop reading, so that the peer slows down. Each reason is removed separately."""
        if not self._holds:
            self.transport.pause()
        self._holds[why] = None

    def listen(self, why: str) -> None:
        """Remove this reason to stop reading."""
        if self._holds:
            self._holds.pop(why, None)
            if not self._holds:
                self.transport.resume()

    @property
    def on_hold(self) -> bool:
        """Whether the link does not read at the moment."""
        return bool(self._holds)

    def _on_relief(self) -> None:
        if self._holds:
            self._router.on_block_end(0)

    # The end.

    @property
    def close_reason(self) -> LinkClosed | None:
        """The reason why nothing can be sent any more; None while the conversation runs."""
        return self._close_reason

    async def wait_ended(self) -> None:
        """Wait until the peer is gone or we have closed."""
        if self._close_reason is None:
            self._over = self._over or self._loop.create_future()
            await asyncio.shield(self._over)

    async def aclose(self, *, grace: float = 0.0) -> None:
        """End the conversation as a whole. Handlers get `grace` seconds to finish by themselves, then they
        are cancelled.
        """
        if self._closing is None:
            self._closing = self._loop.create_task(self._close(grace), name=f"{self.name} closing")
        await asyncio.shield(self._closing)

    async def _close(self, grace: float) -> None:
        self._work.dismiss()
        await self._owner.finish(grace)
        self._end(LinkClosed("this side closed the connection"))
        await self._owner.aclose(patience=self.limits.cancel_seconds)
        if self.transport.pending or self.outbox.buffer:
            self._flush()
        await self.transport.aclose()

    def _end(self, reason: LinkClosed) -> None:
        if self._close_reason is None:
            self._close_reason = reason
        self._deadlines.stop()
        for call in self.connection.abandon():
            call.context.settle(self._close_reason)
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    # Inside.

    def _on_response(self, event: ResponseReceived[PendingCall]) -> None:
        waiting = event.call.context
        waiting.is_answered = True
        if self.lanes:
            self._deadlines.on_answer(waiting, event.call.method)
            self.lanes.behind(waiting.lane, event.call.stamp, lambda: waiting.settle(event.answer))
        else:
            waiting.settle(event.answer)

    def _consider(self, event: CancellationReceived | ErrorReply | Ignored) -> None:
        match event:
            case CancellationReceived(incoming):
                if not self._router.on_cancel_request(incoming):
                    self._work.stop(incoming)
            case ErrorReply(frame, why, stray):
                self.complaints += 1
                log.info("%s: refused a message: %s", self.name, why)
                self._complain(frame)
                if stray:
                    self._note_stray(stray)
            case Ignored(why):
                log.debug("%s: ignored: %s", self.name, why)

    def _note_stray(self, line: bytes) -> None:
        text = self.stray.add(line)
        if self.on_stray is not None:
            try:
                self.on_stray(text)
            except Exception:  # whoever only looks on does not stop what it looks at
                log.exception("%s: the listener of stray output failed", self.name)

    def settle(self, incoming: IncomingRequest, result: bytes) -> None:
        """Answer an incoming request from outside its handler, whose own answer then no longer counts."""
        self._work.settle(incoming, result)

    def stop(self, incoming: IncomingRequest) -> None:
        """Cancel the task that handles an incoming request, if there is one."""
        self._work.stop(incoming)

    def _complain(self, frame: bytes) -> None:
        self._work.answer_bytes += len(frame)
        self._send(frame)

    def _send(self, frame: bytes) -> None:
        outbox = self.outbox
        # A lone answer must not wait for the loop's turn; a crowd is better served by one write.
        try:
            if self._feeding and self.is_client:
                outbox.gather(frame)
            elif not self._feeding and len(self.connection.incoming_requests) <= 1:
                outbox.add_now(frame)
            else:
                outbox.add(frame)
        except LinkClosed:
            pass  # nobody is there to take an answer; the end of the link reports why

    def _flush(self) -> None:
        try:
            self.outbox.flush()
        except LinkClosed:
            pass

    def give_up(self, call: OutgoingCall[PendingCall], why: DragomanError) -> None:
        """Stop waiting for an answer; the peer gets a cancel, and a late answer is ignored."""
        frame = self.connection.forget(call)
        if frame is not None and self._close_reason is None:
            self._send(frame)
        call.context.settle(why)

    def _check_answers(self) -> None:
        """The peer asks without reading our answers: stop listening until it does.

        Only answers and complaints count: whoever sends calls or notifications waits in `flow` by itself,
        and must still hear a cancel.
        """
        pending = self.transport.pending
        if pending == 0:
            self._work.answer_bytes = 0
        elif min(pending, self._work.answer_bytes) > self._answers_allowed and ANSWERS not in self._holds:
            self.hold(ANSWERS)
            self._owner.start(self._listen_again())

    @property
    def _answers_allowed(self) -> int:
        # Two ends that ask each other for much, and each stop listening, would wait for each other forever.
        return self.limits.backlog_hard_bytes if self.connection.calls else HIGH_WATER

    async def _listen_again(self) -> None:
        """When the peer has read. One that reads nothing, while a call waits for it, never will."""
        least, moved_at = math.inf, self._loop.time()
        while ANSWERS in self._holds:
            pending = self.transport.pending
            if pending < least or not self.connection.calls:
                least, moved_at = pending, self._loop.time()
            elif self._loop.time() - moved_at > STALL_SECONDS:
                self._end(LinkClosed(unread_answers(pending)))
                return
            try:
                async with asyncio.timeout(min(STALL_SECONDS, 1.0)):
                    await self.transport.drain()
            except TimeoutError:
                continue
            except LinkClosed:
                pass
            self.listen(ANSWERS)


def _data(error: ErrorObject) -> Any:
    return None if error.data is UNSET else error.data
