"""Runs command lines for real, in a place where every program only writes down how it was called."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from dragoman.testing.pace import patience

PROGRAMS = ("git", "ls", "cat", "a", "b")
REAL = ("sh", "bash", "timeout", "nohup")

_STUB = """#!/bin/sh
printf '%s\\037' "${0##*/}" "$@" > "$RECORDS/$$"
"""


class Recorder:
    """A folder with programs that record their arguments."""

    def __init__(self, folder: Path) -> None:
        self._bin, self._records, self._cwd = folder / "bin", folder / "records", folder / "cwd"
        for each in (self._bin, self._records, self._cwd):
            each.mkdir()
        for name in PROGRAMS:
            (self._bin / name).write_text(_STUB)
            (self._bin / name).chmod(0o755)
        for name in REAL:
            found = shutil.which(name)
            if found:
                (self._bin / name).symlink_to(os.path.realpath(found))

    def run(self, line: str, *, shell: str) -> Counter[tuple[str, ...]]:
        """What the line started, with which arguments; the order is not kept."""
        for old in self._records.iterdir():
            old.unlink()
        # A home of this name makes a tilde stay what it is.
        env = {"PATH": str(self._bin), "RECORDS": str(self._records), "HOME": "~", "LC_ALL": "C.UTF-8"}
        subprocess.run(
            [str(self._bin / shell), "-c", line],
            cwd=self._cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=patience(20),
        )
        found = (record.read_bytes().decode() for record in self._records.iterdir())
        return Counter(tuple(text.split("\x1f")[:-1]) for text in found)

    def left_behind(self) -> list[str]:
        return [path.name for path in self._cwd.iterdir()]


def accepts(line: str, *, shell: str) -> bool:
    """Whether a shell takes a line for well-formed."""
    done = subprocess.run(
        [shell, "-n"], input=line.encode(), capture_output=True, check=False, timeout=patience(20)
    )
    return done.returncode == 0
