"""An agent's conversation: handlers have threads of their own, and the reader's role follows the caller.

The main thread reads while nobody else does (`attend`). When a handler asks the client for something, its
own thread reads until it has the answer, so that a round trip costs no switch of threads. A handler that asks
once will ask again, so the main thread keeps away for a moment (the lease) after each answer; a handler that
computes for longer than that does not keep a cancel from being heard.
"""

from __future__ import annotations

import heapq
import logging
import threading
from collections import deque
from collections.abc import Callable
from itertools import count
from math import inf
from os import read
from threading import get_ident
from time import monotonic
from typing import Any, TypeVar

from msgspec import Raw

from dragoman.blocking.link import BlockingLink
from dragoman.blocking.plain import plain_answer
from dragoman.blocking.signals import Gate, Signal
from dragoman.blocking.waiting import Waiting
from dragoman.blocking.worker import Worker, current_worker
from dragoman.core import Call, Debt, Lifecycle
from dragoman.errors import Cancelled, LinkClosed
from dragoman.runtime.faults import to_error
from dragoman.runtime.limits import Limits
from dragoman.runtime.outbox import HIGH_WATER
from dragoman.runtime.router import Router, Work
from dragoman.schema.codec import strict_reader, write
from dragoman.sdk.blocking_run import step
from dragoman.sdk.capabilities import Capabilities
from dragoman.sdk.client_handle import ClientHandle
from dragoman.sdk.methods import CLIENT_REQUESTS
from dragoman.sdk.reading import read_result
from dragoman.transport.contract import READ_SIZE
from dragoman.wire import ErrorObject, error_object
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR

log = logging.getLogger(__name__)

T = TypeVar("T")

LEASE = 0.005
"""Seconds that the main thread keeps away from the pipe after a handler had an answer. It is also what the
interpreter lets a thread compute before another one may run, so a shorter one would be no shorter.
"""

THREADS = 64
"""Handlers at work at once, turns not counted; more requests wait for one of these threads."""


class AgentLink(BlockingLink):
    """An agent's end. `attend` is the main thread's work."""

    def __init__(
        self, read_fd: int, write_fd: int, router: Router, *, name: str, limits: Limits | None = None
    ) -> None:
        super().__init__(read_fd, write_fd, router, name=name, lifecycle=Lifecycle(), limits=limits)
        self._workers: dict[Debt, Worker] = {}
        self._size = 0  # bytes of params of the requests that are worked on
        self._queue: deque[tuple[Debt, Work]] = deque()
        self._main = Signal()
        self._main_gate = Gate()
        self._main_waits = False  # for the role to be put down, however long that takes
        self._lease = 0.0
        self._granted: dict[str, Capabilities] = {}  # by method: where it was found to be allowed
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self.dismissed = False

    # The main thread.

    def attend(self) -> None:
        """Read whenever nobody else does, until the end of input or `dismiss`."""
        while True:
            self._main.clear()  # before all the looks that follow: what comes after a look sets it again
            if self._gone is not None or self.dismissed:
                return
            self._tick()
            if self._workers and monotonic() < self._lease:
                self._main_gate.wait(min(LEASE, self._until_timer()))
            elif self._role.acquire(blocking=False):
                self._lead(self._main)
            else:
                self._await_role()

    def _await_role(self) -> None:
        self._main_waits = True
        if self._role.locked():
            seconds = self._until_timer()
            self._main_gate.wait(None if seconds == inf else seconds)
        self._main_waits = False

    def dismiss(self) -> None:
        """End `attend`. May be called from a signal handler."""
        self.dismissed = True
        self._call_main()

    def later(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call it in the main thread when the time has come."""
        heapq.heappush(self._timers, (monotonic() + seconds, next(self._numbers), callback))
        self._call_main()

    def _call_main(self) -> None:
        self._main.reached = True
        self._main_gate.open()
        self.wake()

    def _tick(self) -> None:
        now = monotonic()
        if self.outbox.due <= now:
            self._flush()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()

    def _until_timer(self) -> float:
        due = min(self._timers[0][0] if self._timers else inf, self.outbox.due)
        return max(0.0, due - monotonic()) if due < inf else inf

    def finish(self, seconds: float) -> None:
        """Let the handlers end by themselves for a while."""
        until = monotonic() + seconds
        while self._workers and monotonic() < until:
            self._tick()
            self.outbox.push()
            self._main_gate.wait(min(LEASE, until - monotonic()))

    def close(self, *, flush: float) -> None:
        """End the conversation; handlers hear of it from their next call."""
        self.end(LinkClosed("this side closed the connection"))
        for worker in tuple(self._workers.values()):
            worker.cancel()
        self.finish(self.limits.cancel_seconds)
        self._flush()
        until = monotonic() + flush

        def check() -> None:
            if monotonic() > until:
                raise LinkClosed("the client does not read")

        try:
            self.outbox.wait_for_room(0, check=check)
        except LinkClosed:
            pass  # a peer that does not read loses what it did not read

    # The usual way of a call.

    def ask(self, client: ClientHandle, method: str, message: Any, result: type[T], worker: Worker) -> T:
        """What `ClientHandle.ask` and `call` do, for the thread of a handler."""
        if self._granted.get(method) is not client.capabilities:
            self._check(client, method)
        if self._gone is not None:
            raise self._gone.with_traceback(None)
        params = write(message)
        waiting = Waiting(self.limits.call_seconds, None, None, worker)
        if waiting.deadline is not None:
            self._deadlines.watch(waiting)
        with self._books:
            call, frame = self.connection.call(method, params, waiting)
            try:
                self.outbox.put(frame)
            except LinkClosed:
                self.wake()  # the end of what the peer says explains it better
        if worker.unheard:
            worker.interrupt()
        answer: T | None = self._read_answer(call, result)
        return read_result(self.await_result(call), result, method) if answer is None else answer

    def _check(self, client: ClientHandle, method: str) -> None:
        capability = CLIENT_REQUESTS[method].capability
        if capability is not None:
            client.capabilities.require(capability, method)
        self._granted[method] = client.capabilities

    def _read_answer(self, call: Call[Waiting], kind: Any) -> Any:
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
            plain = plain_answer(block, call.id)
            if plain is not None:
                try:
                    answer = strict_reader(kind)(plain)
                except (ValueError, TypeError, RecursionError):
                    pass  # not so plain
                else:
                    # Unless somebody has given the call up meanwhile, and told the waiting.
                    return answer if self.connection.calls.pop(call.id, None) else None
            self._look_at(block)
            return None
        finally:
            self._reader = 0
            self._role.release()
            self._lease = monotonic() + LEASE
            if self._followers or self._main_waits or self._lease >= self._deadlines.next_look:
                self._pass_on()

    def _look_at(self, chunk: bytes) -> None:
        if block := self._framed(chunk):
            self.put_into_inbox(block)

    # The reader's role.

    def _pass_on(self) -> None:
        if self._followers:
            super()._pass_on()
        if self._workers:
            now = monotonic()
            self._lease = now + LEASE
            if now >= self._deadlines.next_look:
                self._deadlines.look(now)
        if self._main_waits:
            self._main_gate.open()

    def _answered(self, call: Call[Waiting], answer: Raw | ErrorObject) -> None:
        self._main.reached = True  # if it is the main thread who reads: the one who asked shall do that now
        super()._answered(call, answer)

    def _seconds(self) -> float | None:
        seconds = super()._seconds()
        until = self._until_timer()
        return seconds if until == inf else until if seconds is None else min(seconds, until)

    def _nothing_came(self, now: float) -> None:
        super()._nothing_came(now)
        if self.outbox.due <= now:
            self._flush()
        if self._timers and self._timers[0][0] <= now:
            self._call_main()

    def _flush(self) -> None:
        try:
            self.outbox.flush()
        except LinkClosed:
            pass  # nobody is there to take it; the end of the link reports why

    def end(self, why: LinkClosed) -> None:
        super().end(why)
        self._call_main()

    def epitaph(self) -> LinkClosed:
        return LinkClosed(self.outbox.broken or "the peer closed the connection")

    # Work.

    def begin(self, debt: Debt) -> None:
        if self._workers and self._size + _size(debt) > self.limits.work_bytes:
            self.refuse(debt, error_object(INTERNAL_ERROR, "Internal error: too much work in flight"))
            return
        try:
            work = self._router.asked(debt)
        except Exception as error:  # noqa: BLE001  # it becomes the error answer; the conversation goes on
            self.refuse(debt, to_error(error, debt.method))
            return
        if isinstance(work, bytes):
            self.settle(debt, work)
            return
        self._size += _size(debt)
        if len(self._workers) >= THREADS and debt.method != "session/prompt":
            self._queue.append((debt, work))
        else:
            self._start(debt, work)

    def perform(self, debt: Debt) -> None:
        raise AssertionError("every request has a thread of its own")

    def _start(self, debt: Debt, work: Work) -> None:
        worker = self._workers[debt] = Worker(self, debt)
        thread = threading.Thread(target=self._run, args=(worker, work), name=debt.method, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no more threads for us
            work.close()
            self.refuse(debt, to_error(error, debt.method))
            self._finished(worker)

    def _run(self, worker: Worker, work: Work) -> None:
        while True:
            worker.here()
            self._carry_out(worker.debt, work)
            self._finished(worker)
            try:
                debt, work = self._queue.popleft()
            except IndexError:
                return
            worker = self._workers[debt] = Worker(self, debt)
            worker.unheard = debt.cancelled

    def _carry_out(self, debt: Debt, work: Work) -> None:
        try:
            result = step(work)
        except Cancelled:
            self.refuse(debt, error_object(CANCELLED))
        except BaseException as error:  # noqa: BLE001  # it becomes the error answer; SystemExit ends no thread but this
            self.refuse(debt, to_error(error, debt.method))
        else:
            self.settle(debt, result)

    def _finished(self, worker: Worker) -> None:
        self._workers.pop(worker.debt, None)
        self._size -= _size(worker.debt)
        if not self._workers:
            self._lease = 0.0
            self._main_gate.open()

    def stop(self, debt: Debt) -> None:
        worker = self._workers.get(debt)
        if worker is not None:
            worker.cancel()

    def interrupt(self, worker: Worker) -> bool:
        """End the calls that this worker waits for; False when it waits for none."""
        with self._books:
            calls = [call for call in self.connection.calls.values() if call.context.worker is worker]
        told = [self.give_up(call, Cancelled()) for call in calls]
        return any(told)

    # What leaves.

    def drain(self) -> None:
        self._wait_for_room(0)

    def say(self, frame: bytes) -> None:
        """Send an update, perhaps with those that follow it in a moment."""
        self.outbox.gather(frame)
        if self.outbox.congested:
            self._wait_for_room(HIGH_WATER)

    def _wait_for_room(self, down_to: int) -> None:
        worker = current_worker()
        self.outbox.wait_for_room(down_to, check=_never if worker is None else worker.check)


def _never() -> None:
    """Nobody cancels a thread that works for no request."""


def _size(debt: Debt) -> int:
    return 0 if debt.params is None else memoryview(debt.params).nbytes
