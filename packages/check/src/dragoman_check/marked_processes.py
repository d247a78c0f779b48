"""Whether a process runs that an examination has had started, known by a word on its command line.

Its number says nothing: who is examined may run it in a container or behind a wall, where numbers begin anew.
Where there is no `/proc`, nothing is ever seen.
"""

from __future__ import annotations

from pathlib import Path


def runs(mark: str) -> bool:
    """Whether somebody has this word on the command line. Who ended has none, also before it is reaped."""
    return any(mark.encode() in _words_of(process) for process in Path("/proc").glob("[0-9]*"))


def _words_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended
        return b""
