"""Waits for replies of servers and nodes, and handles missing ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from dragoman.errors import JournalError, JournalUncertain

CANCELS = 50
"""The cancellations of a task that does not end; each waits a tenth of a second."""


class NoReply(JournalUncertain):
    """No answer came in time, or none is possible."""


class NoResponders(NoReply):
    """No process serves the subject, and the server reports that at once."""


@asynccontextmanager
async def reply_deadline(seconds: float, what: str) -> AsyncIterator[None]:
    """Raise `NoReply` if the block takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise NoReply(f"{what} took longer than {seconds:g} seconds") from None


class ServerReply(Struct, frozen=True):
    """A reply, with the server's status number if the server itself answers, otherwise 0."""

    subject: str
    status: int
    headers: Mapping[str, str]
    data: bytes


def read_headers(raw: bytes) -> tuple[int, dict[str, str]]:
    """Return the server's status number, or 0; and the header fields."""
    if not raw:
        return 0, {}
    first, *lines = raw.decode(errors="replace").split("\r\n")
    status = first[9:12]
    fields = {name: value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}
    return int(status) if status.isdigit() else 0, fields


class PendingReply:
    """A request that waits for one answer, or for all answers up to the one that ends them."""

    __slots__ = ("_future", "_loop", "_many", "_replies", "_reply_count", "_timer", "_within", "subject")

    def __init__(self, subject: str, within: float, *, many: bool) -> None:
        self.subject = subject
        self._loop = asyncio.get_running_loop()
        self._many = many
        self._within = within
        self._reply_count = 0
        self._replies: list[ServerReply] = []
        self._future: asyncio.Future[list[ServerReply]] = self._loop.create_future()
        self._timer = self._loop.call_later(within, self._on_timeout)

    def on_reply(self, subject: str, data: bytes, headers: bytes) -> None:
        status, fields = read_headers(headers)
        self._replies.append(ServerReply(subject, status, fields, data))
        if (status or not self._many) and not self._future.done():
            self._future.set_result(self._replies)

    def fail(self, why: str) -> None:
        if not self._future.done():
            self._future.set_exception(NoReply(why))

    def deny(self, why: str) -> None:
        if not self._future.done():
            self._future.set_exception(JournalError(why))

    async def wait(self) -> list[ServerReply]:
        """Wait for all replies. Each reply restarts the time limit for the next one."""
        try:
            return await self._future
        finally:
            self._timer.cancel()

    def _on_timeout(self) -> None:
        if self._reply_count == len(self._replies):
            self.fail(f"no answer within {self._within:g} seconds")
        else:
            self._reply_count = len(self._replies)
            self._timer = self._loop.call_later(self._within, self._on_timeout)


async def end_tasks(tasks: Iterable[asyncio.Task[object] | None]) -> None:
    """Cancel tasks until they end: the library sometimes swallows a cancellation, and so does a wait of
    Python 3.11 that ends at the same moment.
    """
    for _ in range(CANCELS):
        running = [task for task in tasks if task is not None and not task.done()]
        if not running:
            return
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=0.1)
