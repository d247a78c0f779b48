"""Ends a check early after a signal, and reports the results so far as incomplete.

    with Interruption() as interruption:
        found = interruption.run(lambda stop: examine(settings, stop=stop))
        return wishes.finish(Examined(found.recordings, …), interruption=interruption)

All live examinations of `dragoman check` do this: SIGINT, SIGTERM and SIGHUP are caught until the report is
written, and the exit status is then 128 and the number of the signal. A second signal has its usual effect.
A signal that the process was started to ignore, as `nohup` does with SIGHUP, stays ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from types import FrameType, TracebackType
from typing import Any, TypeVar

from dragoman_app.apps.console import say

T = TypeVar("T")

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interruption:
    """The signal that ended a check, if any."""

    def __init__(self) -> None:
        self._number = 0
        self._handlers: dict[int, Any] = {}  # what the signal module returns has no narrower type
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # Python sets handlers nowhere else
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    @property
    def reason(self) -> str:
        """The reason why the report is incomplete; empty if it is complete."""
        if not self._number:
            return ""
        name = signal.Signals(self._number).name
        return f"{name} ended the examination: this report is incomplete"

    def close_report(self) -> int:
        """Say on standard error that the report is incomplete. Returns the exit status."""
        with contextlib.suppress(OSError):  # a terminal that was closed
            say(f"dragoman check: {self.reason}", file=sys.stderr)
        return 128 + self._number

    def run(self, work: Callable[[asyncio.Event], Coroutine[object, None, T]]) -> T:
        """Run work that ends soon after its event is set."""

        async def run() -> T:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            if self._number:
                self._stop.set()
            try:
                return await work(self._stop)
            finally:
                self._loop = None

        return asyncio.run(run())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._number = number
        self.__exit__(None, None, None)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
