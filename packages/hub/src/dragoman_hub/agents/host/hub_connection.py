"""One connection to an agent host: sends queued messages as fast as the other side reads them.

Nothing queues here: the owner is asked for the next pieces when there is room, so that what was not sent is
still where it belongs. Short notes go before that. A peer that no longer reads is not given up at once: what
it said before is heard first.

It knows sockets and pieces of bytes. Who the peer is and what it may do, its owner decides.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from dragoman.transport.waiters import Waiters
from dragoman_hub.agents.host.records import OutOfStep, Records

Pieces = list[bytes | memoryview]

FAREWELL = 30.0
"""The seconds for a hanging peer to receive the reason of its dismissal."""

STRANGER = 4096
"""The most bytes from a peer before its authentication."""


class HubConnection:
    """A connection. Calls `on_record(visitor, kind, number, payload)` for each record, and `on_gone(visitor)`
    once when the peer is gone.
    """

    def __init__(
        self,
        connection: socket.socket,
        *,
        on_record: Callable[[HubConnection, int, int, bytes], None],
        on_gone: Callable[[HubConnection], None],
    ) -> None:
        self.is_proven = self.is_started = self.is_paused = self.is_end_sent = self.is_closed = False
        self.base = 0
        """Bytes that the agent's queue had received when this one became the hub."""
        self.next: Callable[[], Pieces | None] = _nothing
        """What to send when all notes are sent; None when there is nothing now."""
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._on_gone = on_gone
        self._records = Records(lambda *record: on_record(self, *record), largest=STRANGER)
        self._notes: deque[bytes] = deque()
        self._rest: Pieces = []  # what the system did not take of the pieces that were sent last
        self._deaf = self._leaving = False
        self._timer: asyncio.TimerHandle | None = None
        self._flush_waiters = Waiters()
        self._loop.add_reader(connection, self._readable)

    def trust(self, *, largest: int) -> None:
        """Note that the peer is authenticated."""
        self.is_proven = True
        self._records.largest = largest

    def tell(self, note: bytes) -> None:
        """Send a short record before all waiting data."""
        self._notes.append(note)
        self.pump()

    def pump(self) -> None:
        """Send until there is no more data, or no room."""
        while not (self._rest or self._deaf or self.is_closed):
            pieces: Pieces | None = [self._notes.popleft()] if self._notes else self.next()
            if not pieces:
                break
            self._send(pieces)
        if not self._rest:
            self._flush_waiters.wake()
            if self._leaving:
                self.close()

    async def flush(self, seconds: float) -> None:
        """Wait until everything is sent, at most this long, and not for a peer that is gone."""
        self.pump()
        try:
            async with asyncio.timeout(seconds):
                while self._rest and not (self._deaf or self.is_closed):
                    await self._flush_waiters.wait()
        except TimeoutError:
            pass  # a peer that does not read loses what it did not read

    def dismiss(self, farewell: bytes) -> None:
        """Read nothing more from this hub, and close the connection once it has received the reason."""
        if self.is_closed or self._leaving:
            return
        self._leaving = True
        self._records.stop()
        self._loop.remove_reader(self._socket)
        self._timer = self._loop.call_later(FAREWELL, self.close)
        self.next = _nothing
        self._notes.clear()
        self.tell(farewell)

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self._records.stop()
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        self._flush_waiters.wake()
        self._on_gone(self)

    def _readable(self) -> None:
        try:
            if not self._records.receive(self._socket):
                self.close()
        except BlockingIOError:
            return
        except (OSError, MemoryError, OutOfStep):  # it is gone, or not what it claims to be
            self.close()

    def _send(self, pieces: Pieces) -> None:
        try:
            size = self._socket.sendmsg(pieces)
        except BlockingIOError:
            size = 0
        except OSError:  # it no longer reads: what it said may still wait to be heard, and then its end
            self._deaf = True
            if self._leaving:
                self.close()
            return
        count = 0
        while count < len(pieces) and size >= len(pieces[count]):
            size -= len(pieces[count])
            count += 1
        if count == len(pieces):
            return
        self._rest = pieces[count:]
        self._rest[0] = memoryview(self._rest[0])[size:]
        self._loop.add_writer(self._socket, self._writable)

    def _writable(self) -> None:
        pieces, self._rest = self._rest, []
        self._send(pieces)
        if not self._rest and not self.is_closed:
            self._loop.remove_writer(self._socket)
            self.pump()


def _nothing() -> Pieces | None:
    return None
