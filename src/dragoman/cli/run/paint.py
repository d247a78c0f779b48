"""Colours, or none."""

from __future__ import annotations

import os
from collections.abc import Mapping

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def wants_colours(environ: Mapping[str, str], *, is_terminal: bool, refused: bool) -> bool:
    """Only for a terminal that knows them, and for nobody who said no (no-color.org)."""
    return is_terminal and not refused and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:  # it is closed
        return False


class Paint:
    """Puts text into colours; without them it gives the text back."""

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
        """A unified diff, line by line."""
        if not self.colours:
            return text
        return "".join(self._diff_line(line) for line in text.splitlines(keepends=True))

    def _diff_line(self, line: str) -> str:
        if line.startswith(("+++", "---")):
            return self.bold(line)
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        return line if colour is None else self.in_colour(line, colour)
