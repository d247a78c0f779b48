"""Converts answers between a client and its agent into a form that each can read. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from dragoman.errors import LinkClosed
from dragoman.schema.own_names import UNREADABLE, may_hold, stripped
from dragoman.schema.v1.methods import METHODS
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR

OF_LENT_FILES = frozenset({"version", "conflict"})
"""A client's note about its files in `_meta.dragoman` of an answer, which is passed on to the agent."""


def missing_result(method: str) -> tuple[Raw | None, Any]:
    """Return the meaning of a missing result: an empty one if no field is required, otherwise an error."""
    row = METHODS.get(method, kind="request", receiver="client")
    if row is None:
        return Raw(b"null"), None  # an extension: null may be what it means
    if row.needs_result:
        why = f"Internal error: the client's answer to {method} has neither a result nor an error"
        return None, error_object(INTERNAL_ERROR, why)
    return Raw(b"{}"), None


def answer_of_guest(result: bytes) -> Raw:
    """Return a client's answer to an agent, without fields that only the hub may set; null
    if it is invalid.
    """
    if not may_hold(result):
        return Raw(result)
    try:
        return Raw(stripped(result, edges=True, keep=OF_LENT_FILES))
    except UNREADABLE:
        return Raw(b"null")


def has_capability(capabilities: object, path: tuple[str, ...]) -> bool:
    for name in path:
        capabilities = capabilities.get(name) if isinstance(capabilities, dict) else None
    return capabilities is True


def why_of_error(error: BaseException) -> str:
    """Return the part of an internal error that a client may see: its kind."""
    if isinstance(error, TimeoutError):
        return "the agent did not answer in time"
    return str(error) if isinstance(error, LinkClosed) else str(error).split("\n")[0][:300]
