"""Which stream of an HTTP connection a message belongs to, and which of them need a session's header.

A connection has one stream for itself and one for each session. What names a session goes over the session's
stream; an answer goes where its question belongs. Official implementations disagree about some of it, so what
arrives is taken with and without the header. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.wire.envelope import Id

OPENING = frozenset({"session/new", "session/list", "authenticate", "logout", "initialize"})
"""Requests whose answers belong to the connection."""

LOADING = frozenset({"session/load", "session/resume", "session/fork"})
"""Their answers follow what they bring: on the session's stream where somebody reads it, else on the
connection's.
"""


class Outline(msgspec.Struct):
    """As much of a message as routing needs."""

    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: Any = None
    result: Any = None

    @property
    def is_request(self) -> bool:
        return self.method is not msgspec.UNSET and self.id is not msgspec.UNSET

    @property
    def is_answer(self) -> bool:
        return self.method is msgspec.UNSET

    @property
    def session(self) -> str:
        """The session that the params name, or nothing."""
        return _session_of(self.params)


class _Named(msgspec.Struct, rename="camel"):
    session_id: str = ""


class _Lean(msgspec.Struct):
    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: _Named | None = None
    result: Any = None


_lean = msgspec.json.Decoder(_Lean)
_any = msgspec.json.Decoder(Outline)


def outline(message: bytes) -> Outline | None:
    """None for what is no JSON-RPC object."""
    try:
        found = _lean.decode(message)  # the usual case: nothing but the session's name is built
        params = {} if found.params is None else {"sessionId": found.params.session_id}
        return Outline(found.id, found.method, params, found.result)
    except msgspec.ValidationError:
        pass
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    try:
        return _any.decode(message)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class Routes:
    """Remembers questions of both sides until they are answered, to know where the answers belong."""

    def __init__(self) -> None:
        self._from_client: dict[Any, tuple[str, str]] = {}  # id → method and session
        self._from_agent: dict[Any, str] = {}  # id → session

    def asked_by_client(self, message: Outline) -> None:
        if message.is_request:
            self._from_client[_key(message.id)] = (str(message.method), message.session)

    def stream_of(self, message: Outline) -> tuple[str, bool]:
        """For what the agent says: the session whose stream it belongs to (nothing for the connection's), and
        whether the connection's will do where nobody reads that one.
        """
        if not message.is_answer:
            if message.is_request:
                self._from_agent[_key(message.id)] = message.session
            return message.session, False
        method, session = self._from_client.pop(_key(message.id), ("", ""))
        if method in OPENING or not session:
            return "", False
        return session, method in LOADING

    def session_of_answer(self, message: Outline) -> str:
        """For the client's answer to a question of the agent: the session it was about."""
        return self._from_agent.pop(_key(message.id), "")


def _session_of(params: Any) -> str:
    session = params.get("sessionId") if isinstance(params, dict) else None
    return session if isinstance(session, str) else ""


def _key(value: Any) -> Any:
    return (type(value).__name__, value)  # 1 and "1" are different ids
