"""Frames in the form in which nearly everybody writes them, cut up without a parser of envelopes.

A frame that begins like this and is one line of ASCII has nothing in its envelope that could be missed, if
what is left without the last brace is one JSON value. So whoever uses these must decode that rest to its end,
as the type that he expects; if it cannot be decoded, the frame was not plain, and `wire.decode` says what it
is. Both ways lead to the same message, or one would be wrong.
"""

from __future__ import annotations

import re

from dragoman.wire import Id

_HEAD = b'{"jsonrpc":"2.0","id":'
_REQUEST = re.compile(rb'\{"jsonrpc":"2\.0","id":(0|[1-9][0-9]{0,15}),"method":"([a-z_/]+)","params":')


def is_lone(block: bytes) -> bool:
    """Whether it is one frame, and no notification."""
    return block.startswith(_HEAD) and block.find(b"\n") == len(block) - 1


def plain_answer(block: bytes, call_id: Id) -> bytes | None:
    """What may be the result of this call."""
    assert isinstance(call_id, int)
    head = b'%b%d,"result":' % (_HEAD, call_id)
    one_line = block.find(b"\n") == len(block) - 1
    if one_line and block.startswith(head) and block.endswith(b"}\n") and block.isascii():
        return block[len(head) : -2]
    return None


def plain_request(block: bytes) -> tuple[int, str, bytes] | None:
    """The id, the method and what may be the params."""
    found = _REQUEST.match(block)
    one_line = block.find(b"\n") == len(block) - 1
    if found is None or not (one_line and block.endswith(b"}\n") and block.isascii()):
        return None
    return int(found[1]), found[2].decode(), block[found.end() : -2]
