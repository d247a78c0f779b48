"""The connection to a hub: reconnects whenever it breaks, as long as the client runs.

The listener is told its state (`away`, `back`); `ResumingTransport` delivers what was said meanwhile once, in
order. `MissedUpdates` counts what is still to come. A server that is not a hub cannot resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from dragoman.errors import CallFailed, DragomanError
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.sdk.resumption import Backoff, ConnectionNotice, ResumingTransport, resuming
from dragoman.transport.contract import Transport
from dragoman_app.tui.ports import ChatEvent, ChatListener, UpdatesBehind

LONGEST_WAIT = 5.0
"""The most seconds between two attempts: a user waits."""

PAGE = 200
"""The most messages to count how far we are behind; a larger number would say little."""

SILENCE = 5.0
"""The seconds without an update after which none is on its way: a hub sends as fast as it can."""

History = Callable[[int], Awaitable[object]]
"""Returns the last messages of the session from `_dragoman/hub/history`."""


class HubRoute:
    """The connection to one address, for one conversation."""

    def __init__(self, url: str, headers: Mapping[str, str], listener: ChatListener) -> None:
        self.url = url
        self.reason = ""  # why there was no connection when it was last tried
        self.on_back: Callable[[], None] = _no_waiter
        self._headers = headers
        self._listener = listener
        self._transport: ResumingTransport | None = None

    def dial(self) -> Transport:
        """Open a new conversation, over as many connections as necessary."""
        self.reason = ""
        backoff = Backoff(most=LONGEST_WAIT)
        self._transport = resuming(self.url, headers=self._headers, on_notice=self.on_notice, backoff=backoff)
        return self._transport

    @property
    def is_open(self) -> bool:
        """Whether a message would be sent at once."""
        return self._transport is not None and self._transport.core.phase in ("live", "plain")

    def why_not(self, error: DragomanError) -> str:
        """Return the reason why the hub can't be reached, which is clearer than the error of the failed call;
        None for other errors.
        """
        if self._transport is None:
            return ""
        if isinstance(error, CallFailed):  # whatever waits at the end of the way is answered with its reason
            over = self._transport.core.phase == "over"
            return error.message.removeprefix("Internal error: ") if over else ""
        return self.reason if self._transport.is_unreached else ""

    def cursor(self, session_id: str) -> str:
        return "" if self._transport is None else self._transport.cursor(session_id)

    def on_notice(self, notice: ConnectionNotice) -> None:
        if notice.kind == "back":
            self.reason = ""
            self._listener.on_chat_event(ChatEvent(kind="back", text="", seconds=notice.seconds))
            self.on_back()
            return
        self.reason = notice.reason
        was_there = notice.kind == "lost"
        self._listener.on_chat_event(
            ChatEvent(kind="away" if was_there else "unreached", text=notice.reason, seconds=notice.seconds)
        )


class MissedUpdates:
    """Counts the updates of one session that have not arrived yet."""

    def __init__(self) -> None:
        self._attempts_left = 0
        self._or_more = False
        self._came = 0
        self._news = asyncio.Event()

    @property
    def behind(self) -> UpdatesBehind | None:
        updates_left = self._attempts_left - self._came
        return UpdatesBehind(updates=updates_left, or_more=self._or_more) if updates_left > 0 else None

    def hear(self, update: v1.SessionUpdate | Unknown) -> None:
        if not isinstance(update, v1.UserMessageChunk):  # nobody is told his own words
            self._came += 1
            self._news.set()

    def settle(self) -> None:
        """Note that all updates are here: a turn has ended, and its end comes last."""
        self._attempts_left = 0
        self._or_more = False
        self._news.set()

    async def catch_up(self, history: History, here: Callable[[], str]) -> None:
        """Wait until all updates of the hub are here. `here` is the cursor of the last one."""
        try:
            while True:
                self._came, cursor = 0, here()
                self._attempts_left, self._or_more = count_missed(await history(PAGE), cursor)
                while self._came < self._attempts_left:
                    self._news.clear()
                    async with asyncio.timeout(SILENCE):
                        await self._news.wait()
                if not self._or_more:
                    return
        except TimeoutError:
            self.settle()  # nothing more is coming, whatever we had counted


def count_missed(answer: object, cursor: str) -> tuple[int, bool]:
    """Return how many updates come after the cursor, and whether there are older ones. Cursors belong to the
    hub: they can only be compared for equality.
    """
    entries = answer.get("messages") if isinstance(answer, dict) else None
    messages = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    at = next((at for at, message in enumerate(reversed(messages)) if message.get("cursor") == cursor), None)
    if at is not None:
        return sum(map(_counts, messages[len(messages) - at :])), False
    more = isinstance(answer, dict) and answer.get("more") is True
    return (sum(map(_counts, messages)), True) if more else (0, False)


def _counts(entry: Mapping[str, object]) -> bool:
    message = entry.get("message")
    params = message.get("params") if isinstance(message, dict) else None
    update = params.get("update") if isinstance(params, dict) else None
    return isinstance(update, dict) and update.get("sessionUpdate") != "user_message_chunk"


def _no_waiter() -> None:
    """Does nothing: no caller waits for the connection."""
