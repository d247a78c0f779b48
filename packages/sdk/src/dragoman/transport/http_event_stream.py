"""One event stream as a client reads it: opened, followed, and opened again when it breaks too early.

A server that numbers its events is told the last one that arrived, so that none is lost. Knows nothing of
what the messages say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from dragoman.errors import LinkClosed
from dragoman.wire.sse import EventReader

if TYPE_CHECKING:
    import httpx2

Hear: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Takes messages, each a line; returns when there is room for more."""

PAUSES = (0.0, 0.25, 1.0, 2.0)
"""Seconds before each new attempt without an event between; then the stream is lost."""


class EventStreamReader:
    """`status_future` gets the HTTP status of the stream; `last` is the id of the last event."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        url: str,
        headers: dict[str, str],
        *,
        limit: int,
        last: str,
    ) -> None:
        self.status_future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.last = last
        self.task: asyncio.Task[None]
        self._client = client
        self._url = url
        self._headers = headers
        self._limit = limit
        self._attempts = 0  # since the last event

    def start(
        self,
        hear: Hear,
        *,
        is_needed: Callable[[], bool],
        on_loss: Callable[[BaseException | None], None],
        orderly: bool,
    ) -> None:
        """`orderly`: its end is not to be mended. `on_loss` is called when it is needed and cannot be had."""
        self.status_future.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.task = asyncio.create_task(self._run(hear, is_needed, on_loss, orderly))

    async def _run(
        self,
        hear: Hear,
        is_needed: Callable[[], bool],
        on_loss: Callable[[BaseException | None], None],
        orderly: bool,
    ) -> None:
        while True:
            broke: BaseException | None = None
            try:
                if not await self._follow(hear):
                    return  # whoever wanted it opened knows
            except Exception as error:  # noqa: BLE001 -- whoever waits for the stream, or reads from it, hears of it
                broke = error
                if not self.status_future.done():
                    self.status_future.set_exception(error)
                    return
            if orderly and broke is None:
                on_loss(None)
                return
            if not is_needed():
                return
            if self._attempts >= len(PAUSES):
                on_loss(broke or LinkClosed("it ended"))
                return
            await asyncio.sleep(PAUSES[self._attempts])
            self._attempts += 1

    async def _follow(self, hear: Hear) -> bool:
        """Until it ends. False if it was refused when it was to be opened for the first time."""
        headers = {"accept": "text/event-stream", **self._headers}
        if self.last:
            headers["last-event-id"] = self.last
        async with self._client.stream("GET", self._url, headers=headers) as answer:
            first = not self.status_future.done()
            if first:
                self.status_future.set_result(answer.status_code)
            if answer.status_code != 200 and first:
                return False
            if answer.status_code != 200:
                raise LinkClosed(f"{self._url} refused a stream with status {answer.status_code}")
            reader = EventReader()
            async for chunk in answer.aiter_bytes():
                if messages := reader.feed_lines(chunk):
                    self._attempts = 0
                    await hear(messages)
                    self.last = reader.last_id or self.last
                if reader.size > self._limit:
                    raise LinkClosed(f"{self._url} sent an event that is larger than any message may be")
        return True
