"""Server-sent events: encodes them as text, and decodes them from bytes that arrive in any pieces.

Only what carries messages is kept of an event: its data and its id. Comments keep a connection alive and mean
nothing. Any bytes are taken; a line that is not a field of an event is ignored, as the standard has it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

KEEPALIVE = b":\n\n"
"""A comment, sent so that no proxy takes the connection for dead."""

MARK = b"\xef\xbb\xbf"
"""A byte order mark, which may come before the first line and has no meaning."""


# What stands between the data of an event and the data of the next, as nearly all servers write it.
_NUMBERED_JOINT = re.compile(rb"\n\nid: [^\n]*\ndata: ")
_JOINT = re.compile(rb"\n\ndata: ")
_BLANK_BEGINNING = re.compile(rb"\n\s")


class SseEvent(NamedTuple):
    """One event. `id` is empty if it has none."""

    data: bytes
    id: str = ""


def encode_event(data: bytes) -> bytes:
    """Encode an event without an id. `data` is one line; a frame never has a raw newline in it."""
    return b"data: %b\n\n" % data


class EventReader:
    """Cuts a stream of bytes into events. `size` is the number of bytes of the incomplete event, and
    `last_id` the id of the last complete event.
    """

    def __init__(self) -> None:
        self.last_id = ""
        self._rest = bytearray()  # the beginning of a line
        self._data: list[bytes] = []
        self._data_size = 0
        self._id = ""
        self._began = False
        self._half = False  # the last byte was a CR; an LF behind it belongs to it

    @property
    def size(self) -> int:
        return len(self._rest) + self._data_size

    def feed_lines(self, chunk: bytes) -> bytes:
        """Do the same as `feed`, but return only the data of the events, one per line: a newline inside
        becomes a blank, and blank data is left out. Many events of a chunk are read by one call into C.
        """
        if self._half or not self._began or b"\r" in chunk:
            return self._lines(chunk)
        done = b""
        if self._rest or self._data:  # an event has begun: up to its end it is read line by line
            end = chunk.find(b"\n\n") + 2
            if end < 2:
                return self._lines(chunk)
            done, chunk = self._lines(chunk[:end]), chunk[end:]
        end = chunk.rfind(b"\n\n") + 2
        run = self._take_run(chunk[:end]) if end >= 2 else b""
        return done + run + self._lines(chunk[end:] if run else chunk)

    def _take_run(self, block: bytes) -> bytes:
        """The lines of events that have an id or not, and one line of data each; nothing if there is more."""
        is_numbered = block.startswith(b"id: ") and b"\0" not in block
        if not is_numbered and not block.startswith(b"data: "):
            return b""
        lines, events = (_NUMBERED_JOINT if is_numbered else _JOINT).subn(b"\n", b"\n\n" + block[:-1])
        # If nothing else was between the events, each newline but the first ends the data of one.
        if len(lines) - len(lines.replace(b"\n", b"")) != events + 1 or _BLANK_BEGINNING.search(lines):
            return b""
        if is_numbered:
            at = block.rfind(b"\nid: ") + 1
            self._id = block[at + 4 : block.index(b"\n", at)].decode(errors="replace")
        self.last_id = self._id
        return lines[1:]

    def _lines(self, chunk: bytes) -> bytes:
        data = [event.data.replace(b"\n", b" ") for event in self.feed(chunk)]
        return b"".join([line + b"\n" for line in data if line and not line.isspace()])

    def feed(self, chunk: bytes) -> list[SseEvent]:
        if self._half and chunk:
            self._half = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._half = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if (
            b"\n" not in chunk
        ):  # in the middle of a long line: looking again at all of it would cost its square
            self._rest += chunk
            return []
        first, *lines = chunk.split(b"\n")
        rest = lines.pop()
        lines.insert(0, bytes(self._rest) + first)
        self._rest = bytearray(rest)
        if not self._began:
            self._began = True
            lines[0] = lines[0].removeprefix(MARK)
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        for line in lines:
            if line:
                self._field(line)
            elif self._data:
                events.append(SseEvent(b"\n".join(self._data), self._id))
                self._data, self._data_size = [], 0
                self.last_id = self._id
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_size += len(value) + 1
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
