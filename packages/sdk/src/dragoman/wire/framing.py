"""Cuts a stream of bytes into blocks of whole lines.

One frame is one line. A block is one or more whole frames, cut at the last newline of what has arrived,
because decoding many frames in one call costs far less than decoding each. The cost is linear in the bytes,
in time and in memory: a line longer than a chunk grows in one buffer, however small its chunks are. A line
above the limit is dropped while it arrives, never held, and reading goes on behind its newline. So is one for
which there is not enough memory.

How the bytes were cut into chunks changes neither the lines nor the sizes that are reported. This module
knows newlines, sizes and the byte order mark at the very start. It does not know JSON; blank lines and
carriage returns are the decoder's to ignore.
"""

from __future__ import annotations

MEBIBYTE = 1024 * 1024

DEFAULT_LIMIT = 104 * MEBIBYTE
"""The default limit of a line: enough for a hundred megabytes of text, while an endless line can't fill the
memory.
"""

LARGE = MEBIBYTE
"""The bytes of a message from which on memory is checked before it is processed."""

ROOM = 8
"""The memory to read, store and answer a message, in multiples of its size."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def has_room(size: int) -> bool:
    """Whether there is enough memory to process a message of this size. msgspec's encoder ends the process if
    a large buffer can't grow, so the memory is checked first.
    """
    if size < LARGE:
        return True
    try:
        bytes(size * ROOM)  # zeros that nobody touches: the system only promises them
    except MemoryError:
        return False
    return True


class LineFramer:
    """Cuts chunks into blocks of whole lines."""

    __slots__ = ("_at_start", "_dropped_bytes", "_partial_line", "_skipped_sizes", "limit")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._partial_line = bytearray()  # the line that has not ended yet
        self._dropped_bytes = 0  # bytes of the oversized line we are in the middle of; 0 when we are not
        self._skipped_sizes: list[int] = []
        self._at_start = True

    def feed(self, chunk: bytes) -> bytes:
        """Return the whole lines that `chunk` completes, with the last newline, or nothing."""
        if self._at_start:
            chunk = self._without_mark(chunk)
            if self._at_start:
                return b""
        elif self._dropped_bytes:
            chunk = self._skip(chunk)
        if self._partial_line and b"\n" in chunk and not has_room(len(self._partial_line)):
            self._drop_line()
            chunk = self._skip(chunk)
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            self._gather(chunk)
            return b""
        whole = cut == len(chunk)
        if self._partial_line:
            block = b"".join((self._partial_line, chunk if whole else memoryview(chunk)[:cut]))  # copied once
            self._partial_line.clear()
        else:
            block = chunk if whole else chunk[:cut]
        if not whole:
            self._gather(chunk[cut:])
        return block if len(block) <= self.limit else self._without_oversized(block)

    def finish(self) -> bytes:
        """Return the last line, if it has no newline, at the end of the stream."""
        self._gather(b"")  # the first bytes of a mark that never came are a line like any other
        if self._dropped_bytes:
            self._skipped_sizes.append(self._dropped_bytes)
            self._dropped_bytes = 0
        rest = bytes(self._partial_line)
        self._partial_line.clear()
        return rest

    def take_skipped(self) -> list[int]:
        """Return the sizes of the oversized lines that were dropped since the last call."""
        sizes, self._skipped_sizes = self._skipped_sizes, []
        return sizes

    def _gather(self, piece: bytes) -> None:
        try:
            self._partial_line += piece
        except MemoryError:
            self._drop_line()
            self._dropped_bytes += len(piece)
        if len(self._partial_line) > self.limit:
            self._drop_line()

    def _drop_line(self) -> None:
        self._dropped_bytes = len(self._partial_line)
        self._partial_line.clear()

    def _skip(self, chunk: bytes) -> bytes:
        """Drop what still belongs to the oversized line; return what follows it."""
        end = chunk.find(b"\n")
        if end < 0:
            self._dropped_bytes += len(chunk)
            return b""
        self._skipped_sizes.append(self._dropped_bytes + end)
        self._dropped_bytes = 0
        return chunk[end + 1 :]

    def _without_oversized(self, block: bytes) -> bytes:
        lines = block.split(b"\n")
        self._skipped_sizes += [len(line) for line in lines if len(line) > self.limit]
        return b"\n".join(line for line in lines if len(line) <= self.limit)

    def _without_mark(self, chunk: bytes) -> bytes:
        """The chunk without a byte order mark, or nothing while it may still be one."""
        start = bytes(self._partial_line) + chunk
        self._partial_line.clear()
        if len(start) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(start):
            self._partial_line += start
            return b""
        self._at_start = False
        return start.removeprefix(BYTE_ORDER_MARK)
