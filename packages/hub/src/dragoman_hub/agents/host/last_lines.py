"""The last lines of an agent's standard error that no hub has read: whole lines, limited in size."""

from __future__ import annotations

from collections import deque

KEPT = 64 * 1024
"""Bytes of lines that wait for a hub: enough for a long traceback. Also the longest line."""

LINE = 64
"""What a line is charged beside its bytes."""


class LastLines:
    """`feed` chunks of a stream in, `take` lines out."""

    __slots__ = ("_charge", "_lines", "_part")

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._charge = 0
        self._part = b""  # the line that has not ended yet

    def feed(self, chunk: bytes) -> None:
        *lines, self._part = (self._part + chunk).split(b"\n")
        for line in lines:
            self._add(line.removesuffix(b"\r"))
        while len(self._part) > KEPT:
            self._add(self._part[:KEPT])
            self._part = self._part[KEPT:]

    def finish(self) -> None:
        """There is no more: a last line without its newline is still a line."""
        if self._part:
            self._add(self._part)
            self._part = b""

    def take(self) -> bytes | None:
        if not self._lines:
            return None
        line = self._lines.popleft()
        self._charge -= len(line) + LINE
        return line

    def _add(self, line: bytes) -> None:
        self._lines.append(line)
        self._charge += len(line) + LINE
        while self._charge > KEPT + LINE:
            self.take()
