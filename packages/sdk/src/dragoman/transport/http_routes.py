"""Decides to which stream of an HTTP connection a message belongs, and which messages need a session's
header.

A connection has one stream for itself and one for each session. What names a session goes over the session's
stream; an answer goes where its question belongs. Official implementations disagree about some of it, so what
arrives is taken with and without the header. Pure.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.decoders import json_decoder
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.envelope import Id, id_key
from dragoman.wire.glance import Outline

OPENING = frozenset({"session/new", "session/list", "authenticate", "logout", "initialize"})
"""Requests whose answers belong to the connection."""

LOADING = frozenset({"session/load", "session/resume", "session/fork"})
"""Requests whose answers follow their updates: on the session's stream if it has a reader, otherwise on the
connection's stream.
"""

WITH_HEADER = frozenset(
    {"session/prompt", "session/cancel", "session/close", "session/set_mode", "session/set_config_option"}
)
"""Messages that must name their session in a header: all official clients do for these,
and not for others.
"""

ID_LENGTH = 1024
"""The most characters of an id, of a request or of a session."""

OPEN_QUESTIONS = 10_000
"""The most requests of a client that may wait for their answers; each is remembered."""

P = TypeVar("P")


class _SessionParams(msgspec.Struct, gc=False):
    session_id: str = msgspec.field(name="sessionId", default="")


class RoutedMessage(Outline[P], Generic[P]):
    """A message with the fields that routing needs."""

    @property
    def is_reply(self) -> bool:
        """Whether the message is a valid answer; any other message without a method is invalid."""
        return self.is_answer and self.id is not UNSET

    @property
    def is_failure(self) -> bool:
        return self.is_answer and self.error is not UNSET

    @property
    def is_too_long(self) -> bool:
        own_id = self.id if isinstance(self.id, str) else ""
        return max(len(own_id), len(self.session)) > ID_LENGTH

    @property
    def needs_header(self) -> bool:
        return self.method in WITH_HEADER

    @property
    def session(self) -> str:
        """The session in the params, or nothing."""
        return self.params.session_id if isinstance(self.params, _SessionParams) else ""

    def in_result(self, name: str) -> Any:
        """Return a member of the result; None if there is none."""
        try:
            result = None if isinstance(self.result, UnsetType) else msgspec.json.decode(self.result)
        except UNREADABLE_TEXT:
            return None
        return result.get(name) if isinstance(result, dict) else None


_routed_decoder = json_decoder(RoutedMessage[_SessionParams])
_any = json_decoder(RoutedMessage[Raw])


def outline(message: bytes) -> RoutedMessage[Any] | None:
    """Read a message's routing fields; None if it is not a JSON-RPC object."""
    try:
        return _routed_decoder.decode(message)  # the usual case: nothing but the session's name is built
    except msgspec.ValidationError:
        pass  # params that name no session, such as an array
    except UNREADABLE_TEXT:
        return None
    try:
        return _any.decode(message)
    except UNREADABLE_TEXT:
        return None


class Routes:
    """Remembers requests of both sides until they are answered, to route the answers."""

    def __init__(self) -> None:
        self._from_client: dict[Any, tuple[str, str]] = {}  # id → method and session
        self._from_agent: dict[Any, str] = {}  # id → session

    @property
    def open_questions(self) -> int:
        return len(self._from_client)

    def asked_by_client(self, message: RoutedMessage[Any]) -> None:
        if message.is_request:
            self._from_client[id_key(message.id)] = (str(message.method), message.session)

    def stream_of(self, message: RoutedMessage[Any]) -> tuple[str, bool]:
        """Return the stream for a message of the agent: its session (empty for the connection's stream), and
        whether the connection's stream may be used if the session's has no reader.
        """
        if message.method is not UNSET:
            if message.id is not UNSET:
                self._from_agent[id_key(message.id)] = message.session
                if len(self._from_agent) > OPEN_QUESTIONS:  # the oldest will hardly be answered any more
                    del self._from_agent[next(iter(self._from_agent))]
            return message.session, False
        method, session = self._from_client.pop(id_key(message.id), ("", ""))
        if method in OPENING or not session:
            return "", False
        return session, method in LOADING

    def session_of_answer(self, message: RoutedMessage[Any], *, forget: bool = True) -> str:
        """Return the session of the agent's request that the client answers."""
        key = id_key(message.id)
        return self._from_agent.pop(key, "") if forget else self._from_agent.get(key, "")

    def settle(self, message: RoutedMessage[Any]) -> bool:
        """Note that a request of the client is answered; False if it was already answered."""
        return self._from_client.pop(id_key(message.id), None) is not None

    def open_in(self, session: str) -> list[Id]:
        """Return the client's unanswered requests about a session."""
        return [key[1] for key, (_, about) in self._from_client.items() if about == session]
