"""The peer's requests while they are worked on.

Requests do not wait for each other: most end in their first step, the others each keep a task (see
`stepping`). Exactly one answer leaves for each, whoever gives it: the handler, a cancel, or the end of the
link.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from dragoman.core import Asked, Complaint, Connection, Debt
from dragoman.runtime.faults import to_error
from dragoman.runtime.owner import Owner
from dragoman.runtime.router import Router, Work
from dragoman.runtime.stepping import Rest
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR


class Workshop:
    """All requests of one link that still need work. `send(frame, now)` takes the answers."""

    __slots__ = (
        "_connection",
        "_limit",
        "_owner",
        "_queue",
        "_router",
        "_runner_starts",
        "_send",
        "_size",
        "_tasks",
        "answer_bytes",
    )

    def __init__(
        self,
        connection: Connection[Any],
        router: Router,
        owner: Owner,
        send: Callable[[bytes, bool], None],
        *,
        limit: int,
    ) -> None:
        self._connection = connection
        self._router = router
        self._owner = owner
        self._send = send
        self._limit = limit
        self._queue: deque[tuple[Debt, Work]] = deque()
        self._runner_starts = False
        self._tasks: dict[Debt, asyncio.Task[None]] = {}
        self._size = 0  # bytes of params of the requests that have a task
        self.answer_bytes = 0  # answers given since somebody last set this to zero

    def ask(self, debt: Debt) -> None:
        """Begin to work on it: answered on the spot, or queued until `go`."""
        if self._size + _size(debt) > self._limit and self._tasks:
            busy = error_object(INTERNAL_ERROR, "Internal error: too much work in flight")
            self._settled(self._connection.refuse(debt, busy))
            return
        try:
            work = self._router.asked(debt)
        except Exception as error:  # noqa: BLE001  # it becomes the error answer; the conversation goes on
            self._settled(self._connection.refuse(debt, to_error(error, debt.method)))
            return
        if isinstance(work, bytes):
            self._settled(self._connection.answer(debt, work))
        else:
            self._queue.append((debt, work))

    def go(self) -> None:
        """Start what is queued."""
        if self._queue and not self._runner_starts:
            self._runner_starts = True
            self._owner.start(self._run())

    def settle(self, debt: Debt, result: bytes) -> None:
        """Answer a debt from outside its handler, whose own answer then no longer counts."""
        self._settled(self._connection.answer(debt, result))

    def stop(self, debt: Debt) -> None:
        """Cancel the task that works on a debt, if one does."""
        task = self._tasks.get(debt)
        if task is not None:
            task.cancel()

    async def _run(self) -> None:
        self._runner_starts = False
        while self._queue:
            debt, work = self._queue.popleft()
            try:
                waiting_for = work.send(None)
            except StopIteration as done:
                self._settled(self._connection.answer(debt, done.value))
                continue
            except Exception as error:  # noqa: BLE001  # as in `ask`
                self._settled(self._connection.refuse(debt, to_error(error, debt.method)))
                continue
            self.go()
            await self._carry_on(debt, Rest(work, waiting_for))
            return

    async def _carry_on(self, debt: Debt, rest: Rest[bytes]) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks[debt] = task
        size = _size(debt)
        self._size += size
        try:
            self._settled(self._connection.answer(debt, await rest))
        except asyncio.CancelledError as error:
            # When the peer cancelled, this is the answer. Anybody else's means that we are being closed.
            self._settled(self._connection.refuse(debt, to_error(error, debt.method)))
            if not debt.cancelled:
                raise
        except Exception as error:  # noqa: BLE001  # as in `ask`
            self._settled(self._connection.refuse(debt, to_error(error, debt.method)))
        finally:
            del self._tasks[debt]
            self._size -= size

    def _settled(self, frame: bytes | None) -> None:
        if frame is None:
            return
        self.answer_bytes += len(frame)
        # A lone answer must not wait for the loop's turn; a crowd is better served by one write.
        self._send(frame, len(self._connection.debts) <= 1 and not self._queue)
        for event in self._connection.take_held():
            if isinstance(event, Asked):
                self.ask(event.debt)
            elif isinstance(event, Complaint):
                self._send(event.frame, False)
        self.go()


def _size(debt: Debt) -> int:
    return 0 if debt.params is None else memoryview(debt.params).nbytes
