"""Validates requests before the hub acts on them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from msgspec import Raw

from dragoman.schema.scalars import is_absolute
from dragoman.wire.codes import invalid_params, invalid_request, session_not_found
from dragoman_hub.engine.key_lookup import CHILD
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.ports import Position, read_cursor
from dragoman_hub.gate.table import PassedParams
from dragoman_hub.session.frames import KEY_LENGTH, key_in, ours_in, value_of
from dragoman_hub.session.state import SAVED_STATES

KINDS: dict[str, type] = {
    "sessionId": str,
    "cwd": str,
    "cursor": str,
    "mcpServers": list,
    "additionalDirectories": list,
    "_meta": dict,
}
"""Fields of the protocol's requests about sessions."""


def check_version(params: Mapping[str, Raw]) -> None:
    version = value_of(params.get("protocolVersion"))
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= 65535:
        raise invalid_params("protocolVersion is missing, or no version")


def check_kinds(params: Mapping[str, Raw]) -> None:
    """Check the types of the present fields; the handler checks for missing ones."""
    for name, kind in KINDS.items():
        value = value_of(params.get(name))
        if value is not None and not isinstance(value, kind):
            raise invalid_params(f"{name} is of the wrong kind")


def check_folders(params: Mapping[str, Raw]) -> None:
    """Check that a session's folders are absolute: the hub and the client share no current folder. Some
    clients send an empty folder for a stored session.

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup#working-directory
    """
    more = value_of(params.get("additionalDirectories"))
    for folder in (value_of(params.get("cwd")), *(more if isinstance(more, list) else ())):
        if isinstance(folder, str) and folder and not is_absolute(folder):
            raise invalid_params("cwd and additionalDirectories must be absolute paths")


def checked_key(ours: Mapping[str, object]) -> str:
    """Return the key of a request; empty if it has none. An invalid key is refused: without it, a repeated
    request would run again.
    """
    if ours.get("key") and not key_in(ours):
        raise invalid_params(f"_meta.dragoman.key is a text of at most {KEY_LENGTH} characters")
    return key_in(ours)


def new_key() -> str:
    """Return a key for a request without one. It has dashes: so many hexadecimal digits in a row under this
    name look like a secret, and the journal would search every frame with them.
    """
    return str(uuid.uuid4())


def making_key(by: str, params: Mapping[str, Raw]) -> str:
    """Return the key of a request that creates a session; empty if it has none. Each token, here `by`, has
    its own keys.
    """
    key = checked_key(ours_in(params))
    return f"{by}\n{key}" if key else ""


def named_agent(params: PassedParams) -> str:
    """Return the agent that a request must name."""
    if not params.agent:
        raise invalid_params("agent is missing")
    return params.agent


def checked_cursor(session: LiveSession, cursor: str, name: str) -> Position:
    """Return the position in the session from the field `name` of a request."""
    position = read_cursor(cursor)
    if position is None or position.sequence > session.log.last:
        raise invalid_params(f"{name} is not a cursor of this session")
    return position


def check_open(session: LiveSession) -> None:
    """Check that a session is open: a closed one must be loaded or resumed first."""
    if session.listed_state in SAVED_STATES:
        raise session_not_found(session.id)


def check_no_child(session: LiveSession) -> None:
    """Check that a session is not a child, which belongs to its agent: a client may read it, answer its
    requests, and cancel it.
    """
    if session.state.parent:
        raise invalid_request(f"session {session.id} is a child of {session.state.parent}: {CHILD}")
