"""A command in a terminal of its own, which a test can close or leave unread. Most are forks."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests import forks
from tests.apps.run.run_process import home

PATIENCE = 60.0
"""Seconds that a busy machine gets for a start. An end has a bound of its own."""

ENDS_WITHIN = 20.0
"""Seconds on a busy machine; an orderly end takes five at most."""

CLOSED = "the terminal is closed"


class Held:
    """A command in a terminal of its own, whose other side is ours."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        ignores_hangup: bool = False,
        is_read: bool = True,
    ) -> None:
        self._is_read = is_read
        self._terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        env = env or home(folder, TERM="xterm-256color")
        fork = None if ignores_hangup else forks.start_in_terminal(command, theirs, cwd=folder, env=env)
        self.process = fork or self._start(command, theirs, folder, env, ignores_hangup=ignores_hangup)
        os.close(theirs)
        os.set_blocking(self._terminal, False)
        self.shown = ""

    @staticmethod
    def _start(
        command: Sequence[str], terminal: int, folder: Path, env: Mapping[str, str], *, ignores_hangup: bool
    ) -> subprocess.Popen[bytes]:
        """A process; a fork hears the hangup."""

        def begin() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_IGN if ignores_hangup else signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)

        return subprocess.Popen(
            command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env=env,
            start_new_session=True,
            preexec_fn=begin,
        )

    def read(self) -> str:
        try:
            while data := os.read(self._terminal, 65536):
                self.shown += data.decode(errors="replace")
        except OSError:  # nothing more now, or nothing ever
            pass
        return self.shown

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def wait_for(self, is_there: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        def is_there_now() -> object:
            if self._terminal >= 0 and self._is_read:
                self.read()
            return is_there()

        try:
            wait_until(is_there_now, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; shown: {self.shown[-2000:]!r}") from None

    def end(self, how: str) -> None:
        if how == CLOSED:
            os.close(self._terminal)
            self._terminal = -1
        else:
            self.process.send_signal(getattr(signal, how))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self._terminal >= 0:
            os.close(self._terminal)


def wait_until(is_there: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    until = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > until:
            raise AssertionError(f"{what} did not happen within {seconds:g} s")
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
