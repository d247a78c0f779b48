"""Finds callbacks that block the event loop longer than allowed, by computing or by waiting for the system.

    with LoopWatch(log_slow_callback):
        asyncio.run(main())

A busy machine lets everything take long, so the clock on the wall proves nothing. Computing is counted by the
processor time of the loop's thread, without what garbage collection takes. Waiting is what a second thread
sees: in one callback the loop's thread sleeps, and has not been woken once since the last look. A thread that
waits for a processor does not sleep, and one that waits for the interpreter's lock is woken all the time.

Waiting is seen on Linux alone. This is for development and tests: each callback costs a microsecond more.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from msgspec import Struct

from dragoman.version import PACKAGES

log = logging.getLogger(__name__)

SWITCH = "DRAGOMAN_LOOP_WATCH"
"""The environment variable that makes `dragoman hub` watch its loop."""

LONGEST = 0.05
"""The most seconds for one callback: others wait for it."""


_LOOK_EVERY = 0.4
"""Looks of the second thread, in parts of the longest time."""


class SlowCallback(Struct, frozen=True, kw_only=True):
    """A callback that blocked the loop."""

    name: str
    how: Literal["computed", "waited"]
    seconds: float
    place: str
    """The place of our code at that time, if known."""

    def __str__(self) -> str:
        place = f" at {self.place}" if self.place else ""
        return f"{self.name} {self.how} for {self.seconds * 1000:.0f} ms in the event loop{place}"


class _RunningCallback:
    __slots__ = ("handle", "is_reported", "place", "sleep", "start")

    def __init__(self, handle: asyncio.Handle, start: int) -> None:
        self.handle = handle
        self.start = start
        """Processor time of the thread, in nanoseconds."""
        self.place: str | None = None
        self.sleep: tuple[str, float] | None = None
        """How often the thread had been woken at the last look, and when that began to hold."""
        self.is_reported = False


class LoopWatch:
    """Watches the event loop of the thread that enters it, and reports callbacks in which our own code was
    slow. A test's own task is not reported.
    """

    def __init__(self, report: Callable[[SlowCallback], None], *, seconds: float = LONGEST) -> None:
        self._report = report
        self._seconds = seconds
        self._thread = 0
        self._native_thread = 0
        self._current: _RunningCallback | None = None
        self._collecting = 0  # nanoseconds in all, and when the collection began that is under way
        self._collection_start = 0
        self._original = asyncio.Handle._run
        self._stop = threading.Event()
        self._looker: threading.Thread | None = None

    def __enter__(self) -> LoopWatch:
        self._thread, self._native_thread = threading.get_ident(), threading.get_native_id()
        self._original = original = asyncio.Handle._run

        def run(handle: asyncio.Handle) -> None:
            if threading.get_ident() == self._thread:
                self._run(original, handle)
            else:
                original(handle)

        asyncio.Handle._run = run  # type: ignore[assignment, method-assign]
        gc.callbacks.append(self._on_collection)
        if sys.platform == "linux":
            self._looker = threading.Thread(target=self._look_regularly, daemon=True, name="loop watch")
            self._looker.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.Handle._run = self._original  # type: ignore[method-assign]
        gc.callbacks.remove(self._on_collection)
        self._stop.set()
        if self._looker is not None:
            self._looker.join()

    def _run(self, original: Callable[[asyncio.Handle], None], handle: asyncio.Handle) -> None:
        collecting, start = self._collecting, time.thread_time_ns()
        running = self._current = _RunningCallback(handle, start)
        try:
            original(handle)
        finally:
            self._current = None
            used = time.thread_time_ns() - start - (self._collecting - collecting)
            if used > self._seconds * 1e9:
                self._tell(running, "computed", used / 1e9)

    def _on_collection(self, phase: str, _: dict[str, int]) -> None:
        if threading.get_ident() == self._thread:
            if phase == "start":
                self._collection_start = time.thread_time_ns()
            else:
                self._collecting += time.thread_time_ns() - self._collection_start

    def _tell(self, running: _RunningCallback, how: Literal["computed", "waited"], seconds: float) -> None:
        name, file = _describe(running.handle)
        is_ours = file.startswith(package_folders()) or (running.place is not None and _is_of_others(file))
        if is_ours and not running.is_reported:
            running.is_reported = True
            self._report(SlowCallback(name=name, how=how, seconds=seconds, place=running.place or ""))

    # The second thread.

    def _look_regularly(self) -> None:
        clock = time.pthread_getcpuclockid(self._thread)
        while not self._stop.wait(self._seconds * _LOOK_EVERY):
            running = self._current
            if running is not None:
                self._look(running, time.clock_gettime_ns(clock))

    def _look(self, running: _RunningCallback, used: int) -> None:
        state, wakings = _read_status(self._native_thread)
        now = time.monotonic()
        if used - running.start > self._seconds * 0.5e9:
            running.place = _place_of(sys._current_frames().get(self._thread)) or running.place
        if state not in ("S", "D"):
            running.sleep = None
        elif running.sleep is None or running.sleep[0] != wakings:
            running.sleep = (wakings, now)
        elif now - running.sleep[1] > self._seconds and self._current is running:
            running.place = _place_of(sys._current_frames().get(self._thread))
            self._tell(running, "waited", now - running.sleep[1])


def _read_status(thread: int) -> tuple[str, str]:
    """The state of a thread, and how often it has given up its processor by itself."""
    try:
        text = Path(f"/proc/self/task/{thread}/status").read_text()
    except OSError:
        return "", ""
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return fields.get("State", "")[:1], fields.get("voluntary_ctxt_switches", "")


def _place_of(frame: FrameType | None) -> str | None:
    """Where in our code a thread is, below which it is in code of others at most; None if it is elsewhere,
    as in a test.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        for folder in package_folders():
            if file.startswith(folder):
                return f"{os.path.relpath(file, folder + '..')}:{frame.f_lineno} ({frame.f_code.co_qualname})"
        if not _is_of_others(file):
            return None
        frame = frame.f_back
    return None


def package_folders() -> tuple[str, ...]:
    """Return the folders of our loaded packages."""
    loaded = (sys.modules.get(name) for name in PACKAGES)
    return tuple(os.path.join(module.__path__[0], "") for module in loaded if module is not None)


def _is_of_others(file: str) -> bool:
    """Whether it is Python's, or a package's; what is neither is a test, or a program that uses us."""
    return not file or file.startswith((sys.prefix, sys.base_prefix, "<"))


def _describe(handle: asyncio.Handle) -> tuple[str, str]:
    """The name of what a handle calls, and the file that it is in."""
    callback: Any = getattr(handle, "_callback", None)
    while isinstance(callback, functools.partial):
        callback = callback.func
    task = getattr(callback, "__self__", None)
    target: Any = task.get_coro() if isinstance(task, asyncio.Task) else callback
    code = getattr(target, "cr_code", None) or getattr(target, "__code__", None)
    return getattr(target, "__qualname__", repr(target)), getattr(code, "co_filename", "")


def log_slow_callback(slow: SlowCallback) -> None:
    log.warning("%s", slow)
