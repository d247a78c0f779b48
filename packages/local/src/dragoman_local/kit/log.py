"""The log of a session: each message is first stored in the journal, then sent to the client, in order.

`add` never waits, so that speaking stays fast: what is said while the disk is busy is stored together, in one
append. Only when the journal has made a group safe is it sent, so whatever a client has seen is in the replay
after any crash. `flush` waits until all that was added is stored and sent, and is called before a client
hears of the end of a turn. `catch_up` does the same for what was added so far, and is called before a
request, which must not overtake what was said before it. What is not stored yet is bounded: above the bound,
whoever speaks waits in `room`.

Each append says where the stream must end. If it does not, somebody else has opened the session since:
nothing is written, `is_moved` is true from then on, and the session is over here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from dragoman.errors import ErrorAnswer, JournalError, StreamMoved
from dragoman.wire.codes import INTERNAL_ERROR, invalid_request
from dragoman_local.journal import Direction, Entry, Journal

log = logging.getLogger(__name__)

WAITING_BYTES = 1024 * 1024
"""The most bytes that wait for the disk. A model does not write so much during a commit. An agent that copies
a file does, and all of it would wait in memory for a client that does not read.
"""

ENTRY_BYTES = 256
"""The overhead of a waiting entry, in bytes."""


class KitJournal:
    """The writer of one open session's stream."""

    def __init__(
        self, journal: Journal, stream: str, *, last: int, clock: Callable[[], float] = time.time
    ) -> None:
        self.journal = journal
        self.stream = stream
        self.last = last
        self.is_moved = False
        self.send: Callable[[bytes], None] = _send_nowhere
        """Takes whole frames, each with its newline, once they are stored."""
        self.bytes_since_pause = 0
        """Bytes that were added since a speaker last let the event loop turn."""
        self._clock = clock
        self._waiting: list[Entry] = []
        self._unsent: list[bytes] = []
        self._added_count = self._stored_count = 0  # entries
        self._size = 0
        self._description: dict[str, str] = {}
        self._error: JournalError | None = None
        self._task: asyncio.Task[None] | None = None

    def add(self, direction: Direction, frame: bytes) -> None:
        """Queue a frame for the journal, after the earlier ones."""
        self._waiting.append(Entry(direction, frame, self._clock()))
        self._added_count += 1
        self._size += len(frame) + ENTRY_BYTES
        self._go()

    def add_update(self, frame: bytes) -> None:
        """Queue a frame for the journal, and send it after it is stored."""
        self._unsent.append(frame)
        self.bytes_since_pause += len(frame)
        self.add("to_client", frame)

    def describe(self, **fields: str) -> None:
        """Change the stream's description (see `Journal.describe`), after the earlier entries."""
        self._description |= fields
        self._go()

    @property
    def is_full(self) -> bool:
        return self._size > WAITING_BYTES

    async def room(self) -> None:
        """Wait until there is room for more; raise if there will be none."""
        while self.is_full:
            await self._step()

    async def catch_up(self) -> None:
        """Wait until everything so far is stored and sent. Raises as `flush` does."""
        added_count = self._added_count
        while self._stored_count < added_count:
            await self._step()
        self._check_ours()

    async def flush(self) -> None:
        """Wait until everything is stored and sent. Raises the error that the client gets if that fails."""
        while self._waiting or self._description or self._task is not None:
            await self._step()
        self._check_ours()

    async def _step(self) -> None:
        self._error = None  # whoever waits wants it tried again
        self._go()
        if self._task is not None:
            await asyncio.shield(self._task)
        self._check_ours()
        self._check_stored()

    def _check_ours(self) -> None:
        if self.is_moved:
            raise invalid_request("the session was opened elsewhere since; load it again to continue here")

    def _check_stored(self) -> None:
        if self._error is not None:
            why = {  # without names of files
                "JournalFull": "no room is left",
                "JournalBusy": "another process is using the journal",
            }.get(type(self._error).__name__, "the journal refuses it")
            raise ErrorAnswer(INTERNAL_ERROR, f"Internal error: the session could not be stored ({why})")

    def _go(self) -> None:
        if self.is_moved:
            self._forget()
        elif self._task is None and self._error is None:
            self._task = asyncio.get_running_loop().create_task(self._store(), name=f"log of {self.stream}")

    async def _store(self) -> None:
        try:
            while self._waiting or self._description:
                await self._store_entries()
                description, self._description = self._description, {}
                if description:
                    await self.journal.describe(self.stream, **description)
        except StreamMoved:
            self.is_moved = True
            self._forget()
        except JournalError as error:
            log.warning("a session could not be stored: %s", error)
            self._error = error
        finally:
            self._task = None

    async def _store_entries(self) -> None:
        entries, self._waiting = self._waiting, []
        unsent, self._unsent = self._unsent, []
        if not entries:
            return
        try:
            self.last = await self.journal.append(self.stream, entries, after=self.last)
        except BaseException:
            self._waiting = entries + self._waiting  # the next try begins with them
            self._unsent = unsent + self._unsent
            raise
        self._size -= sum(len(entry.frame) + ENTRY_BYTES for entry in entries)
        self._stored_count += len(entries)
        if unsent:
            unsent.append(b"")  # for the last newline
            self.send(b"\n".join(unsent))

    def _forget(self) -> None:
        self._waiting, self._unsent, self._description, self._size = [], [], {}, 0
        self._stored_count = self._added_count


def _send_nowhere(block: bytes) -> None:
    """Send nothing: for a log without a client."""
