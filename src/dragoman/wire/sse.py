"""Server-sent events as text: what one side writes, bytes in whatever pieces become events on the other.

Only what carries messages is kept of an event: its data and its id. Comments keep a connection alive and mean
nothing. Any bytes are taken; a line that is no field of an event is ignored, as the standard has it.
"""

from __future__ import annotations

from typing import NamedTuple

KEEPALIVE = b":\n\n"
"""A comment: something passes, so that nobody in between takes the connection for dead."""

MARK = b"\xef\xbb\xbf"
"""A byte order mark, which may stand before the first line and means nothing."""


class SseEvent(NamedTuple):
    """One event. `id` is empty if it has none."""

    data: bytes
    id: str = ""


def encode_event(data: bytes, *, event_id: str = "") -> bytes:
    """`data` is one line; a frame never has a raw newline in it."""
    id_line = b"id: %b\n" % event_id.encode() if event_id else b""
    return b"%bdata: %b\n\n" % (id_line, data)


class EventReader:
    """Cuts a stream of bytes into events. `size` is how many bytes of an event are not complete yet."""

    def __init__(self) -> None:
        self._rest = bytearray()  # the beginning of a line
        self._data: list[bytes] = []
        self._data_size = 0
        self._id = ""
        self._began = False
        self._half = False  # the last byte was a CR; an LF behind it belongs to it

    @property
    def size(self) -> int:
        return len(self._rest) + self._data_size

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
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_size += len(value) + 1
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
