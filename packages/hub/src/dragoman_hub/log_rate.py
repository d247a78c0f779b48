"""Limits the rate of log lines about peers, so that a stranger can't fill the disk.

A filter for loggers. Of each kind of line the first few in a minute are logged; the others are counted, and
one line says how many there were. Lines of one kind begin alike: their text without the values.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

LINES = 5
SECONDS = 60.0

KIND_LENGTH = 48
"""The characters of a line that determine its kind; the rest may be a peer's text."""

VALUE = re.compile(r"%[-+ #0-9.]*[a-zA-Z]")
"""The placeholder for a value in a line."""

KINDS = 256
"""The most kinds that are counted separately; all others count as one."""

LOGGERS = (
    "asyncio",
    "uvicorn.error",
    *(f"dragoman_hub.api.{name}" for name in ("acceptor", "request_admission", "app")),
)
"""Loggers about peers before and during their admission."""


class _Window(Struct):
    since: float
    level: int
    lines: int = 0
    omitted_lines: int = 0


class LogRate(logging.Filter):
    """Limits loggers: attach it to them, and call `flush` from time to time."""

    def __init__(
        self,
        *,
        lines: int = LINES,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._lines = lines
        self._seconds = seconds
        self._clock = clock
        self._windows: dict[tuple[str, str], _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "is_summary", False):
            return True
        key = (record.name, VALUE.sub("…", str(record.msg))[:KIND_LENGTH])
        if key not in self._windows and len(self._windows) >= KINDS:
            key = (record.name, "other lines")
        window = self._windows.get(key)
        if window is None:
            window = self._windows[key] = _Window(self._clock(), record.levelno)
        elif window.since + self._seconds <= self._clock():
            self._end(key)
            window = self._windows[key] = _Window(self._clock(), record.levelno)
        if window.lines < self._lines:
            window.lines += 1
            return True
        window.omitted_lines += 1
        return False

    def flush(self) -> None:
        """Log the counts of omitted lines of ended periods."""
        now = self._clock()
        for key in [key for key, window in self._windows.items() if window.since + self._seconds <= now]:
            self._end(key)

    def _end(self, key: tuple[str, str]) -> None:
        window, (name, kind) = self._windows.pop(key), key
        if window.omitted_lines:
            text = "%d more lines of this kind were omitted: %s"
            logging.getLogger(name).log(
                window.level, text, window.omitted_lines, kind, extra={"is_summary": True}
            )

    @contextmanager
    def filtering(self, names: tuple[str, ...] = LOGGERS) -> Iterator[None]:
        """Filter these loggers for the length of the block; at its end, log all omitted counts."""
        loggers = [logging.getLogger(name) for name in names]
        for logger in loggers:
            logger.addFilter(self)
        try:
            yield
        finally:
            for key in list(self._windows):
                self._end(key)
            for logger in loggers:
                logger.removeFilter(self)

    async def flush_regularly(self) -> None:
        """Flush regularly until cancelled."""
        while True:
            await asyncio.sleep(self._seconds)
            self.flush()
