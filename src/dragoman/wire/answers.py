"""A run of plain answers, read by one call.

Who has many calls open gets their answers in long runs. Each is the same three members and nothing else; a
block of such frames needs no sorting. Whatever is not plainly that is left to `decode`, which gives the
same envelopes by a longer way.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from dragoman.wire.decode import UNREADABLE_TEXT, count_objects, is_utf8


class PlainAnswer(Struct, forbid_unknown_fields=True, gc=False):
    """The answer to one of our calls, as nearly everybody writes it."""

    jsonrpc: Literal["2.0"]
    id: int
    result: Raw


_HEAD = b'{"jsonrpc":"2.0","id":'
_LOOK = 64  # by here an answer has said that it is one; an id of that length is nobody's

_read = msgspec.json.Decoder(PlainAnswer).decode_lines


def plain_answers(block: bytes) -> list[PlainAnswer]:
    """All frames of a block of nothing but plain answers; an empty list for any other block."""
    if not block.startswith(_HEAD) or block.find(b'"result":', 0, _LOOK) < 0:
        return []
    lines = count_objects(block)
    if not lines or not is_utf8(block):
        return []
    try:
        answers = _read(block)
    except UNREADABLE_TEXT:
        return []
    return answers if len(answers) == lines else []
