"""What is wrong with a request, before anything is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Raw

from dragoman.hub.session.frames import value_of
from dragoman.wire.codes import invalid_params, session_not_found

if TYPE_CHECKING:
    from dragoman.hub.live_session import LiveSession

KINDS: dict[str, type] = {
    "sessionId": str,
    "cwd": str,
    "cursor": str,
    "mcpServers": list,
    "additionalDirectories": list,
    "_meta": dict,
}
"""Members of the protocol's requests about sessions."""


def check_version(params: Mapping[str, Raw]) -> None:
    version = value_of(params.get("protocolVersion"))
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= 65535:
        raise invalid_params("protocolVersion is missing, or no version")


def check_kinds(params: Mapping[str, Raw]) -> None:
    """What is there must be of its kind; what is missing is for the handler to miss."""
    for name, kind in KINDS.items():
        value = value_of(params.get(name))
        if value is not None and not isinstance(value, kind):
            raise invalid_params(f"{name} is of the wrong kind")


def check_open(session: LiveSession) -> None:
    """A session that was closed is loaded or resumed before anything is said in it."""
    if session.listed == "closed":
        raise session_not_found(session.id)
