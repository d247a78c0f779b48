"""Server-sent events as text: what one side writes, bytes in whatever pieces become events on the other.

Only what carries messages is kept of an event: its data and its id. Comments keep a connection alive and mean
nothing. Any bytes are taken; a line that is no field of an event is ignored, as the standard has it.
"""

from __future__ import annotations

from typing import NamedTuple

KEEPALIVE = b":\n\n"
"""A comment: something passes, so that nobody in between takes the connection for dead."""


class Event(NamedTuple):
    """One event. `id` is empty if it has none."""

    data: bytes
    id: str = ""


def encode_event(data: bytes, *, event_id: str = "") -> bytes:
    """`data` is one line; a frame never has a raw newline in it."""
    named = b"id: %b\n" % event_id.encode() if event_id else b""
    return b"%bdata: %b\n\n" % (named, data)


class EventReader:
    """Cuts a stream of bytes into events. `size` is how many bytes of an event are not complete yet."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._id = ""

    @property
    def size(self) -> int:
        return len(self._rest) + sum(map(len, self._data))

    def feed(self, chunk: bytes) -> list[Event]:
        if b"\n" not in chunk and b"\r" not in chunk and self._rest[-1:] != b"\r":
            self._rest += (
                chunk  # in the middle of a long line: looking again at all of it would cost its square
            )
            return []
        self._rest += chunk.replace(b"\r\n", b"\n")
        if b"\r" in self._rest[:-1]:  # a lone one ends a line too; at the very end it may be half of a pair
            self._rest[:] = self._rest[:-1].replace(b"\r", b"\n") + self._rest[-1:]
        events: list[Event] = []
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            if line:
                self._field(line)
            elif self._data:
                events.append(Event(b"\n".join(self._data), self._id))
                self._data = []
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
