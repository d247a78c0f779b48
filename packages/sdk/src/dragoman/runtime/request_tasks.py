"""Tracks the peer's requests while their handlers run.

Requests do not wait for each other: most end in their first step, the others each have a task (see
`stepper`). Exactly one answer leaves for each, whoever gives it: the handler, a cancel, or the end of the
link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from dragoman.core import Connection, ErrorReply, IncomingRequest, RequestReceived
from dragoman.errors import LinkClosed
from dragoman.runtime.faults import to_error
from dragoman.runtime.limits import Limits
from dragoman.runtime.owner import TaskOwner
from dragoman.runtime.router import Router
from dragoman.runtime.stepper import Stepper, SuspendedWork
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR

FATAL = (KeyboardInterrupt, GeneratorExit)
"""What is not a handler's to raise. Anything else is its failure, even the `sys.exit` of some library: left
to the event loop it would end the agent, or leave the peer without an answer.
"""


class RequestTasks:
    """All unanswered requests of one link. `send` sends answers; `gather` collects those given while a run
    of requests is read, which are sent together at its end.
    """

    __slots__ = (
        "_connection",
        "_gather",
        "_limits",
        "_loop",
        "_router",
        "_send",
        "_size",
        "_stepper",
        "_suspended_work",
        "_tasks",
        "answer_bytes",
    )

    def __init__(
        self,
        connection: Connection[Any],
        router: Router,
        owner: TaskOwner,
        send: Callable[[bytes], None],
        gather: Callable[[bytes], None],
        *,
        limits: Limits,
    ) -> None:
        self._connection = connection
        self._router = router
        self._send = send
        self._gather = gather
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._stepper = Stepper(owner, self._carry_on)
        self._tasks: dict[IncomingRequest, asyncio.Task[None]] = {}
        self._suspended_work: dict[SuspendedWork[bytes], IncomingRequest] = {}
        self._size = 0  # bytes of params of the requests that have a task
        self.answer_bytes = 0  # answers given since somebody last set this to zero

    def ask_all(self, incoming_requests: Iterable[IncomingRequest]) -> None:
        """Handle each request: answer it at once, or give it a task."""
        outer = asyncio.current_task(self._loop)
        for incoming in incoming_requests:
            self._ask(incoming, outer, self._gather)

    def ask(self, incoming: IncomingRequest) -> None:
        """Handle a request: answer it at once, or give it a task."""
        self._ask(incoming, asyncio.current_task(self._loop), self._send)

    def _ask(
        self, incoming: IncomingRequest, outer: asyncio.Task[object] | None, send: Callable[[bytes], None]
    ) -> None:
        if self._tasks and self._is_full(incoming):
            busy = error_object(INTERNAL_ERROR, "Internal error: too much work in flight")
            self._send_answer(self._connection.refuse(incoming, busy), send)
            return
        try:
            work = self._router.on_request(incoming)
            result = work if isinstance(work, bytes) else self._stepper.step(work, outer)
        except FATAL:
            raise
        except BaseException as error:  # noqa: BLE001  # it becomes the error answer
            self._send_answer(self._connection.refuse(incoming, to_error(error, incoming.method)), send)
            return
        if isinstance(result, bytes):
            self._send_answer(self._connection.answer(incoming, result), send)
        else:
            rest, task = result
            self._suspended_work[rest] = incoming
            self._tasks[incoming] = task
            self._size += _size(incoming)

    def _is_full(self, incoming: IncomingRequest) -> bool:
        limits = self._limits
        return self._size + _size(incoming) > limits.work_bytes or len(self._tasks) >= limits.work_requests

    def settle(self, incoming: IncomingRequest, result: bytes) -> None:
        """Answer an incoming request from outside its handler, whose own answer then no longer counts."""
        self._send_answer(self._connection.answer(incoming, result), self._send)

    def stop(self, incoming: IncomingRequest) -> None:
        """Cancel the task that handles an incoming request, if there is one."""
        task = self._tasks.get(incoming)
        if task is not None:
            task.cancel()

    def dismiss(self) -> None:
        """Note that no more requests will come."""
        self._stepper.dismiss()

    async def _carry_on(self, rest: SuspendedWork[bytes]) -> None:
        incoming = self._suspended_work.pop(rest)
        try:
            self._send_answer(self._connection.answer(incoming, await rest), self._send)
        except asyncio.CancelledError as error:
            # When the peer cancelled, this is the answer. Anybody else's means that we are being closed.
            self._send_answer(self._connection.refuse(incoming, to_error(error, incoming.method)), self._send)
            if not incoming.is_cancelled:
                raise
        except FATAL:
            raise
        except BaseException as error:  # noqa: BLE001  # it becomes the error answer
            self._send_answer(self._connection.refuse(incoming, to_error(error, incoming.method)), self._send)
        finally:
            del self._tasks[incoming]
            self._size -= _size(incoming)

    def _send_answer(self, frame: bytes | None, send: Callable[[bytes], None]) -> None:
        if frame is None:
            return
        self.answer_bytes += len(frame)
        try:
            send(frame)
        except LinkClosed:
            pass  # nobody is there to take an answer; the end of the link reports why
        if self._connection.held_requests:
            self._take_held()

    def _take_held(self) -> None:
        for event in self._connection.take_held():
            if isinstance(event, RequestReceived):
                self.ask(event.request)
            elif isinstance(event, ErrorReply):
                self._send(event.frame)


def _size(incoming: IncomingRequest) -> int:
    return 0 if incoming.params is None else memoryview(incoming.params).nbytes
