"""The promises of every transport, and its expectations of its reader.

A transport pushes: it hands blocks of whole frames to a `Sink` as they arrive, because an await for each
frame costs more than decoding it. Back-pressure goes both ways and is counted in bytes: a reader that is
behind calls `pause`, a writer that is ahead sees `pending` grow and awaits `drain`.

A transport knows newlines, descriptors and processes. It does not know JSON, ids or ACP; what it carries is
bytes. Import from the modules, so that a program pays only for the transport it uses: `memory`, `pipe`,
`stdio`, `process`, `websocket` and `http_client` keep the promise, `address` turns a string into one of them.

Nothing here does IO. `dragoman.testing.check_transport` holds an implementation to this page.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from dragoman.wire.framing import DEFAULT_LIMIT

KIBIBYTE = 1024

READ_SIZE = 64 * KIBIBYTE
"""The bytes of one read: the capacity of an ordinary pipe. Larger reads cost page faults without a gain."""


class TransportLimits(Struct, frozen=True, kw_only=True):
    """The limits of one transport."""

    frame: int = DEFAULT_LIMIT
    """The largest accepted frame; a larger one is skipped and reported."""

    high: int = 256 * KIBIBYTE
    """Above this many `pending` bytes, a writer should await `drain`: more would only fill memory."""

    low: int = 64 * KIBIBYTE
    """`drain` returns at or below this limit; the gap to `high` avoids waking the writer
    for every few bytes.
    """

    flush: float = 2.0
    """The seconds that `aclose` waits for `pending` bytes before it drops them: the peer may never read
    again.
    """


DEFAULT_LIMITS = TransportLimits()


class Grace(Struct, frozen=True, kw_only=True):
    """Seconds that a program has to end by itself at each step."""

    after_eof: float = 2.0
    """From the end of its input to the request to end (SIGTERM)."""

    after_terminate: float = 2.0
    """From that request to the kill (SIGKILL)."""

    leftovers: float = 0.3
    """From the program's exit to the kill of its remaining processes; most of them notice the exit."""

    @classmethod
    def steps(cls, seconds: float) -> Grace:
        """Return the same time after the end of input and after the request."""
        return cls(after_eof=seconds, after_terminate=seconds)


DEFAULT_GRACE = Grace()


class Sink(Protocol):
    """Receives the frames that a transport reads. All calls come from the event loop's thread, never while
    paused.
    """

    def feed(self, block: bytes) -> None:
        """Receive one or more whole frames; each ends with a newline, except that a lone frame may lack
        it.
        """

    def on_oversized(self, size: int) -> None:
        """A frame of `size` bytes was above the limit and was skipped; the frames after it follow."""

    def on_end(self, reason: BaseException | None) -> None:
        """No more blocks will come. Called exactly once; None means an orderly end of the stream."""


class Transport(Protocol):
    """One end of a two-way stream of frames."""

    def start(self, sink: Sink) -> None:
        """Start reading; called once, from inside the running loop."""

    def write(self, block: bytes | bytearray | memoryview) -> None:
        """Send whole frames, with their newlines. Never waits, even for a slow peer; the block may be reused
        at once.

        Raises `LinkClosed` after `aclose`, and when the peer is known to be gone.
        """

    @property
    def pending(self) -> int:
        """The bytes that `write` has accepted and not yet given to the system."""

    @property
    def limits(self) -> TransportLimits:
        """The limits of this transport."""

    async def drain(self) -> None:
        """Return when `pending` is at or below `limits.low`; raise `LinkClosed` if that can never happen."""

    def pause(self) -> None:
        """Stop feeding and reading, so that the peer slows down. A second call has no effect."""

    def resume(self) -> None:
        """Continue feeding."""

    async def aclose(self) -> None:
        """Flush within `limits.flush`, then free all resources. A second call has no effect; the sink has
        seen `on_end`.
        """
