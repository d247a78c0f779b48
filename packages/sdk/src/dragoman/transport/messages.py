"""A transport over any stream of whole messages: a WebSocket, an HTTP connection, a queue.

Whoever carries the messages says how to receive one, send some and close (`MessageStream`); order,
back-pressure in bytes, limits, flushing and the end are kept here, once for all of them. A message is one
frame: raw newlines in it, which JSON allows between values, become blanks, because on our side a newline ends
a frame.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, runtime_checkable

from dragoman.errors import LinkClosed
from dragoman.transport.contract import DEFAULT_LIMITS, Sink, TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman.wire.framing import has_room


class MessageBatch(bytes):
    """Several messages, each with its newline; newlines inside them are already blanks. No message is blank,
    or above the limit of the transport.
    """


class MessageStream(Protocol):
    """A stream of messages. Each method is called by one task, never by two at once."""

    async def receive(self) -> bytes | None:
        """Return the next message, or a `MessageBatch` of them; None after an orderly end. Raises errors of
        the stream.
        """

    async def send(self, messages: list[bytes]) -> None:
        """Send messages, in order; returns when the stream has room again. Raises errors of the stream."""

    async def close(self) -> None:
        """Close the stream in an orderly way. Called once, also after an error."""


@runtime_checkable
class ImmediateSender(Protocol):
    """A stream that may also send without waiting: then a single message is not queued."""

    def send_now(self, messages: list[bytes]) -> bool:
        """Send messages if possible at once; return whether they were sent. Never called during `send`."""


class MessageTransport:
    """One end of a stream of messages."""

    def __init__(self, stream: MessageStream, *, limits: TransportLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._stream = stream
        self._sink: Sink | None = None
        self._send_now = stream.send_now if isinstance(stream, ImmediateSender) else None
        self._sending = False
        self._outgoing: list[bytes] = []
        self._pending = 0
        # Waiters, not events: an idle connection is to cost little, and an event costs most of a kilobyte.
        self._work = Waiters()  # for something to send
        self._is_paused = False
        self._resume_waiters = Waiters()
        self._drain_waiters = Waiters()
        self._was_let_go = False
        self._let_go = Waiters()
        self._close_reason = ""  # why nothing can be written any more
        self._closing: asyncio.Task[None] | None = None
        self._has_ended = False
        loop = asyncio.get_running_loop()
        self._writer = loop.create_task(self._write_all())
        self._reader: asyncio.Task[None] | None = None

    def start(self, sink: Sink) -> None:
        if self._sink is not None:
            raise RuntimeError("a transport is started once")
        self._sink = sink
        if self._close_reason:
            self._end(None)
            return
        self._reader = asyncio.get_running_loop().create_task(self._read_all(sink))

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._close_reason:
            raise LinkClosed(self._close_reason)
        lines = bytes(block).split(b"\n")
        if not lines[-1]:
            lines.pop()
        if not all(lines) or any(map(bytes.isspace, lines)):
            lines = [line for line in lines if line and not line.isspace()]
        idle = not (self._outgoing or self._sending)
        if idle and self._send_now is not None and self._send_now(lines):
            return
        self._outgoing += lines
        self._pending += sum(map(len, lines))
        self._work.wake()

    @property
    def pending(self) -> int:
        return self._pending

    async def wait_closed(self) -> None:
        """Wait until we have closed it: a server that carries the messages must stay until then."""
        while not self._was_let_go:
            await self._let_go.wait()

    async def drain(self) -> None:
        while self._pending > self.limits.low and not self._close_reason:
            await self._drain_waiters.wait()
        if self._close_reason:
            raise LinkClosed(self._close_reason)

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._resume_waiters.wake()

    async def finish_writing(self) -> None:
        """Send waiting messages. A stream of messages can't be half closed: the peer does not learn of the
        end yet.
        """
        try:
            async with asyncio.timeout(self.limits.flush):
                while self._pending and not self._close_reason:
                    await self._drain_waiters.wait()
        except TimeoutError:
            pass  # a peer that does not read loses what it did not read

    def release(self) -> None:
        """Note that no more messages are expected; `aclose` frees the stream."""

    async def aclose(self) -> None:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        why = self._close_reason or "written to after close"
        await self.finish_writing()
        self._break(why)
        tasks = [task for task in (self._writer, self._reader) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        try:
            async with asyncio.timeout(self.limits.flush):
                await self._stream.close()
        except (TimeoutError, OSError, LinkClosed):
            pass  # it is gone, whether it knows it or not
        finally:
            self._end(None)
            self._was_let_go = True
            self._let_go.wake()

    async def _write_all(self) -> None:
        while True:
            if not self._outgoing:
                await self._work.wait()
            while self._outgoing:
                messages, self._outgoing = self._outgoing, []
                self._sending = True
                try:
                    await self._stream.send(messages)
                except Exception as error:  # noqa: BLE001 -- however it broke, it is broken
                    self._break(f"the peer can no longer be reached ({str(error) or type(error).__name__})")
                    if self._reader is not None:
                        self._reader.cancel()  # nothing that is still to come would make sense any more
                    self._end(error)
                    return
                self._sending = False
                self._pending -= sum(map(len, messages))
                if self._pending <= self.limits.low:
                    self._drain_waiters.wake()

    async def _read_all(self, sink: Sink) -> None:
        reason: BaseException | None = None
        try:
            while (message := await self._stream.receive()) is not None:
                # Looked at after the wait as well: a pause that came meanwhile holds what arrived.
                while self._is_paused:
                    await self._resume_waiters.wait()
                self._feed(sink, message)
        except Exception as error:  # noqa: BLE001 -- whoever reads hears how it ended
            reason = error
        while self._is_paused:
            await self._resume_waiters.wait()
        self._break("the peer is gone")
        self._end(reason)

    def _feed(self, sink: Sink, message: bytes) -> None:
        if type(message) is MessageBatch:
            sink.feed(message)
        elif len(message) > self.limits.frame or not has_room(len(message)):
            sink.on_oversized(len(message))
        elif message and not message.isspace():
            sink.feed(message.replace(b"\n", b" ") + b"\n")

    def _break(self, why: str) -> None:
        if not self._close_reason:
            self._close_reason = why
        self._outgoing.clear()
        self._pending = 0
        self._drain_waiters.wake()

    def _end(self, reason: BaseException | None) -> None:
        if self._sink is not None and not self._has_ended:
            self._has_ended = True
            self._sink.on_end(reason)


def unreachable(url: str, error: BaseException) -> LinkClosed:
    """Return why nobody can be reached at an address, with the first cause that a person can mend."""
    import ssl  # most transports have no use for it

    why = str(error) or type(error).__name__
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            why = "nothing listens there"
        elif isinstance(cause, ssl.SSLCertVerificationError):
            why = (
                f"its certificate is not trusted: {cause.verify_message or why}. "
                "If it is of an authority of your own, name the authority's file in SSL_CERT_FILE"
            )
        cause = cause.__cause__ or cause.__context__
    return LinkClosed(f"{url} cannot be reached: {why}")
