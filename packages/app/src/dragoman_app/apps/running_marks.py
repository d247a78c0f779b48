"""Shows whether a recorded session still runs: its process keeps a file locked.

What the journal says of a session is how it stood when its process last wrote. One that was killed in a turn
wrote that the turn runs, and nothing after it.
"""

from __future__ import annotations

import os
from types import TracebackType

from msgspec.structs import replace

from dragoman.system.files import CAREFUL, HAS_LOCKS, try_lock
from dragoman_local.journal import StreamInfo
from dragoman_local.journal.history import history_path

INTERRUPTED = "interrupted"


class RunningMark:
    """A lock while a session is recorded. The system removes it when the process ends in any way."""

    def __init__(self, stream: str) -> None:
        self._path = _mark(stream)
        self._descriptor = -1

    def __enter__(self) -> None:
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | CAREFUL, 0o600)
            try_lock(self._descriptor)
        except OSError:
            pass  # a conversation is worth more than what a list says of it

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor >= 0:
            _remove(self._path)
            os.close(self._descriptor)


def with_current_state(info: StreamInfo) -> StreamInfo:
    """Return the stream's info, with the state `interrupted` if it is stored as running
    but has no process.
    """
    if info.state != "running" or is_running(info.stream):
        return info
    return replace(info, state=INTERRUPTED)


def is_running(stream: str) -> bool:
    """Whether a process of this machine records this stream. Removes the mark of a killed process."""
    if not HAS_LOCKS:  # nobody can tell, and the journal is believed
        return True
    path = _mark(stream)
    try:
        descriptor = os.open(path, os.O_RDWR | CAREFUL)
    except OSError:
        return False
    try:
        if not try_lock(descriptor):
            return True
        _remove(path)
        return False
    finally:
        os.close(descriptor)


def _mark(stream: str) -> str:
    return os.path.join(history_path().parent, "running", stream)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
