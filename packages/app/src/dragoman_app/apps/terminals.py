"""Terminals: which descriptors are terminals, whether they are still open, and how they show colours."""

from __future__ import annotations

import os
import select
from collections.abc import Mapping

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:  # it is closed
        return False


def are_one_file(fd: int, other: int) -> bool:
    """Whether both descriptors write to the same place: one terminal, one pipe, one file."""
    try:
        return os.path.sameopenfile(fd, other)
    except OSError:  # one of them is closed
        return False


def standard_terminals() -> list[int]:
    """Return the standard descriptors that are terminals."""
    return [fd for fd in (0, 1, 2) if is_terminal(fd)]


def is_hung_up(fd: int) -> bool:
    """Whether this terminal is gone: its window was closed, or its connection was cut."""
    poll = select.poll()
    poll.register(fd, 0)  # a hangup is always reported
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def shows_colours(environ: Mapping[str, str], *, is_terminal: bool, is_refused: bool) -> bool:
    """Whether to use colours: only on a terminal with colours, and not if the user refused them
    (no-color.org).
    """
    return is_terminal and not is_refused and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


class Paint:
    """Colours text; without colours it returns the text unchanged."""

    def __init__(self, *, colours: bool) -> None:
        self.colours = colours

    def in_colour(self, text: str, colour: str) -> str:
        # The style ends before the line does: some terminals colour the rest of the screen otherwise.
        if not self.colours or not text.strip():
            return text
        body = text.rstrip("\n")
        return f"\x1b[{_CODES[colour]}m{body}\x1b[0m{text[len(body) :]}"

    def bold(self, text: str) -> str:
        return self.in_colour(text, "bold")

    def dim(self, text: str) -> str:
        return self.in_colour(text, "dim")

    def diff(self, text: str) -> str:
        """Colour a unified diff, line by line."""
        if not self.colours:
            return text
        return "".join(self._diff_line(line) for line in text.splitlines(keepends=True))

    def _diff_line(self, line: str) -> str:
        if line.startswith(("+++", "---")):
            return self.bold(line)
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        return line if colour is None else self.in_colour(line, colour)
