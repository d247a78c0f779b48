"""The members of a message, with the params read as a type that the reader names.

For whoever routes messages by one thing in their params, such as a name, and would otherwise parse them
twice. Everything that `P` does not name is skipped; the parser checks that it is JSON, and not that its text
is UTF-8. An outline says what is written and judges nothing: `jsonrpc` may be missing, a request may name a
member twice. Whether a frame is a message says `decode`.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.wire.envelope import Id

P = TypeVar("P")


class Outline(Struct, Generic[P], gc=False):
    """A request has a method and an id, a notification only a method, an answer only an id."""

    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: P | UnsetType | None = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not UNSET and self.id is not UNSET

    @property
    def is_notification(self) -> bool:
        return self.method is not UNSET and self.id is UNSET

    @property
    def is_answer(self) -> bool:
        return self.method is UNSET
