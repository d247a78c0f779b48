"""Resolves the links in paths. A disk may hang, so the event loop never waits for it.

Threads look, and what they find is good for seconds, because links change. Whoever decides about a request
calls `look` first. Whoever only shows something hears what was found last, and by asking starts the next
look. A path that was never looked at, or whose disk does not answer in time, leads nowhere.

Each path is looked at once at a time: a disk that hangs holds one thread for each of its paths, and nobody
but those who ask for them.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

FRESH_SECONDS = 3.0
"""The seconds for which a resolved path is valid. After that a link may have changed; between the check and
the use it can change in any case.
"""

LOOK_SECONDS = 5.0
"""The most seconds to wait for a disk."""

PATHS = 10_000
"""The most known paths."""

THREADS = 16


class RealPaths:
    """The resolved paths of one process, shared by all callers."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, patience: float = LOOK_SECONDS
    ) -> None:
        self._clock = clock
        self._patience = patience
        self._lock = threading.Lock()
        self._places: OrderedDict[str, tuple[str | None, float]] = OrderedDict()  # and when somebody looked
        self._looks: dict[str, Future[None]] = {}
        self._threads: ThreadPoolExecutor | None = None

    def get(self, path: str) -> str | None:
        """Return the target of a path; None if there is none. Waits for the disk if no event loop runs."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _resolve(path)
        if self.needs_look(path):
            self._start(path)
        return self._places.get(path, (None, 0.0))[0]

    def needs_look(self, path: str) -> bool:
        """Whether the path was not resolved recently."""
        place = self._places.get(path)
        return place is None or self._clock() - place[1] > FRESH_SECONDS

    async def look(self, paths: Iterable[str]) -> None:
        """Resolve the paths that need it."""
        looks = {path: asyncio.wrap_future(self._start(path)) for path in paths if self.needs_look(path)}
        if not looks:
            return
        await asyncio.wait(looks.values(), timeout=self._patience)
        with self._lock:
            for path, look in looks.items():
                if not look.done():
                    self._places.pop(path, None)

    def _start(self, path: str) -> Future[None]:
        with self._lock:
            look = self._looks.get(path)
            if look is None:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(THREADS, "real paths")
                look = self._looks[path] = self._threads.submit(self._look, path)
            return look

    def _look(self, path: str) -> None:
        real = _resolve(path)
        with self._lock:
            self._looks.pop(path, None)
            self._places[path] = (real, self._clock())
            self._places.move_to_end(path)
            if len(self._places) > PATHS:
                self._places.popitem(last=False)


def _resolve(path: str) -> str | None:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # links in a circle, say
        return None


real_paths = RealPaths()
