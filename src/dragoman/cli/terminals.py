"""Which descriptors are terminals, and whether a terminal is still there."""

from __future__ import annotations

import os
import select


def held_terminals() -> list[int]:
    """Those of the standard descriptors that are terminals."""
    return [fd for fd in (0, 1, 2) if _is_terminal(fd)]


def is_hung_up(fd: int) -> bool:
    """Whether this terminal is gone: its window was closed, its connection was cut."""
    watch = select.poll()
    watch.register(fd, 0)  # a hangup is reported without being asked for
    return any(event & select.POLLHUP for _, event in watch.poll(0))


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:  # it is closed
        return False
