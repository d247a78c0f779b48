"""The conversation that blocking `connect` opens: an agent that is yours until the `with` ends.

The conversation runs in an event loop, which has a thread of its own. Whoever calls something waits for the
loop. Leaving the `with` ends the conversation, the loop and its thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING

from dragoman.sdk.connect import ConnectContext, not_entered
from dragoman.sdk.sync.agent import SyncAgentHandle
from dragoman.sdk.sync.run import STUBBORN, ProgramThreads, Runner

log = logging.getLogger(__name__)


class Conversation:
    """A conversation with an agent, run by an event loop in another thread. Nothing starts
    before the `with`.
    """

    def __init__(self, connecting: ConnectContext, threads: ProgramThreads, stderr: StderrCalls) -> None:
        self._connecting = connecting
        self._threads = threads
        self._stderr = stderr
        self._loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread
        self._run: Runner

    if not TYPE_CHECKING:  # a type checker finds it by itself

        def __getattr__(self, name: str) -> object:
            raise not_entered(name, "with connect(…) as agent:")

    def __enter__(self) -> SyncAgentHandle:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._keep, name="dragoman loop", daemon=True)
        self._thread.start()
        self._run = Runner(self._loop, self._thread, self._threads)
        try:
            return SyncAgentHandle(self._run(self._connecting.__aenter__()), self._run)
        except BaseException:  # Ctrl-C may come when the agent runs already
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._thread.is_alive():
            return  # a fork of the process that connected: the agent is not ours
        try:
            self._run(self._connecting.__aexit__(kind, error, trace))
        finally:
            self._close()

    def _close(self) -> None:
        self._run.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._threads.close()
        self._stderr.close()

    def _keep(self) -> None:
        """The loop's thread."""
        loop = self._loop
        try:
            loop.run_forever()
            loop.run_until_complete(_cancel_all())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()


class StderrCalls:
    """Calls a function with the agent's standard error, in its own thread, so that it can't block the
    loop.
    """

    def __init__(self, function: Callable[[bytes], None] | None) -> None:
        self._function = function
        self._chunks: SimpleQueue[bytes] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def put(self) -> Callable[[bytes], None] | None:
        """The function that accepts a chunk; None if no function reads standard error."""
        return None if self._function is None else self._put

    def _put(self, chunk: bytes) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="dragoman stderr", daemon=True)
            self._thread.start()
        self._chunks.put(chunk)

    def _work(self) -> None:
        assert self._function is not None
        while chunk := self._chunks.get():
            try:
                self._function(chunk)
            except Exception:  # the next chunk is not lost with this one
                log.exception("on_stderr failed")

    def close(self) -> None:
        """Wait for a limited time until the function has received everything."""
        if self._thread is not None:
            self._chunks.put(b"")
            self._thread.join(STUBBORN)
            self._thread = None


async def _cancel_all() -> None:
    """Nothing outlives its loop."""
    other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in other_tasks:
        task.cancel()
    if other_tasks:
        await asyncio.wait(other_tasks, timeout=STUBBORN)
