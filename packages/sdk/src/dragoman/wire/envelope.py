"""The five kinds of envelopes that a frame can hold.

Every byte string is exactly one of them; params, results and error data stay raw bytes until somebody wants
their meaning. A `Raw` keeps the block it was cut from alive: copy what is kept for long.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

Id: TypeAlias = int | str | None
"""Ids are echoed with their type and value: `1` is not `"1"`, and `null` is a legal id in version 1."""

Json: TypeAlias = Any
"""A decoded JSON value as a peer sent it: it may be anything, so look before use."""
JsonObject: TypeAlias = dict[str, Any]


def as_object(value: object) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def id_key(value: Any) -> Hashable:
    """What to look an id up by: 1, "1" and true are different, and what can be no id is only itself."""
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
    """An error of the other side, as it was sent."""

    code: int
    message: str
    data: Any | UnsetType = UNSET


class Failure(Struct, frozen=True, gc=False):
    """The answer to one of our calls, which is an error. `id` is null when the peer could not tell which
    call.
    """

    id: Id
    error: ErrorObject


class MalformedFrame(Struct, frozen=True, gc=False):
    """A frame that is none of the above.

    `code` is the error that its sender should get, or None when it looks like an answer: an answer is never
    answered.
    """

    frame: bytes
    code: int | None
    why: str
    id: Id = None
    """What its sender should get that error under: the id of a request that says another version, or null."""


Envelope: TypeAlias = Request | Notification | Response | Failure | MalformedFrame
