"""One look at the envelopes of a block: the method and the id of each frame, and nothing more.

For whoever passes frames on without changing them. A block of plain lines costs one call into C, which skips
over params and results instead of building them. Any bytes whatsoever give one glance a line, in order; what
cannot be read gives `UNREADABLE`, which is no error here: the peer whom the frame is for may say what it
thinks of it.

A glance is weaker than `decode`: it believes a readable envelope without asking for `jsonrpc`, for UTF-8 in
its params, or whether a member stands there twice (of two, the last counts). Whoever acts on a frame decodes
it.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dragoman.wire.decode import count_objects
from dragoman.wire.envelope import Id


class Glance(Struct, gc=False):
    """What is known of a frame: a request has both, a notification only a method, an answer only an id."""

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET


UNREADABLE = Glance()
"""No method, no id: not JSON, no object, or an object with members of the wrong types. An answer without an
id, which some peers send, looks the same.
"""

_glances = msgspec.json.Decoder(Glance)

_UNREADABLE_TEXT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def lines_of(block: bytes) -> list[bytes]:
    """The frames of a block, each with its newline if it has one. Blank lines are nothing."""
    lines = [line + b"\n" for line in block.split(b"\n")]
    lines[-1] = lines[-1][:-1]  # what follows the last newline; nearly always nothing
    return [line for line in lines if line and not line.isspace()]


def glance(frame: bytes) -> Glance:
    """One frame."""
    try:
        return _glances.decode(frame)
    except _UNREADABLE_TEXT:
        return UNREADABLE


def glance_block(block: bytes) -> list[Glance]:
    """All frames of a block: as many glances as `lines_of` gives lines, in the same order."""
    lines = count_objects(block)
    if lines:
        try:
            glances = _glances.decode_lines(block)
        except _UNREADABLE_TEXT:
            pass
        else:
            if len(glances) == lines:
                return glances
    return [glance(line) for line in lines_of(block)]
