"""Queues of notification handlers: one per session, in arrival order. Answers wait for earlier ones.

Most notifications are handled on the spot and never come here. A handler that is a coroutine runs in the
worker of its lane; what arrives for the same lane meanwhile queues behind it. An answer is delivered after
the handlers of what arrived before it, with one exception that makes every call from inside a handler safe:
it overtakes a handler that had already started when the call was made, because that handler may be waiting
for this very answer.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.core import Connection

if TYPE_CHECKING:  # it needs asyncio, which nobody has to load to import the SDK
    from dragoman.runtime.owner import TaskOwner

log = logging.getLogger(__name__)

Work = Callable[[], Coroutine[object, None, None]]
HandlerFunction = Callable[[Any], Coroutine[object, None, object]]

EACH = 512
"""The extra cost of a waiting notification in bytes: many empty ones are still many."""


class _HandlerRun:
    """Messages that wait for the same handler, and what each counts in bytes."""

    __slots__ = ("each", "function", "messages")

    def __init__(self, function: HandlerFunction, messages: deque[Any], each: int) -> None:
        self.function = function
        self.messages = messages
        self.each = each


class _SessionQueue:
    __slots__ = ("queue", "start_stamp")

    def __init__(self) -> None:
        self.queue: deque[_HandlerRun | Callable[[], None]] = deque()  # a callable delivers an answer
        self.start_stamp = 0  # the stamp at which the running handler started


class SessionQueues:
    """All queues of one link; a queue exists only while it is busy."""

    __slots__ = ("_connection", "_lanes", "_owner", "_relief", "size")

    def __init__(self, connection: Connection[Any], owner: TaskOwner, relief: Callable[[], None]) -> None:
        self._connection = connection
        self._owner = owner
        self._relief = relief  # told when something that waited has been handled
        self._lanes: dict[Hashable, _SessionQueue] = {}
        self.size = 0  # bytes that wait in all queues

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def submit(self, key: Hashable, work: Work, size: int) -> None:
        self.submit_run(key, _run_work, (work,), size)

    def submit_run(
        self, key: Hashable, function: HandlerFunction, messages: Sequence[Any], each: int
    ) -> None:
        """Call `function` with each of these messages in order; each counts as `each` bytes."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _SessionQueue()
            # A worker that is cancelled before its first step has no `finally` of its own.
            self._owner.start(self._work(key, lane)).add_done_callback(lambda _: self._close(key, lane))
        lane.queue.append(_HandlerRun(function, deque(messages), each))
        self.size += each * len(messages)

    def behind(self, key: Hashable | None, stamp: int, deliver: Callable[[], None]) -> None:
        """Deliver the answer to a call that was made at `stamp`, after the messages before it. Without a key,
        all queues count.
        """
        lanes = (
            list(self._lanes.values()) if key is None else [lane] if (lane := self._lanes.get(key)) else []
        )
        ahead = [lane for lane in lanes if not 0 < lane.start_stamp <= stamp]
        if not ahead:
            deliver()
            return
        remaining = len(ahead)

        def on_reached() -> None:
            nonlocal remaining
            remaining -= 1
            if remaining == 0:
                deliver()

        for lane in ahead:
            lane.queue.append(on_reached)

    async def _work(self, key: Hashable, lane: _SessionQueue) -> None:
        try:
            while lane.queue:
                waiting = lane.queue.popleft()
                if isinstance(waiting, _HandlerRun):
                    await self._handle(lane, waiting)
                else:
                    waiting()
        finally:
            self._close(key, lane)

    def _close(self, key: Hashable, lane: _SessionQueue) -> None:
        """Nothing is left to do in it, or we are being closed: then whoever waits for an answer that is here
        gets it.
        """
        if self._lanes.get(key) is not lane:
            return
        del self._lanes[key]
        for waiting in lane.queue:
            if isinstance(waiting, _HandlerRun):
                self.size -= waiting.each * len(waiting.messages)
            else:
                waiting()

    async def _handle(self, lane: _SessionQueue, run: _HandlerRun) -> None:
        """One handler after the other; what is left when we are cancelled no longer waits."""
        function, messages, each, connection = run.function, run.messages, run.each, self._connection
        try:
            while messages:
                connection.stamp += 1
                lane.start_stamp = connection.stamp
                try:
                    await function(messages[0])
                except Exception:  # a failing handler must not take its lane down
                    log.exception("a notification handler failed")
                lane.start_stamp = 0
                messages.popleft()
                self.size -= each
                self._relief()
        finally:
            lane.start_stamp = 0
            self.size -= each * len(messages)


def _run_work(work: Work) -> Coroutine[object, None, None]:
    return work()
