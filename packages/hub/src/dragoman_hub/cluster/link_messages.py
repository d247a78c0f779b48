"""The numbered messages that nodes exchange about one client, over a link.

A link joins the router of a client at one node with the guest that stands for it at another. The bus may lose
words; their numbers show it, and a link with a gap is at its end: the router opens another one, and
everything goes on from the last position that it heard of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.decoders import msgpack_decoder

OPEN = 1  # router → guest: payload `ClientOpening`
DATA = 2  # frames; with `session` and `position`, the client is told of the session up to there by them
PART = 3  # bytes of frames, of which more follow
TAKEN = 4  # bytes of frames that are dealt with, as a number in text
MARK = 5  # guest → router: `session` is followed from `position` on; no position: it is not followed any more
MOVED = 6  # guest → router: `session` is not this node's any more
ELSEWHERE = 7  # guest → router: a request cannot be answered here: payload `ReroutedRequest`
BEAT = 8  # not counted: `number` is that of the last word before it
CLOSE = 9  # not counted: payload is why, as text
HELLO = 10  # of no link: the node has just begun to listen, and knows no link of before

MOST = 512 * 1024
"""The most bytes of one message, which any server accepts."""


class Word(Struct, array_like=True, frozen=True):
    link: str
    sender: str
    """The node that sends it."""
    kind: int
    number: int
    session: str = ""
    position: str = ""
    payload: bytes = b""


class ClientOpening(Struct, frozen=True, kw_only=True):
    """The client that the guest represents."""

    grant: dict[str, Any]
    agent: str
    initialize: bytes
    """The params of the client's `initialize`."""
    first_id: int
    """The first number of requests to the client."""
    age: float = 0.0
    """The seconds since its connection was opened."""


class ReroutedRequest(Struct, frozen=True):
    """A request of the client that another node must answer."""

    request: int | str | None
    session: str
    node: str


encode = msgspec.msgpack.Encoder().encode
_decoder = msgpack_decoder(Word)


def decode(data: bytes) -> Word | None:
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        return None


def portions(block: bytes) -> Iterator[tuple[bool, bytes]]:
    """Split the block into pieces that fit into link messages; each with whether it is the last."""
    if len(block) <= MOST:
        yield True, block
        return
    for start in range(0, len(block), MOST):
        yield start + MOST >= len(block), block[start : start + MOST]
