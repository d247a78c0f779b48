"""The terminal of the client, and its end: a closed window, a cut connection.

Textual's driver expects its terminal to be there. Once it is gone, its output thread dies of the first write,
the event loop waits for that thread for good, and its input thread reads the end of the input again and
again. Here, what is written to a terminal that is gone is dropped, and the application is told of the hangup
once.
"""

from __future__ import annotations

import os
import select
import termios
import threading
from contextlib import suppress
from typing import IO, Any, Protocol, cast

from textual.drivers.linux_driver import LinuxDriver

LEAVE_MODES = b"\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[?7h\x1b[?1049l\x1b[?25h"
"""Undoes the driver's modes: keyboard, mouse, paste, focus, line wrap, the other screen, the cursor."""

LAST_WRITE = 0.2
"""The seconds for writing them when the process ends at once: the terminal may never read again."""


class HangupListener(Protocol):
    """Receives the end of the terminal; the application implements it."""

    def on_hangup(self) -> None:
        """The terminal is gone. Called once, in a thread."""


class TerminalDriver(LinuxDriver):
    """Textual's driver for Unix, which survives its terminal."""

    def __init__(
        self, *arguments: Any, **options: Any
    ) -> None:  # those of Textual's driver, whatever they are
        super().__init__(*arguments, **options)
        self._file: Any = _Droppable(self._file)
        self._is_watching = False

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual's
        if not self._is_watching:  # it is started again after each Ctrl-Z
            self._is_watching = True
            threading.Thread(target=self._watch, name="terminal watch", daemon=True).start()

    def _watch(self) -> None:
        if wait_for_hangup(self.fileno):
            self.exit_event.set()  # else the input thread reads without a pause
            cast("HangupListener", self._app).on_hangup()

    def give_back(self) -> None:
        """Restore the terminal, for a process that ends at once. Does not wait."""
        if self.attrs_before is not None:
            try:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            except termios.error:
                return  # it is gone
        writing = threading.Thread(target=os.write, args=(self._file.fileno(), LEAVE_MODES), daemon=True)
        writing.start()
        writing.join(LAST_WRITE)


class _Droppable:
    """The terminal's file; what cannot be written any more is dropped."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):  # nobody is there who could read it
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


def wait_for_hangup(fd: int) -> bool:
    """Wait until the terminal is gone. False if this system can't wait for that; there SIGHUP reports it."""
    watch = select.poll()
    watch.register(fd, 0)  # a hangup is reported without being asked for
    try:
        events = watch.poll()
    except OSError:
        return False
    return any(event & select.POLLHUP for _, event in events)
