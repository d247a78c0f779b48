"""Queues of frames that a proxy holds back: one per session, in arrival order.

A frame whose hook is async is judged in the worker of its lane; what arrives for the same session meanwhile
queues behind it, hooked or not. Other sessions pass by. A held frame can be taken out again, because a cancel
overtakes: then its sender gets an answer at once, and the frame never goes on.

Lanes know frames and fates. Which lane a frame belongs to, and what follows from its fate, is the flow's to
say.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator

from dragoman.runtime.owner import TaskOwner
from dragoman.sdk.proxy.calls import ProxyConversation, current
from dragoman.sdk.proxy.hooks import FrameFate, HookMessage, ProxyHook
from dragoman.transport.waiters import Waiters
from dragoman.wire import Id


class ForwardedRequest:
    """A request that was passed on or is held, and has no answer yet."""

    __slots__ = ("id", "method", "queued_frame", "session")

    def __init__(self, request_id: Id, method: str, session: str | None) -> None:
        self.id = request_id
        self.method = method
        self.session = session
        self.queued_frame: QueuedFrame | None = None


class QueuedFrame:
    """A frame in a queue. Without a hook it only waits its turn."""

    __slots__ = ("answer", "envelope", "frame", "hook", "passing")

    def __init__(
        self,
        frame: bytes,
        *,
        hook: ProxyHook | None = None,
        envelope: HookMessage | None = None,
        passing: ForwardedRequest | None = None,
    ) -> None:
        self.frame = frame
        self.hook = hook
        self.envelope = envelope
        self.passing = passing  # if it is a request
        self.answer: bytes | None = None  # what its sender gets, now that it was taken out


class _HookQueue:
    __slots__ = ("judging", "queue", "worker")

    def __init__(self) -> None:
        self.queue: deque[QueuedFrame] = deque()
        self.worker: asyncio.Task[None] | None = None
        self.judging: QueuedFrame | None = None  # the first of the queue, while its hook runs


class HookQueues:
    """All queues of one direction; a queue exists only while it is busy. `settle` gets each frame's
    outcome.
    """

    __slots__ = ("_empty", "_lanes", "_owner", "_settle", "_side", "size")

    def __init__(
        self, owner: TaskOwner, side: ProxyConversation, settle: Callable[[QueuedFrame, FrameFate], None]
    ) -> None:
        self._owner = owner
        self._side = side
        self._settle = settle
        self._lanes: dict[Hashable, _HookQueue] = {}
        self._empty = Waiters()
        self.size = 0  # bytes of all frames that are held

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._lanes

    def __iter__(self) -> Iterator[QueuedFrame]:
        return iter([item for lane in self._lanes.values() for item in lane.queue])

    def add(self, key: Hashable, item: QueuedFrame) -> None:
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _HookQueue()
            lane.worker = self._owner.start(self._work(key, lane))
        lane.queue.append(item)
        self.size += len(item.frame)

    def take_out(self, item: QueuedFrame, answer: bytes) -> None:
        """Remove a frame from its queue, and send `answer` to its sender."""
        for lane in self._lanes.values():
            if lane.judging is item:
                item.answer = answer
                assert lane.worker is not None
                lane.worker.cancel()
            elif item in lane.queue:
                lane.queue.remove(item)
                self.size -= len(item.frame)
                self._settle(item, FrameFate(back=answer))

    async def finish(self, seconds: float) -> None:
        """Wait until no frame is held, up to this time."""
        try:
            async with asyncio.timeout(seconds):
                while self._lanes:
                    await self._empty.wait()
        except TimeoutError:
            pass  # what is still held is lost with the conversation

    async def _work(self, key: Hashable, lane: _HookQueue) -> None:
        current.set(self._side)
        try:
            while lane.queue:
                item = lane.queue[0]
                fate = await self._judge(lane, item)
                lane.queue.popleft()
                self.size -= len(item.frame)
                self._settle(item, fate)
        finally:
            del self._lanes[key]
            self.size -= sum(len(item.frame) for item in lane.queue)
            if not self._lanes:
                self._empty.wake()

    async def _judge(self, lane: _HookQueue, item: QueuedFrame) -> FrameFate:
        if item.hook is None or item.envelope is None:
            return FrameFate(onward=item.frame)
        lane.judging = item
        try:
            verdict = item.hook.judge(item.frame, item.envelope, self._side)
            fate = verdict if isinstance(verdict, FrameFate) else await verdict
        except asyncio.CancelledError:
            if item.answer is None:
                raise  # we are being closed
            fate = FrameFate()
        finally:
            lane.judging = None
        if item.answer is None:
            return fate
        assert lane.worker is not None
        lane.worker.uncancel()  # the item was meant, not the lane
        return FrameFate(back=item.answer)
