"""Tracks the peer's requests while their handlers run.

Requests do not wait for each other: most end in their first step, the others each have a task (see
`stepper`). Exactly one answer leaves for each, whoever gives it: the handler, a cancel, or the end of the
link.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, Generic, TypeVar

from dragoman.core import Connection, ErrorReply, IncomingRequest, RequestReceived
from dragoman.errors import LinkClosed
from dragoman.runtime import private
from dragoman.runtime.faults import to_error
from dragoman.runtime.limits import Limits
from dragoman.runtime.owner import TaskOwner
from dragoman.runtime.router import Router
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR

FATAL = (KeyboardInterrupt, GeneratorExit)
"""Exceptions that a handler must not raise. Any other exception is a failure of the handler, even `sys.exit`
in a library: in the event loop it would end the agent, or leave the peer without an answer.
"""


class RequestTasks:
    """All unanswered requests of one link. `send` sends answers; `gather` collects answers while a run of
    requests is read, to send them together at its end.
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
        """Handle each request: answer it at once, or start a task for it."""
        outer = asyncio.current_task(self._loop)
        for incoming in incoming_requests:
            self._ask(incoming, outer, self._gather)

    def ask(self, incoming: IncomingRequest) -> None:
        """Handle a request: answer it at once, or start a task for it."""
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


# Runs handlers without a task for each.
#
# Most handlers finish without ever waiting, and a task costs more than they do. So a handler's coroutine
# takes its first step on the spot, in the name and context of a task that is kept ready for it. Only if it
# really suspends does that task carry it on, so that timeouts, cancellation and context variables work in it
# as in any other task; the next handler gets a fresh one.

T = TypeVar("T")


class SuspendedWork(Generic[T]):
    """Awaiting this continues a coroutine that has been stepped once and yielded `waiting_for`."""

    __slots__ = ("_cancellation", "_waiting_for", "_work")

    def __init__(self, work: Coroutine[object, None, T], waiting_for: object) -> None:
        self._work = work
        self._waiting_for = waiting_for
        self._cancellation: BaseException | None = None

    def cancelled_early(self, error: asyncio.CancelledError) -> None:
        """Note a cancellation before the first await; the coroutine receives it first."""
        self._cancellation = error

    def __await__(self) -> Generator[Any, Any, T]:
        work, waiting_for, cancellation = self._work, self._waiting_for, self._cancellation
        try:
            if cancellation is not None:
                waiting_for = work.throw(cancellation)
            while True:
                try:
                    value = yield waiting_for
                except BaseException as error:  # noqa: BLE001  # handed on into the coroutine
                    waiting_for = work.throw(error)
                else:
                    waiting_for = work.send(value)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


class _Ready(Coroutine[Any, Any, None]):
    """A task that waits for something to carry on, and the coroutine that this task runs.

    It is no `async def`: one that is cancelled before its first step never runs at all, and what has been
    handed to it by then would be lost, `finally` and all.
    """

    __slots__ = ("_began", "_waits", "context", "pristine", "rest", "rest_future", "task")

    def __init__(
        self, owner: TaskOwner, carry_on: Callable[[SuspendedWork[T]], Coroutine[object, None, None]]
    ) -> None:
        self.context = contextvars.copy_context()
        self.pristine = self.context.copy()
        self.rest_future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.rest: SuspendedWork[Any] | None = None
        self._began = False
        self._waits = self._wait(carry_on)
        self.task = owner.start(self, context=self.context)

    def send(self, value: object) -> Any:
        self._began = True
        return self._waits.send(value)

    def throw(self, *error: Any) -> Any:
        if self._began or self.rest is None:
            return self._waits.throw(*error)
        self.rest.cancelled_early(error[0])
        return self.send(None)

    def close(self) -> None:
        self._waits.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._waits.__await__()

    async def _wait(self, carry_on: Callable[[SuspendedWork[Any]], Coroutine[object, None, None]]) -> None:
        try:
            await self.rest_future
        except asyncio.CancelledError as error:
            if self.rest is None:
                raise
            self.rest.cancelled_early(error)
        assert self.rest is not None
        await carry_on(self.rest)


class Stepper:
    """Keeps one task ready. `carry_on` is run by a task for a coroutine that has suspended."""

    __slots__ = ("_carry_on", "_loop", "_owner", "_ready")

    def __init__(
        self, owner: TaskOwner, carry_on: Callable[[SuspendedWork[Any]], Coroutine[object, None, None]]
    ) -> None:
        self._owner = owner
        self._carry_on = carry_on
        self._loop = asyncio.get_running_loop()
        self._ready: _Ready | None = None

    def step(
        self, work: Coroutine[object, None, T], outer: asyncio.Task[object] | None
    ) -> tuple[SuspendedWork[T], asyncio.Task[None]] | T:
        """Run a coroutine's first step. Returns the result, or the rest for the task that continues it.
        `outer` is the current task, which a caller looks up once for many steps.
        """
        ready = self._ready
        # A handler that set a context variable and left it set must not pass it on to the next one.
        if ready is None or ready.context != ready.pristine:
            self.dismiss()
            ready = self._ready = _Ready(self._owner, self._carry_on)
        waiting_for: Any = None  # what a bare `yield` gives: then the task takes the first step itself
        enter, leave = private.enter_task, private.leave_task
        if enter is not None and leave is not None:
            loop = self._loop
            if outer is not None:
                leave(loop, outer)
            enter(loop, ready.task)
            try:
                waiting_for = ready.context.run(work.send, None)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            finally:
                leave(loop, ready.task)
                if outer is not None:
                    enter(loop, outer)
        self._ready = None
        ready.rest = SuspendedWork(work, waiting_for)
        ready.rest_future.set_result(None)
        return ready.rest, ready.task

    def dismiss(self) -> None:
        """Cancel the task that is ready but has no work."""
        if self._ready is not None:
            self._ready.task.cancel()
            self._ready = None
