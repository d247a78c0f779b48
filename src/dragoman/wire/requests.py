"""A run of plain requests, read by one call.

An agent that has a thousand files to read asks for them in one breath. Each request is the same four members
and nothing else; a block of such frames needs no sorting. Whatever is not plainly that is left to `decode`,
which gives the same envelopes by a longer way.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from dragoman.wire.decode import UNREADABLE_TEXT, count_objects
from dragoman.wire.doubled import MEMBERS


class PlainRequest(Struct, forbid_unknown_fields=True, gc=False):
    """A request as nearly everybody writes it."""

    jsonrpc: Literal["2.0"]
    id: int
    method: str
    params: Raw


_HEAD = b'{"jsonrpc":"2.0","id":'
_LOOK = 64  # by here a request has said that it is one; an id of that length is nobody's
_NAMES = [b'"%b":' % name.encode() for name in MEMBERS]

_read = msgspec.json.Decoder(PlainRequest).decode_lines


def plain_requests(block: bytes) -> list[PlainRequest]:
    """All frames of a block of nothing but plain requests; an empty list for any other block."""
    if not block.startswith(_HEAD) or block.find(b'"method":', 0, _LOOK) < 0:
        return []
    lines = count_objects(block)
    if lines < 2 or not block.isascii() or not _says_each_once(block, lines):
        return []
    try:
        requests = _read(block)
    except UNREADABLE_TEXT:
        return []
    return requests if len(requests) == lines else []


def _says_each_once(block: bytes, lines: int) -> bool:
    """Every frame has each member at least once, or it cannot be read: as many names as lines, and none of
    them stands there twice. An escape could hide one.
    """
    return b"\\" not in block and all(block.count(name) == lines for name in _NAMES)
