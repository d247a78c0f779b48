"""The five kinds of envelopes that a frame can hold.

Every byte string is exactly one of them; params, results and error data stay raw bytes until somebody wants
their meaning. A `Raw` keeps the block it was cut from alive: copy what is kept for long.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

Id: TypeAlias = int | str | None
"""Ids keep their type and value in the answer: `1` is not `"1"`, and `null` is a legal id in version 1."""

Json: TypeAlias = Any
"""A decoded JSON value from a peer: it may have any type, so check it before use."""
JsonObject: TypeAlias = dict[str, Any]


def as_object(value: object) -> JsonObject:
    """Return the value if it is an object; otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def id_key(value: Any) -> Hashable:
    """Return a key for an id: 1, "1" and true are different, and an invalid id only equals itself."""
    return (type(value).__name__, value) if isinstance(value, int | str | float | type(None)) else repr(value)


class Request(Struct, frozen=True, gc=False):
    """A message whose sender waits for an answer under `id`."""

    id: Id
    method: str
    params: Raw | None = None


class Notification(Struct, frozen=True, gc=False):
    """A message without an answer."""

    method: str
    params: Raw | None = None


class Response(Struct, frozen=True, gc=False):
    """The answer to one of our calls."""

    id: Id
    result: Raw


class ErrorObject(Struct, frozen=True, gc=False):
    """An error of the other side, as received."""

    code: int
    message: str
    data: Any | UnsetType = UNSET


class Failure(Struct, frozen=True, gc=False):
    """An error as the answer to one of our calls. `id` is null if the peer could not read
    the id of the call.
    """

    id: Id
    error: ErrorObject


class MalformedFrame(Struct, frozen=True, gc=False):
    """A frame that is not a valid message.

    `code` is the error that its sender should get, or None when it looks like an answer: an answer is never
    answered.
    """

    frame: bytes
    code: int | None
    why: str
    id: Id = None
    """The id for the error answer: the id of a request with another version, or null."""


Envelope: TypeAlias = Request | Notification | Response | Failure | MalformedFrame
