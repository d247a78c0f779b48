"""Cuts a stream of bytes into blocks of whole lines.

One frame is one line. A block is one or more whole frames, cut at the last newline of what has arrived, because decoding many
frames in one call costs far less than decoding each. The cost is linear in the bytes: a line longer than a chunk is gathered in a list
and joined once. A line above the limit is dropped while it arrives, never held, and reading goes on behind its newline.

This module knows newlines and sizes. It does not know JSON; blank lines and carriage returns are the decoder's to ignore.
"""

from __future__ import annotations

MEBIBYTE = 1024 * 1024

DEFAULT_LIMIT = 104 * MEBIBYTE
"""Large enough for a hundred megabytes of text, small enough that an endless line cannot take a machine down."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineFramer:
    """`feed` chunks in, take blocks of whole lines out."""

    __slots__ = ("_at_start", "_dropped", "_gathered", "_gathered_size", "_skipped", "limit")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._gathered: list[bytes] = []  # the pieces of a line that has not ended yet
        self._gathered_size = 0
        self._dropped = 0  # bytes of the oversized line we are in the middle of; 0 when we are not
        self._skipped: list[int] = []
        self._at_start = True

    def feed(self, chunk: bytes) -> bytes:
        """Return the whole lines that `chunk` completes, last newline included, or nothing."""
        if self._dropped:
            chunk = self._skip(chunk)
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            self._gather(chunk)
            return b""
        block = chunk if cut == len(chunk) else chunk[:cut]
        if self._gathered:
            self._gathered.append(block)
            block = b"".join(self._gathered)
            self._gathered.clear()
            self._gathered_size = 0
        if cut != len(chunk):
            self._gather(chunk[cut:])
        if self._at_start:
            block = self._without_mark(block)
        return block if len(block) <= self.limit else self._without_oversized(block)

    def finish(self) -> bytes:
        """The stream has ended: return a last line that has no newline, if there is one."""
        if self._dropped:
            self._skipped.append(self._dropped)
            self._dropped = 0
        rest = b"".join(self._gathered)
        self._gathered.clear()
        self._gathered_size = 0
        if self._at_start:
            rest = self._without_mark(rest)
        return rest

    def take_skipped(self) -> list[int]:
        """The sizes of the oversized lines that have been dropped since the last call."""
        skipped, self._skipped = self._skipped, []
        return skipped

    def _gather(self, piece: bytes) -> None:
        if not piece:
            return
        self._gathered.append(piece)
        self._gathered_size += len(piece)
        if self._gathered_size > self.limit:
            self._dropped = self._gathered_size
            self._gathered.clear()
            self._gathered_size = 0

    def _skip(self, chunk: bytes) -> bytes:
        """Drop what still belongs to the oversized line; return what follows it."""
        end = chunk.find(b"\n")
        if end < 0:
            self._dropped += len(chunk)
            return b""
        self._skipped.append(self._dropped + end)
        self._dropped = 0
        return chunk[end + 1 :]

    def _without_oversized(self, block: bytes) -> bytes:
        lines = block.split(b"\n")
        self._skipped += [len(line) for line in lines if len(line) > self.limit]
        return b"\n".join(line for line in lines if len(line) <= self.limit)

    def _without_mark(self, block: bytes) -> bytes:
        self._at_start = False
        return block.removeprefix(BYTE_ORDER_MARK)
