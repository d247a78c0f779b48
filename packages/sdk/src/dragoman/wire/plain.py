"""Fast readers for the most frequent kinds of frames, one C call for each kind.

- A run of answers: who has many calls open gets their answers in long runs, of three members each.
- A run of requests: an agent that wants a thousand files asks for them in one breath, four members each.
- A notification with its params: nearly everything that an agent sends. Whoever names the type of its params,
  and perhaps its method as a `Literal`, reads it without an envelope in between.

A block of such frames needs no sorting. Whatever is not plainly one of these is left to `decode`, which gives
the same envelopes by a longer way.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from msgspec import Raw, Struct

from dragoman.decoders import json_decoder
from dragoman.wire.decode import UNREADABLE_TEXT, count_objects, is_utf8
from dragoman.wire.duplicate_members import MEMBERS

M = TypeVar("M", bound=str)
P = TypeVar("P")

_HEAD = b'{"jsonrpc":"2.0","id":'
_LOOK = 64  # by here a frame has shown what it is; an id of that length is nobody's


class PlainAnswer(Struct, forbid_unknown_fields=True, gc=False):
    """An answer to one of our calls, in the most frequent form."""

    jsonrpc: Literal["2.0"]
    id: int
    result: Raw


_read_answers = json_decoder(PlainAnswer).decode_lines


def plain_answers(block: bytes) -> list[PlainAnswer]:
    """Return all frames of a block with only plain answers; an empty list for any other block."""
    if not block.startswith(_HEAD) or block.find(b'"result":', 0, _LOOK) < 0:
        return []
    lines = count_objects(block)
    if not lines or not is_utf8(block):
        return []
    try:
        answers = _read_answers(block)
    except UNREADABLE_TEXT:
        return []
    return answers if len(answers) == lines else []


class PlainRequest(Struct, forbid_unknown_fields=True, gc=False):
    """A request in the most frequent form."""

    jsonrpc: Literal["2.0"]
    id: int
    method: str
    params: Raw


_NAMES = [b'"%b":' % name.encode() for name in MEMBERS]

_read_requests = json_decoder(PlainRequest).decode_lines


def plain_requests(block: bytes) -> list[PlainRequest]:
    """Return all frames of a block with only plain requests; an empty list for any other block."""
    if not block.startswith(_HEAD) or block.find(b'"method":', 0, _LOOK) < 0:
        return []
    lines = count_objects(block)
    # Every frame has each member at least once, or it cannot be read: as many names as lines, and none of
    # them stands there twice. An escape could hide one.
    if lines < 2 or not block.isascii() or b"\\" in block or any(block.count(n) != lines for n in _NAMES):
        return []
    try:
        requests = _read_requests(block)
    except UNREADABLE_TEXT:
        return []
    return requests if len(requests) == lines else []


class PlainNotification(Struct, Generic[M, P], forbid_unknown_fields=True, gc=False):
    """A notification in the most frequent form, without an `id` or other members.

    The parser checks that all of it is JSON, also what `P` skips; that the text is UTF-8 it checks only where
    `P` builds a string.
    """

    jsonrpc: Literal["2.0"]
    method: M
    params: P
