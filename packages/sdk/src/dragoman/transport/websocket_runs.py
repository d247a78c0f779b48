"""A client's WebSocket connection that receives many small messages at once, as lines.

A message a frame, a frame an object and an object a wake-up cost many times what the bytes do. What arrives
is therefore looked at before `websockets` does: text messages that are whole and small are joined, each with
a newline, and enter its queue as if they were one. Everything else (control frames, fragments, large
messages, whatever breaks the rules) goes its usual way, byte for byte and in its place. Raw newlines inside a
message become blanks, so that a newline always ends one; what is blank altogether is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosedOK,
    InvalidHeader,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)
from websockets.frames import DATA_OPCODES, Frame, Opcode
from websockets.protocol import OPEN, Event

from dragoman.errors import LinkClosed, LocalMistake
from dragoman.transport.messages import unreachable

__all__ = ["SMALL", "ConnectionClosedOK", "RunConnection", "open_connection"]

OPENING = 10.0
"""The seconds until a server without an answer to the handshake counts as gone."""

SMALL = 64 * 1024
"""The largest size of a message that is worth batching here."""

ENDLESS = 1 << 62

_TEXT = 0x81  # the first byte of a message that is text and whole
_FRAGMENTS = frozenset({0x01, 0x02})  # of one that begins here and goes on in another frame
_END_OF_HANDSHAKE = b"\r\n\r\n"


async def open_connection(
    url: str, *, headers: Mapping[str, str], max_size: int, keepalive: float, by_run: bool
) -> ClientConnection:
    """Connect to a server. Raises `LinkClosed` with the server's answer if it refuses."""
    try:
        return await connect(
            url,
            additional_headers=headers,
            max_size=max_size,
            compression=None,  # costs forty kilobytes a connection, and JSON is small
            ping_interval=keepalive,
            ping_timeout=keepalive,
            open_timeout=min(OPENING, keepalive),
            close_timeout=keepalive / 3,  # also for the goodbye to a peer that was just taken for gone
            create_connection=RunConnection if by_run else None,
        )
    except InvalidURI as error:
        raise LocalMistake(f"{url!r} is not an address of a WebSocket: {error}") from None
    except InvalidStatus as error:
        raise LinkClosed(f"{url} refused the connection with status {error.response.status_code}") from None
    except InvalidHeader as error:  # its text holds the value, which may be a token
        raise LinkClosed(f"{url} cannot be reached: invalid {error.name} header") from None
    except (OSError, TimeoutError, WebSocketException) as error:
        raise unreachable(url, error) from None


class RunConnection(ClientConnection):
    """For `connect(create_connection=…)`. `recv` returns bytes for several messages, each with a newline, and
    a text for a single one. A peer's binary message counts as blank.
    """

    _ours = False  # whether we stand at the beginning of a frame, and look
    _rest = b""  # of a small message that is not whole yet
    _passing = 0  # bytes to come that belong to a frame which is not for us
    _is_text = True  # the message whose fragments come

    def data_received(self, data: bytes) -> None:
        if self._ours:
            self._look(self._rest + data if self._rest else data)
            return
        opening = self.response is None
        super().data_received(data)
        if opening and self.protocol.state is OPEN:
            # Whoever says something in the same breath as the handshake is served the usual way.
            self._ours = data.find(_END_OF_HANDSHAKE) == len(data) - len(_END_OF_HANDSHAKE)

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame) and event.opcode in DATA_OPCODES:
            is_first = event.opcode is not Opcode.CONT
            self._is_text = event.opcode is Opcode.TEXT if is_first else self._is_text
            data = bytes(event.data).replace(b"\n", b" ") if self._is_text else b""
            event = Frame(Opcode.TEXT if is_first else Opcode.CONT, data, fin=event.fin)
        super().process_event(event)

    def _look(self, data: bytes) -> None:
        at = self._pass_on(data)
        size = len(data)
        run: list[bytes] = []
        while self._ours:
            at = _gather(data, at, run)
            if at + 2 > size:
                break
            length, head = _measure(data, at)
            end = at + head + length
            if not head:
                break
            if data[at] == _TEXT and length <= SMALL:
                if end > size:
                    break
                run.append(data[at + head : end])
            else:
                self._take(run)
                run = []
                self._ours = data[at] not in _FRAGMENTS
                self._passing = max(0, end - size)
                super().data_received(data[at:end])
                self._ours = self._ours and self.protocol.state is OPEN
            at = min(end, size)
        self._take(run)
        self._rest = data[at:]
        if not self._ours and self._rest:
            rest, self._rest = self._rest, b""
            super().data_received(rest)

    def _pass_on(self, data: bytes) -> int:
        """What still belongs to a frame that is not ours; says how much that was."""
        count = min(self._passing, len(data))
        if count:
            self._passing -= count
            super().data_received(data[:count])
            self._ours = self.protocol.state is OPEN
        return count

    def _take(self, run: list[bytes]) -> None:
        if not all(run) or any(map(bytes.isspace, run)):
            run = [message for message in run if message and not message.isspace()]
        if not run:
            return
        block = b"\n".join((*run, b""))
        # Whether a newline is inside one of them. To count them would take four times as long.
        if len(block) - len(block.replace(b"\n", b"")) > len(run):
            block = b"\n".join((*(message.replace(b"\n", b" ") for message in run), b""))
        # Whoever wants bytes would encode a text again. What is not UTF-8 ends the connection there.
        super().process_event(Frame(Opcode.BINARY if _is_utf8(block) else Opcode.TEXT, block))


def _is_utf8(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _gather(data: bytes, at: int, run: list[bytes]) -> int:
    """Messages with a short head that are text and whole, up to the first that is not; says where it begins.
    Nearly all messages are such, and this is done for each of them: hence without any call.
    """
    size, append = len(data), run.append
    try:
        while data[at] == _TEXT:
            length, start = data[at + 1], at + 2
            if length >= 126:
                if length != 126:
                    break
                length, start = data[at + 2] << 8 | data[at + 3], at + 4
            end = start + length
            if end > size:
                break
            append(data[start:end])
            at = end
    except IndexError:
        pass  # the last head is not all there
    return at


def _measure(data: bytes, at: int) -> tuple[int, int]:
    """The length of a frame's payload and of what stands before it; no head if that is not all there."""
    length = data[at + 1]
    if length < 126:
        return length, 2
    wide = {126: 2, 127: 8}.get(length, 0)
    if not wide:
        return ENDLESS, 2  # masked, which breaks the rules: whoever all of it is passed to will say so
    head = 2 + wide
    if at + head > len(data):
        return 0, 0
    return int.from_bytes(data[at + 2 : at + head], "big"), head
