"""The records that a hub and an agent host exchange over their socket, and how to read them from a stream.

A record is a fixed header (kind, size of the payload, a number) and its payload. A record is acted upon when
it is there as a whole, and never before: what the death of one side has torn is as if it had not been said.
Blocks of frames pass as they are; nobody looks into them here.

This module knows sockets and bytes. What a record means is for the two sides to say.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

from msgspec import Struct, field

from dragoman.transport.contract import READ_SIZE

VERSION = 2
"""Changes with every change of this module: a hub may be newer than an agent host that it left behind."""

HEADER = struct.Struct("<BQQ")

# From the hub.
HELLO = 1  # number: VERSION; payload: the secret
START = 2  # send frames from now on
ACKNOWLEDGE = 3  # number: frames up to this one are safe
WRITE = 4  # number: the last sequence of its stream; payload: see `write_head`
PAUSE = 5
RESUME = 6
CLOSE = 7  # end the agent, and yourself
LEASE = 8  # number: when it ends, in milliseconds on the clock of `lease.now`
FORGET = 9  # number: the last sequence that was taken; payload: the stream

# From the agent host.
WELCOME = 32  # payload: `HostWelcome`
REFUSED = 33  # payload: why, as text
FRAMES = 34  # number: of the first frame; payload: whole frames, each with its newline
OVERSIZED = 35  # number: of the frame; payload: `SIZE`
STDERR = 36  # payload: a line without its newline
TAKEN = 37  # number: bytes of this connection's writes that are dealt with; payload: stream -> sequence
ENDED = 38  # payload: `AgentEndRecord`
REPLACED = 39  # another hub has come

SIZE = struct.Struct("<Q")
_STREAM = struct.Struct("<H")

LARGEST = 1 << 30
"""A larger payload is invalid: the stream is out of step, or the peer is not an agent host."""

SPACE = 2 * READ_SIZE
"""The bytes to read at once: an ordinary block with its header, and the data after it."""


class HostWelcome(Struct, frozen=True, kw_only=True):
    """The information that a hub gets when it connects."""

    agent: int
    """The agent's process."""

    host: int = field(name="keeper")  # the name on the wire
    """The process of the host."""
    taken: dict[str, int]


class AgentEndRecord(Struct, frozen=True, kw_only=True):
    """The end of the agent."""

    reason: str
    exit_status: int | None


class OutOfStep(ValueError):
    """The received bytes are not a record."""


def record(kind: int, number: int = 0, payload: bytes = b"") -> bytes:
    return HEADER.pack(kind, len(payload), number) + payload


def write_head(stream: str, last: int, size: int) -> bytes:
    """Return all of a WRITE except the `size` bytes of its block, which follow."""
    name = stream.encode()
    return HEADER.pack(WRITE, _STREAM.size + len(name) + size, last) + _STREAM.pack(len(name)) + name


def split_write(payload: bytes) -> tuple[str, bytes]:
    """Return the stream and the block of a WRITE."""
    if len(payload) < _STREAM.size:
        raise OutOfStep("a write without a stream")
    (length,) = _STREAM.unpack_from(payload)
    block = _STREAM.size + length
    return payload[_STREAM.size : block].decode(), payload[block:]


class Records:
    """Reads a non-blocking socket, and passes each record on when it is complete.

    `act(kind, number, payload)` may call `stop`; nothing is handed over after that.
    """

    __slots__ = (
        "_act",
        "_end",
        "_filled_size",
        "_head",
        "_is_stopped",
        "_large",
        "_space",
        "_used",
        "largest",
    )

    def __init__(self, act: Callable[[int, int, bytes], None], *, largest: int = LARGEST) -> None:
        self.largest = largest
        self._act = act
        self._space = bytearray(SPACE)
        self._end = 0  # how much of the space is filled
        self._used = 0  # how much of that is dealt with
        self._large: bytearray | None = None  # the payload that does not fit there, while it is gathered
        self._filled_size = 0  # how much of that is there
        self._head = (0, 0)  # its kind and number
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True

    def receive(self, source: socket.socket) -> bool:
        """Receive the available data; False if the peer has closed its end. Raises the system's errors, and
        `OutOfStep`.
        """
        if self._large is not None:
            return self._receive_large(source, self._large)
        with memoryview(self._space) as view:
            got = source.recv_into(view[self._end :])
            self._end += got
            try:
                self._hand_over(view[: self._end])
            finally:  # what was handed over is dealt with, even by somebody who failed at it
                used, self._used = self._used, 0
                rest = self._end - used
                if used and rest:
                    view[:rest] = bytes(view[used : self._end])
                self._end = rest
        return got > 0

    def _receive_large(self, source: socket.socket, large: bytearray) -> bool:
        with memoryview(large) as view:
            got = source.recv_into(view[self._filled_size :])
        self._filled_size += got
        if self._filled_size == len(large):
            self._large = None
            self._act(*self._head, bytes(large))
        return got > 0

    def _hand_over(self, data: memoryview) -> None:
        """Act on what is whole."""
        while not self._is_stopped and len(data) - self._used >= HEADER.size:
            kind, size, number = HEADER.unpack_from(data, self._used)
            if size > self.largest:
                raise OutOfStep(f"a record of {size} bytes")
            body = self._used + HEADER.size
            if body + size > len(data):
                if HEADER.size + size <= SPACE:
                    return
                self._large, self._head = bytearray(size), (kind, number)
                self._filled_size = len(data) - body
                self._large[: self._filled_size] = data[body:]
                self._used = len(data)
                return
            self._used = body + size
            self._act(kind, number, bytes(data[body : self._used]))
