"""Keeps the end of a command's output: bytes in, text out, up to a limit.

The limit counts bytes of UTF-8 and holds for the text as well as for what is kept. What falls off, falls off
at the beginning, and a cut never goes through a character. Bytes that are not UTF-8 become U+FFFD when the
text is asked for, not before: the second half of a character may still be on its way.

It knows bytes and nothing of processes.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

_SLACK = 256 * 1024
"""Bytes above the limit that are kept until the beginning is cut off: cutting costs a copy."""

_LONGEST = 4
"""Bytes of the longest character."""


class OutputTail(NamedTuple):
    """The part of an output that can be shown."""

    text: str
    is_truncated: bool
    """Whether something is missing at its beginning."""


class OutputBuffer:
    """Takes everything, keeps the end of it."""

    __slots__ = ("_is_finished", "_is_truncated", "_limit", "_tail_bytes")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tail_bytes = bytearray()
        self._is_truncated = False
        self._is_finished = False

    def __len__(self) -> int:
        """The number of bytes in the buffer."""
        return len(self._tail_bytes)

    def feed(self, chunk: bytes) -> None:
        self._tail_bytes += chunk
        if len(self._tail_bytes) > self._limit + min(self._limit, _SLACK):
            self._trim()

    def finish(self) -> None:
        """There will be no more: half a character at the end is not a character any more."""
        self._trim()
        self._is_finished = True

    def tail(self) -> OutputTail:
        """The end of the output as text, at most as long as the limit."""
        self._trim()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(bytes(self._tail_bytes), self._is_finished)
        # A byte that is not UTF-8 becomes a character of three.
        shorter = _last_bytes(text, self._limit)
        return OutputTail(shorter, self._is_truncated or len(shorter) < len(text))

    def _trim(self) -> None:
        excess = len(self._tail_bytes) - self._limit
        if excess <= 0:
            return
        self._is_truncated = True
        del self._tail_bytes[: excess + _inside_character(self._tail_bytes, excess)]


def _inside_character(data: bytearray, at: int) -> int:
    """How many bytes from `at` on belong to a character that begins before it."""
    begin = at
    while begin > max(0, at - _LONGEST + 1) and _is_continuation(data, begin):
        begin -= 1
    end = at
    while end < min(len(data), begin + _length(data, begin)) and _is_continuation(data, end):
        end += 1
    return end - at


def _is_continuation(data: bytearray, at: int) -> bool:
    return at < len(data) and data[at] & 0xC0 == 0x80


def _length(data: bytearray, at: int) -> int:
    """The length of the character that begins here; 0 if none does."""
    if at >= len(data):
        return 0
    first = data[at]
    return 2 if 0xC2 <= first < 0xE0 else 3 if 0xE0 <= first < 0xF0 else 4 if 0xF0 <= first < 0xF5 else 0


def _last_bytes(text: str, limit: int) -> str:
    if len(text) * _LONGEST <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[len(data) - limit :].decode(errors="ignore") if limit else ""
