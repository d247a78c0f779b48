"""Finds processes that a test has caused, by a marker word on their command lines.

Its number says nothing: who is examined may run it in a container or in a sandbox, where numbers begin anew.
Where there is no `/proc`, nothing is ever seen.
"""

from __future__ import annotations

from pathlib import Path


def find(mark: str) -> list[Path]:
    """Return processes with this word on their command line. Reads every process: don't call it in a loop."""
    return [process for process in Path("/proc").glob("[0-9]*") if run([process], mark)]


def run(processes: list[Path], mark: str) -> bool:
    """Whether some of these still run. An ended process has no command line, even before it is reaped."""
    return any(mark.encode() in _words_of(process) for process in processes)


def _words_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended
        return b""
