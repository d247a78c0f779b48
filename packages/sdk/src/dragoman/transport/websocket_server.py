"""The server's side of WebSockets: one connection of any ASGI server as a stream of messages.

It takes the callables of the connection and needs no package at all. With a `Handshake` it keeps what is no
message from the agent, and answers it itself. A reader that takes nothing for a while is cut off. Whoever
ends the connection sets `farewell` before, to say why.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from dragoman.errors import LinkClosed
from dragoman.transport.handshake import POLICY_VIOLATION, Disconnected, Handshake, Rejected

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

CONNECTION_ID = "acp-connection-id"

PATIENCE = 60.0
"""The seconds in which a peer must read some of its messages."""

AT_ONCE = 256
AT_ONCE_BYTES = 256 * 1024
"""The most messages in one event, and their approximate bytes; then the connection is asked whether it has
room. Accepted messages are in memory twice, as messages and as frames.
"""

JOINED_BYTES = 64 * 1024
"""The length up to which messages are joined."""

ORDERLY = frozenset({1000, 1001, 1005})
"""Close codes without an error: done, going away, and none given."""


class AsgiWebSocket:
    """One connection, as a stream of messages."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        *,
        handshake: Handshake | None = None,
        patience: float = PATIENCE,
        batched_send: bool = False,
        now: Callable[[Sequence[bytes]], bool] | None = None,
        has_lines: bool = False,
    ) -> None:
        """`batched_send`: the server accepts many messages in one event. `now`: and sends at once, if there
        is room. `has_lines`: the client accepts several messages in one text, one per line.
        """
        self.farewell = (1000, "")
        """Code and reason of the close, if it is ours."""
        self._receive = receive
        self._send = send
        self._handshake = handshake
        self._patience = patience
        self._batched_send = batched_send
        self._now = now
        self._has_lines = has_lines
        self._first: bytes | None = None
        self._beginning: asyncio.Timeout | None = None
        self._over = False

    @property
    def first(self) -> bytes:
        """Return the first message, after `begin`."""
        return self._first or b""

    async def accept(self, *, connection_id: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Complete the handshake; the client learns the connection's id from it."""
        id_header = (CONNECTION_ID.encode(), connection_id.encode())
        await self._send({"type": "websocket.accept", "headers": [id_header, *headers]})

    async def begin(self, *, within: float) -> bool:
        """Return whether a first message has arrived in time; it is kept for `receive`. Otherwise the
        connection is closed.
        """
        try:
            async with asyncio.timeout(within) as self._beginning:
                self._first = await self.receive()
        except TimeoutError:
            self.farewell = (POLICY_VIOLATION, f"nothing was said for {within:g} s, or too many said nothing")
        except (LinkClosed, OSError):
            pass  # the farewell says why, if anybody is there to hear it
        if self._first is None:
            try:
                await self.close()
            except (LinkClosed, OSError):
                pass  # it is gone already
        return self._first is not None

    def end_beginning(self) -> None:
        """Stop waiting for the first message, if it waits."""
        if self._beginning is not None and not self._beginning.expired():
            self._beginning.reschedule(0.0)

    async def receive(self) -> bytes | None:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        while True:
            event = await self._receive()
            if event["type"] == "websocket.disconnect":
                self._on_close(event.get("code", 1005), event.get("reason") or "")
                return None
            if event["type"] == "websocket.receive" and event.get("text") is not None:
                message: bytes = event["text"].encode()
                if await self._is_welcome(message):
                    return message

    async def send(self, messages: list[bytes]) -> None:
        for event in self._events(messages):
            try:
                async with asyncio.timeout(self._patience):
                    await self._say(event)
            except TimeoutError:
                self.farewell = (POLICY_VIOLATION, f"nothing was read for {self._patience:g} s")
                raise LinkClosed(self.farewell[1]) from None

    def send_now(self, messages: list[bytes]) -> bool:
        """Send a few messages without waiting, if possible; return whether they were sent."""
        if self._now is None or self._over or len(messages) > AT_ONCE:
            return False
        try:
            b"".join(messages).decode()
        except UnicodeDecodeError:
            return False
        return self._now(_join(messages) if self._has_lines else messages)

    def _events(self, messages: list[bytes]) -> Iterator[dict[str, Any]]:
        """Hubs and agents send UTF-8. A relay passes on bytes that it has not parsed: what is not text in
        them is replaced, because it would end the connection.
        """
        if self._has_lines:
            messages = _join(messages)
        if not self._batched_send:
            for message in messages:
                yield {"type": "websocket.send", "text": message.decode(errors="replace")}
            return
        for some in _groups(messages):
            try:
                b"".join(some).decode()  # a look at all of them: a text message must be text
            except UnicodeDecodeError:
                some = [message.decode(errors="replace").encode() for message in some]
            yield {"type": "websocket.send", "many": some}

    async def close(self) -> None:
        if not self._over:
            self._over = True
            code, reason = self.farewell
            await self._say({"type": "websocket.close", "code": code, "reason": reason})

    async def _is_welcome(self, message: bytes) -> bool:
        verdict = None if self._handshake is None else self._handshake.look(message)
        if isinstance(verdict, Disconnected):
            self.farewell = (verdict.code, verdict.why)
            raise LinkClosed(verdict.why)
        if isinstance(verdict, Rejected):
            if verdict.message:
                await self.send([verdict.message.rstrip(b"\n")])
            return False
        return True

    def _on_close(self, code: int, reason: str) -> None:
        self._over = True
        if code not in ORDERLY:
            raise LinkClosed(f"the connection was closed with {code}{reason and f' ({reason})'}")

    async def _say(self, event: dict[str, Any]) -> None:
        try:
            await self._send(event)
        except RuntimeError as error:  # the server has closed it by itself, for a breach of the protocol
            raise LinkClosed(str(error)) from None


def _groups(messages: list[bytes]) -> Iterator[list[bytes]]:
    """The messages of each event."""
    ends = list(accumulate(map(len, messages), initial=0))
    first = 0
    while first < len(messages):
        last = min(bisect_left(ends, ends[first] + AT_ONCE_BYTES, first + 1), first + AT_ONCE)
        yield messages[first:last]
        first = last


def _join(messages: Sequence[bytes]) -> list[bytes]:
    """Messages as lines of fewer texts: what a browser does for each text costs many times what it reads."""
    texts: list[bytes] = []
    lines: list[bytes] = []
    size = 0
    for message in messages:
        lines.append(message)
        size += len(message)
        if size >= JOINED_BYTES:
            texts.append(b"\n".join(lines))
            lines, size = [], 0
    if lines:
        texts.append(b"\n".join(lines))
    return texts
