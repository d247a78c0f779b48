"""`dragoman run` in a terminal of its own, as a person would have it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dragoman.testing.pace import patience
from tests.apps.run.run_process import home
from tests.forks import DRAGOMAN

CTRL_C = "\x03"


class Teletype:
    """The person's side of the terminal."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self.shown = ""
        self.fd = fd
        self._bytes = b""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read_until(self, found: str, *, seconds: float = 30.0) -> str:
        return self._read(lambda: found in self.shown, f"show {found!r}", seconds)

    def wait(self, *, seconds: float = 30.0) -> int:
        """Until it has ended; its exit status."""
        self._read(lambda: self.process.poll() is not None, "end", seconds)
        self._take(0.0)
        return self.process.returncode

    def _read(self, is_there: Callable[[], bool], what: str, seconds: float) -> str:
        give_up = time.monotonic() + patience(seconds)
        while not is_there():
            if time.monotonic() > give_up:
                raise AssertionError(f"it did not {what} within {seconds:g} s, but showed {self.shown!r}")
            self._take(0.05)
        return self.shown

    def _take(self, seconds: float) -> None:
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # the other side is closed
                return
            if not data:
                return
            self._bytes += data
            self.shown = self._bytes.decode(errors="replace").replace("\r\n", "\n")
            seconds = 0.0


@contextmanager
def in_terminal(*arguments: str, folder: Path, env: Mapping[str, str] | None = None) -> Iterator[Teletype]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*DRAGOMAN, "run", *arguments],  # it makes the terminal its own
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=env or home(folder),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Teletype(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)
