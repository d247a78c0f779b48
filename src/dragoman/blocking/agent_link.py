"""An agent's conversation: handlers have threads of their own, and the reader's role follows the caller.

What a handler asks of its client goes by the shortest way there is: its thread sends the request, reads the
pipe once, and has its answer. Whenever something else comes, or somebody else reads, it goes the long way,
which leads to the same.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from os import read
from threading import get_ident
from time import monotonic
from typing import Any, TypeVar

from dragoman.blocking.attended_link import LEASE, AttendedLink
from dragoman.blocking.pending_call import ThreadPendingCall
from dragoman.blocking.plain import plain_answers
from dragoman.blocking.worker import Worker, current_worker
from dragoman.core import IncomingRequest, OutgoingCall
from dragoman.errors import Cancelled, LinkClosed
from dragoman.runtime.faults import to_error
from dragoman.runtime.limits import Limits
from dragoman.runtime.outbox import HIGH_WATER
from dragoman.runtime.router import Router, Work
from dragoman.schema.waits import bound
from dragoman.sdk.agent.client_calls import ClientCalls, write_request
from dragoman.sdk.capabilities import CLIENT_REQUESTS, Capabilities
from dragoman.sdk.inbound import read_result
from dragoman.sdk.sync.run import step
from dragoman.transport.contract import READ_SIZE
from dragoman.wire import error_object
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR

log = logging.getLogger(__name__)

T = TypeVar("T")

THREADS = 64
"""Handlers at work at once, turns not counted; more requests wait for one of these threads."""

TURNS = 1024
"""Turns at once, with those that wait for another of their session; each has a thread."""


PATIENCE = 1.0
"""Seconds that handlers get to clean up when the conversation is over; then they are left behind."""


class AgentLink(AttendedLink):
    """An agent's end."""

    def __init__(
        self, read_fd: int, write_fd: int, router: Router, *, name: str, limits: Limits | None = None
    ) -> None:
        super().__init__(read_fd, write_fd, router, name=name, limits=limits)
        self._workers: dict[IncomingRequest, Worker] = {}
        self._turns = 0  # how many of them work on a prompt
        self._queue: deque[tuple[IncomingRequest, Work]] = deque()
        self._size = 0  # bytes of params of all these requests
        self._granted_capabilities: dict[
            str, Capabilities
        ] = {}  # by method: where it was found to be allowed

    # What a handler asks.

    def ask(self, client: ClientCalls, method: str, message: object, result: type[T], worker: Worker) -> T:
        """What `ClientCalls.ask` and `call` do, for the thread of a handler."""
        if self._granted_capabilities.get(method) is not client.capabilities:
            self._check(client, method)
        if self._end_reason is not None:
            raise self._end_reason.with_traceback(None)
        params = write_request(method, message)
        waiting = ThreadPendingCall(
            bound(method, self.limits.call_seconds, receiver="client"), None, None, worker
        )
        self._lease = monotonic() + LEASE  # if the answer takes longer than that, there is no tight sequence
        with self._books:
            call, frame = self.connection.call(method, params, waiting)
            try:
                self.outbox.put(frame)
            except LinkClosed:
                self.wake()  # the end of what the peer says explains it better
        if waiting.deadline is not None:
            self._deadlines.watch(waiting)
        if worker.unheard:
            worker.interrupt()
        answer: T | None = self._read_answer(call, result)
        return read_result(self.await_result(call), result, method) if answer is None else answer

    def _check(self, client: ClientCalls, method: str) -> None:
        capability = CLIENT_REQUESTS[method].capability
        if capability is not None:
            client.capabilities.require(capability, method)
        self._granted_capabilities[method] = client.capabilities

    def _read_answer(self, call: OutgoingCall[ThreadPendingCall], kind: object) -> Any:
        """Read once: what comes next is nearly always the answer. None when it was not, or not so plainly."""
        if self._busy or self._inbox or not (self._whole and self._role.acquire(blocking=False)):
            return None
        self._reader = get_ident()
        try:
            events = self._poll(self.poll_ms)
            if len(events) != 1 or events[0][0] != self._fd:
                self._busy = True
                return None
            block = read(self._fd, READ_SIZE)
            try:
                answer = plain_answers[kind](block)
            except (ValueError, TypeError, RecursionError):
                self._look_at(block)
                return None
            if answer.id != call.id or block.find(b"\n") != len(block) - 1:
                self._look_at(block)
            elif self.connection.calls.pop(call.id, None):  # or somebody has given it up meanwhile
                return answer.result
        except OSError:  # the long way knows what that means
            self._busy = True
        finally:
            self._reader = 0
            self._role.release()
            if self._followers or self._main_waits:
                self._pass_on()
        return None

    def _look_at(self, chunk: bytes) -> None:
        if block := self._frame_chunk(chunk):
            self.put_into_inbox(block)

    # What the client asks.

    @property
    def at_work(self) -> bool:
        return bool(self._workers)

    def begin(self, incoming: IncomingRequest) -> None:
        if self._is_full(incoming):
            self.refuse(incoming, error_object(INTERNAL_ERROR, "Internal error: too much work in flight"))
            return
        try:
            work = self._router.on_request(incoming)
        except Exception as error:  # noqa: BLE001  # it becomes the error answer; the conversation goes on
            self.refuse(incoming, to_error(error, incoming.method))
            return
        if isinstance(work, bytes):
            self.settle(incoming, work)
            return
        with self._books:
            self._size += _size(incoming)
            self._turns += _is_turn(incoming)
        if _is_turn(incoming):
            self._start(incoming, work)
        else:
            self._queue.append((incoming, work))
            self._start_queued()

    def _is_full(self, incoming: IncomingRequest) -> bool:
        limits = self.limits
        number = len(self._workers) + len(self._queue)
        return (
            (number > 0 and self._size + _size(incoming) > limits.work_bytes)
            or number >= limits.work_requests
            or (_is_turn(incoming) and self._turns >= TURNS)
        )

    def _start_queued(self) -> None:
        # Also called by a thread that ends: who appends, and who ends, each looks after the other did.
        while self._queue and len(self._workers) - self._turns < THREADS:
            try:
                incoming, work = self._queue.popleft()
            except IndexError:
                return
            self._start(incoming, work)

    def perform(self, incoming: IncomingRequest) -> None:
        raise AssertionError("every request has a thread of its own")

    def _start(self, incoming: IncomingRequest, work: Work) -> None:
        worker = self._workers[incoming] = Worker(self, incoming)
        worker.unheard = incoming.is_cancelled
        thread = threading.Thread(target=self._run, args=(worker, work), name=incoming.method, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no more threads for us
            work.close()
            self.refuse(incoming, to_error(error, incoming.method))
            self._on_worker_end(worker)

    def _run(self, worker: Worker, work: Work) -> None:
        worker.enter()
        incoming = worker.request
        try:
            result = step(work)
        except Cancelled:
            self.refuse(incoming, error_object(CANCELLED))
        except BaseException as error:  # noqa: BLE001  # it becomes the error answer, SystemExit too
            self.refuse(incoming, to_error(error, incoming.method))
        else:
            self.settle(incoming, result)
        finally:
            self._on_worker_end(worker)

    def _on_worker_end(self, worker: Worker) -> None:
        with self._books:
            self._workers.pop(worker.request, None)
            self._size -= _size(worker.request)
            self._turns -= _is_turn(worker.request)
        self._start_queued()
        if not self._workers:
            self._lease = 0.0
            self._gate.open()

    def stop(self, incoming: IncomingRequest) -> None:
        worker = self._workers.get(incoming)
        if worker is not None:
            worker.cancel()

    def interrupt(self, worker: Worker) -> bool:
        """End the calls that this worker waits for; False when it waits for none."""
        calls = [call for call in tuple(self.connection.calls.values()) if call.context.worker is worker]
        results = [self.give_up(call, Cancelled()) for call in calls]
        return any(results)

    # What leaves.

    def make_room(self) -> None:
        """Wait while the client does not take what is said."""
        self._wait_for_room(HIGH_WATER)

    def drain(self) -> None:
        self._wait_for_room(0)

    def _wait_for_room(self, down_to: int) -> None:
        worker = current_worker()
        self.outbox.wait_for_room(down_to, check=_never if worker is None else worker.check)

    def end_work(self, *, flush: float) -> None:
        """End the conversation; handlers hear of it from their next call."""
        self.end(LinkClosed("this side closed the connection"))
        for worker in tuple(self._workers.values()):
            worker.cancel()
        self.finish(min(PATIENCE, self.limits.cancel_seconds))
        self._flush()
        self.outbox.finish(flush)

    def close(self) -> None:
        """Let go of the descriptors."""
        self.outbox.close()
        self.inlet.close()


def _never() -> None:
    """Does nothing: a thread that works for no request is never cancelled."""


def _is_turn(incoming: IncomingRequest) -> bool:
    return incoming.method == "session/prompt"


def _size(incoming: IncomingRequest) -> int:
    return 0 if incoming.params is None else memoryview(incoming.params).nbytes
