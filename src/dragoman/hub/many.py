"""WebSockets by uvicorn, with one thing more: many messages in one event.

An update a message is what the protocol says, and an event a message costs ten times what the message does.
So there is an extension of ASGI, `dragoman.many`, announced in the scope: `{"type": "websocket.send", "many":
[b"…", …]}` sends each as a text message of its own, all with one write. Its `now` does that at once, if there
is room for them: a turn of the event loop is a good part of what a single update waits for. A server's
messages are not masked and we do not compress, so that a message is a short head and its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

EXTENSION = "dragoman.many"

_TEXT = 0x81
_KNOWN = 4096
"""Sizes whose heads are kept: nearly all messages are smaller."""


class _Heads(dict[int, bytes]):
    """What stands before a message, by its size."""

    def __missing__(self, size: int) -> bytes:
        if size < 126:
            head = bytes((_TEXT, size))
        elif size < 65536:
            head = bytes((_TEXT, 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((_TEXT, 127)) + size.to_bytes(8, "big")
        if size < _KNOWN:
            self[size] = head
        return head


_heads = _Heads()


class ManyProtocol(WebSocketsSansIOProtocol):
    """For `uvicorn.Config(ws=…)`."""

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        scope: Any = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][EXTENSION] = {"now": self.send_now}

    def send_now(self, messages: Sequence[bytes]) -> bool:
        """The same without a wait and without an event, if there is room; else nothing happens."""
        if not self.writable.is_set() or self.disconnected or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(framed(messages))
        return True

    async def send(self, message: Any) -> None:
        many = message.get("many")
        if many is None:
            await super().send(message)
            if message["type"] == "websocket.accept":
                self._forget_handshake()
            return
        await self.writable.wait()
        if self.disconnected:
            raise ClientDisconnected
        if self.close_sent or self.transport.is_closing():
            raise RuntimeError("the connection is being closed")
        self.transport.write(framed(many))

    def _forget_handshake(self) -> None:
        """Nobody asks for its headers any more, and a connection that is idle for days is to cost little."""
        kept: Any = self
        kept.request = kept.response = None
        kept.scope["headers"] = []


def framed(messages: Sequence[bytes]) -> bytes:
    """The messages as they stand on the wire."""
    parts: list[bytes] = [b""] * (2 * len(messages))
    parts[::2] = map(_heads.__getitem__, map(len, messages))
    parts[1::2] = messages
    return b"".join(parts)
