"""Finds which processes that use a file are alive: each locks a mark file beside it while it lives.

The system lets go of a lock when its process ends, however that is. What the dead have left is removed by the
next process that makes a mark.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from dragoman.system.files import CAREFUL, HAS_LOCKS, try_lock


class ProcessMarks:
    """The mark files beside one file; without a path there are none."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._own = ""
        self._descriptor = -1

    def own(self) -> str:
        """Return the name of this process, marked as alive."""
        if not self._own and self._path is not None:
            for path in self._path.parent.glob(f"{self._path.name}-open-*"):
                self.is_alive(path.name.removeprefix(f"{self._path.name}-"))
            name = f"open-{os.getpid()}-{secrets.token_hex(4)}"
            self._descriptor = os.open(self._file(name), os.O_RDWR | os.O_CREAT | CAREFUL, 0o600)
            try_lock(self._descriptor)
            self._own = name
        return self._own

    def is_alive(self, name: str) -> bool:
        """Whether the process with this name lives. The mark of a dead one is removed."""
        if not name or name == self._own:
            return bool(name)
        try:
            descriptor = os.open(self._file(name), os.O_RDWR | CAREFUL)
        except OSError:
            return False
        try:
            if not (HAS_LOCKS and try_lock(descriptor)):
                return True
            with suppress(OSError):
                os.unlink(self._file(name))
            return False
        finally:
            os.close(descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):
                os.unlink(self._file(self._own))
            os.close(self._descriptor)
            self._own, self._descriptor = "", -1

    def _file(self, name: str) -> str:
        return f"{self._path}-{name}"
