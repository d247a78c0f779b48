"""The members of a frame, with the params read as a type that the caller names and everything else skipped.

For whoever needs one thing out of the params, such as a name in them, and would otherwise parse them twice.
Members that are skipped are still checked to be JSON: the parser walks through them to find their end. It
does not check that text in them is UTF-8, so `outline` and `outline_block` do.

An outline says what is written, and judges nothing: `jsonrpc` may be missing or wrong, a request may name a
member twice. Whether a frame is a message says `decode`. A frame with half of a surrogate pair in it, which
`decode` mends, has no outline.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.wire.decode import UNREADABLE_TEXT, count_objects, is_utf8
from dragoman.wire.envelope import Id

P = TypeVar("P")


class Outline(Struct, Generic[P], gc=False):
    """Every member that a message can have. A request has a method and an id, a notification only a method,
    an answer only an id.
    """

    jsonrpc: Any = UNSET  # whatever stands there
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


def outline(frame: bytes, decoder: msgspec.json.Decoder[Outline[P]]) -> Outline[P] | None:
    """One frame; None if it is not JSON in UTF-8, or a member is not of its type."""
    if not is_utf8(frame):
        return None
    try:
        return decoder.decode(frame)
    except UNREADABLE_TEXT:
        return None


def outline_block(block: bytes, decoder: msgspec.json.Decoder[Outline[P]]) -> list[Outline[P]]:
    """All frames of a block by one call, if it is plainly one object a line; an empty list for any other."""
    lines = count_objects(block)
    if not lines or not is_utf8(block):
        return []
    try:
        outlines = decoder.decode_lines(block)
    except UNREADABLE_TEXT:
        return []
    return outlines if len(outlines) == lines else []
