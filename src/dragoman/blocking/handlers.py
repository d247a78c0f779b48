"""Handlers, called in the thread that has something for them.

`inline_handlers` gives a copy of an agent or a client whose handlers wait for nothing but the pipe. Plain
functions are called on the spot. Coroutine functions of a client run in a private event loop, in a thread of
its own, so that they may be used inside a running loop too.

Notifications of one session are handled one by one: if a handler asks the peer for something, and more
notifications arrive before the answer, they wait until that handler is through.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.blocking.worker import current_worker
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.agent.session import Turn
from dragoman.sdk.client.client import Client
from dragoman.sdk.handlers import Handler, Handlers
from dragoman.sdk.sync.run import STEPPING, Runner

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = DeferredModule("asyncio")

A = TypeVar("A", Agent, Client)

STUBBORN = 1.0
"""Seconds that a coroutine gets to end after its cancellation."""

Await = Callable[[Coroutine[object, None, object]], Any]
Faces = Callable[[Any, Any, Runner], tuple[Any, Any]]


def inline_handlers(original: A, *, faces: Faces, wait_for: Await) -> A:
    """The same agent or client with inline handlers. `faces` are what they get, `wait_for` runs the
    coroutines of async ones.
    """
    inline_copy = copy.copy(original)
    lanes = _Lanes()
    inline_copy.handlers = Handlers()
    for method, handler in original.handlers.items():
        inline_copy.handlers.replace(method, Inline(handler, lanes, faces, wait_for))
    return inline_copy


class Inline(Handler):
    """A handler that is always called on the spot."""

    __slots__ = ("_faces", "_handler", "_lanes", "_wait_for", "answer", "direct")

    def __init__(self, handler: Handler, lanes: _Lanes, faces: Faces, wait_for: Await) -> None:
        self._handler = handler
        self._lanes = lanes
        self._faces = faces
        self._wait_for = wait_for
        self.is_async = False
        self.wants_peer = True  # it is called by `now` and by nothing shorter
        self.answer: Callable[[Any, Any], Any] = self._await if handler.is_async else self._call
        """Takes the message and the peer, and returns what the handler answers."""
        self.direct = None if handler.is_async or handler.wants_peer else handler.function
        """The function itself, if it takes nothing but the message."""

    async def work(self, message: object, peer: object) -> Any:
        """A request. Never suspends."""
        return self.answer(message, peer)

    def now(self, message: object, peer: object) -> Any:
        """A notification."""
        lane = getattr(message, "session_id", None)
        self._lanes.run(lane, lambda: self.answer(message, peer))

    def _await(self, message: object, peer: object) -> Any:
        return self._wait_for(self._handler.now(message, peer))

    def _call(self, message: object, peer: object) -> Any:
        handler = self._handler
        if not handler.wants_peer and not isinstance(message, Turn):
            return handler.function(message)
        run: Runner = current_worker() or STEPPING
        return handler.now(*self._faces(message, peer, run))


class _Lanes:
    """Notifications that wait behind a handler of the same session."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[Callable[[], Any]]] = {}

    def run(self, lane: Hashable, handle: Callable[[], object]) -> None:
        waiting = self._waiting.get(lane)
        if waiting is not None:  # we are inside that handler: it asked something, and this came meanwhile
            waiting.append(handle)
            return
        waiting = self._waiting[lane] = deque([handle])
        try:
            while waiting:
                waiting.popleft()()
        finally:
            del self._waiting[lane]


class PrivateLoop:
    """An event loop in a thread of its own, started when the first coroutine comes."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def thread(self) -> int:
        """The number of the thread, once it runs."""
        assert self._thread is not None
        return self._thread.ident or 0

    def start(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="async handlers", daemon=True)
            self._thread.start()
        return self._loop

    def __call__(self, work: Coroutine[object, None, object]) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, self.start())
        try:
            return future.result()
        except BaseException:
            future.cancel()  # if it was Ctrl-C; otherwise there is nothing left to cancel
            raise

    def close(self) -> None:
        if self._loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None


async def _cancel_all() -> None:
    """Nothing outlives its loop."""
    other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in other_tasks:
        task.cancel()
    if other_tasks:
        await asyncio.wait(other_tasks, timeout=STUBBORN)
