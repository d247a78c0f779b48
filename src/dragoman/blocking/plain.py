"""Frames in the form in which nearly everybody writes them, read by one call.

An answer is read straight into the type of its result; what it may not hold, the decoder refuses. A request
may name no member twice, which a decoder does not see. So it is cut up: a line that begins like this has
nothing in its envelope that could be missed, if what is left without the last brace is one JSON value, and
whoever uses it must decode that to its end. Whatever is refused here goes to `wire.decode`, which says what
it is. Both ways lead to the same message, or one would be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from msgspec import defstruct

from dragoman.schema.codec import strict_reader

_HEAD = b'{"jsonrpc":"2.0","id":'

plain_request = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(0|[1-9][0-9]{0,15}),"method":"([a-z_/]+)","params":(.*)\}\n'
).fullmatch
"""Its groups are the id, the method, and what may be the params."""


class _Readers(dict[Any, Callable[[bytes], Any]]):
    """What reads a frame that answers with a result of some type: an object with `id` and `result`. It raises
    `ValueError`, `TypeError` or `RecursionError` for anything else.
    """

    def __missing__(self, kind: object) -> Callable[[bytes], Any]:
        frame = defstruct(
            "Answer",
            [("jsonrpc", Literal["2.0"]), ("id", int), ("result", kind)],
            forbid_unknown_fields=True,
        )
        read = self[kind] = strict_reader(frame)
        return read


plain_answers = _Readers()


def is_lone(block: bytes) -> bool:
    """Whether it is one frame, and no notification."""
    return block.startswith(_HEAD) and block.find(b"\n") == len(block) - 1
