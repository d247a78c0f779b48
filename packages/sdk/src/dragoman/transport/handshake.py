"""Which messages a server accepts over a WebSocket, and in which order: `initialize` comes first, and once.

Garbage is answered here, so that no agent has to: it costs its sender an error and nothing else. So are
messages whose ids are longer than any id needs to be. A client that begins with anything but `initialize`
speaks another protocol and is sent away. Pure; the close codes are those of RFC 6455.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from dragoman.transport.http_routes import ID_LENGTH, RoutedMessage, outline
from dragoman.wire import MalformedFrame, decode, error_object, failure
from dragoman.wire.codes import INVALID_PARAMS, INVALID_REQUEST, NAMES

PROTOCOL_ERROR = 1002
POLICY_VIOLATION = 1008

FIRST = "the first message must be initialize"


class Forwarded(Struct, frozen=True):
    """The agent may receive the message."""


class Rejected(Struct, frozen=True):
    """The agent does not receive the message; the sender gets this answer instead, if any."""

    message: bytes = b""


class Disconnected(Struct, frozen=True):
    """The connection is closed because of the message."""

    code: int
    why: str


PASSED = Forwarded()


class Handshake:
    """Checks messages one after the other."""

    def __init__(self, *, once: bool = True) -> None:
        """Without `once`, the next program in the chain decides about a second `initialize`."""
        self.is_done = False  # initialize has come
        self._once = once

    def look(self, message: bytes) -> Forwarded | Rejected | Disconnected:
        about = outline(message)
        if about is None:
            return self._unusual(message)
        if about.is_too_long and (self.is_done or about.method == "initialize"):
            return Rejected(refuse_long_id(about))
        if about.method == "initialize":
            return self._on_initialize(about.id if about.is_request else None)
        if self.is_done:
            return PASSED
        if about.is_answer:
            return Rejected()  # nobody has asked anything yet
        return Disconnected(PROTOCOL_ERROR, FIRST)

    def _on_initialize(self, request: object) -> Forwarded | Rejected | Disconnected:
        if not isinstance(request, int | str):
            return Disconnected(PROTOCOL_ERROR, "initialize needs an id")
        if self.is_done and self._once:
            again = error_object(INVALID_REQUEST, "Invalid request: initialize comes once")
            return Rejected(failure(request, again))
        self.is_done = True
        return PASSED

    def _unusual(self, message: bytes) -> Forwarded | Rejected | Disconnected:
        """What cannot be outlined is garbage, or so strange that the agent had better look at it."""
        envelope = decode(message)
        if isinstance(envelope, MalformedFrame):
            return _refuse(envelope)
        return PASSED if self.is_done else Disconnected(PROTOCOL_ERROR, FIRST)


def refuse_long_id(about: RoutedMessage[Any]) -> bytes:
    """Return the answer to a message whose id is too long; empty if it is not a request."""
    if not about.is_request:
        return b""
    if len(about.session) > ID_LENGTH:
        why = f"Invalid params: sessionId is longer than {ID_LENGTH} characters"
        is_usable = isinstance(about.id, int | str) and len(str(about.id)) <= ID_LENGTH
        request = about.id if is_usable and about.id is not UNSET else None
        return failure(request, error_object(INVALID_PARAMS, why))
    why = f"Invalid request: the id is longer than {ID_LENGTH} characters"
    return failure(None, error_object(INVALID_REQUEST, why))


def _refuse(garbage: MalformedFrame) -> Rejected:
    if garbage.code is None:
        return Rejected()
    why = f"{NAMES[garbage.code]}: {garbage.why}"
    return Rejected(failure(garbage.id, error_object(garbage.code, why)))
