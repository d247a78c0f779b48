"""Ends the process after a signal, within a time limit, whatever its handlers do.

A handler may swallow its cancellation, block its thread, or block the event loop itself, and then nothing in
the loop can bring the process to its end. Clients wait a few seconds before they kill, so a thread watches:
when the end takes longer than `END_WITHIN`, it ends the process on the spot. Child processes that we own do
not outlive that (see `transport.guard`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from dragoman.runtime import Limits

log = logging.getLogger(__name__)

END_WITHIN = 4.0
"""The most seconds between a request to end and the end of the process. Clients usually allow five."""

SPARE = 0.5
"""The part of this time that remains when all work with a limit has used it up."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ShutdownSignals:
    """Ends the run on a signal: use `with ShutdownSignals() as leaving:` around the whole run. The first
    signal sets `end_event` and `number`. The end takes at most `within` seconds.
    """

    abandon: Callable[[], None] | None = None
    """Called in a thread just before a process that takes longer is ended; it must return at once."""

    def __init__(self, *, within: float | None = None, signals: Sequence[int] = SIGNALS) -> None:
        self.end_event = asyncio.Event()
        self.within = END_WITHIN if within is None else within
        self.number: int | None = None
        self._signals = signals
        self._loop: asyncio.AbstractEventLoop | None = None
        # Locks, because a signal may interrupt the main thread while it starts a thread: then another thread
        # cannot be started, so the one that watches is there from the start and waits for these.
        self._begin_lock, self._end_lock = threading.Lock(), threading.Lock()
        self._begin_lock.acquire()
        self._end_lock.acquire()
        self._former: dict[int, Any] = {}
        self._former_wake_fd = -1
        self._wake_pipe: tuple[int, int] | None = None

    @property
    def status(self) -> int:
        """The exit status of a process that is ended because it takes longer."""
        return 1

    def listen(self) -> None:
        """Let signals wake the running event loop from now on."""
        self._loop = asyncio.get_running_loop()
        if not self._former or os.name == "nt":
            return
        # Else a signal just before the loop begins to wait would be told only when something else wakes it.
        self._wake_pipe = os.pipe()
        for fd in self._wake_pipe:
            os.set_blocking(fd, False)
        self._loop.add_reader(self._wake_pipe[0], self._woken, self._wake_pipe[0])
        self._former_wake_fd = signal.set_wakeup_fd(self._wake_pipe[1], warn_on_full_buffer=False)

    def begin(self) -> None:
        """Start the time limit for the end of the process."""
        with contextlib.suppress(RuntimeError):  # it began before
            self._begin_lock.release()

    def ask(self, number: int) -> None:
        """Act as if this signal had arrived. Any thread may call it."""
        self._on_signal(number, None)

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="end watch", daemon=True).start()
        if threading.current_thread() is threading.main_thread():  # Python tells no other of signals
            # Not the loop's own way: a handler that blocks the loop would block that as well.
            for number in self._signals:
                # A shell's background job ignores it: Ctrl-C is not for that.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._former[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_lock.release()
        self.begin()
        for number, handler in self._former.items():
            signal.signal(number, handler)
        if self._wake_pipe is not None:
            signal.set_wakeup_fd(self._former_wake_fd)
            for fd in self._wake_pipe:
                os.close(fd)

    @staticmethod
    def _woken(fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(fd, 512)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number
        self.begin()
        if self._loop is None:
            self.end_event.set()
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: we are as good as gone
            self._loop.call_soon_threadsafe(self.end_event.set)

    def _watch(self) -> None:
        self._begin_lock.acquire()
        if self._end_lock.acquire(timeout=self.within):
            return
        log.error("the end took longer than %g s; the process ends without its handlers", self.within)
        if self.abandon is not None:
            self.abandon()
        os._exit(self.status)


def time_to_end(limits: Limits) -> float:
    """Return the time that work may take by its limits, and a moment more; `END_WITHIN` with the default
    limits.
    """
    return limits.end_seconds + limits.cancel_seconds + SPARE


async def first_of(*waits: Coroutine[object, None, object]) -> None:
    """Wait until one of these has ended, and cancel the others."""
    tasks = [asyncio.get_running_loop().create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
