"""Sends many WebSocket messages in one event: the ASGI extension `dragoman.many`, and messages as wire bytes.

An update a message is what the protocol says, and an event a message costs ten times what the message does.
So there is an extension of ASGI, `dragoman.many`, announced in the scope: `{"type": "websocket.send", "many":
[b"…", …]}` sends each as a text message of its own, all with one write. Its `now` does that at once, if there
is room for them: a turn of the event loop is a good part of what a single update waits for. A server's
messages are not masked and we do not compress, so that a message is a short head and its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

EXTENSION = "dragoman.many"

_TEXT = 0x81
_KNOWN = 4096
"""Sizes whose heads are kept: nearly all messages are smaller."""


class _Heads(dict[int, bytes]):
    """The bytes before a message, by its size."""

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


def encode_frames(messages: Sequence[bytes]) -> bytes:
    """The messages as WebSocket frames."""
    parts: list[bytes] = [b""] * (2 * len(messages))
    parts[::2] = map(_heads.__getitem__, map(len, messages))
    parts[1::2] = messages
    return b"".join(parts)
