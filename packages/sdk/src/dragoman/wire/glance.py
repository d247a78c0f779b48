"""Reads only the method and the id of each frame in a block.

For whoever passes frames on without changing them. A block of plain lines costs one call into C, which skips
over params and results instead of building them. Any bytes whatsoever give one glance a line, in order; what
cannot be read gives `UNREADABLE`, which is not an error here: the peer whom the frame is for may say what it
thinks of it.

A glance is weaker than `decode`: it believes a readable envelope without asking for `jsonrpc`, for UTF-8 in
its params, or whether a member stands there twice; and in a long run of notifications it believes their
beginnings. Whoever acts on a frame decodes it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.decoders import json_decoder
from dragoman.wire.decode import UNREADABLE_TEXT, count_lines, count_objects
from dragoman.wire.envelope import Id


class Glance(Struct, gc=False):
    """The method and id of a frame: a request has both, a notification only a method, an
    answer only an id.
    """

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET


UNREADABLE = Glance()
"""No method and no id: not JSON, not an object, or an object with members of the wrong types. An answer
without an id, which some peers send, looks the same.
"""

_glances = json_decoder(Glance)

_NOTE = b'{"jsonrpc":"2.0","method":"'


def lines_of(block: bytes) -> list[bytes]:
    """Return the frames of a block, each with its newline if it has one. Blank lines are ignored."""
    lines = [line + b"\n" for line in block.split(b"\n")]
    lines[-1] = lines[-1][:-1]  # what follows the last newline; nearly always nothing
    return [line for line in lines if line and not line.isspace()]


def glance(frame: bytes) -> Glance:
    """Read one frame."""
    try:
        return _glances.decode(frame)
    except UNREADABLE_TEXT:
        return UNREADABLE


def glance_block(block: bytes) -> list[Glance]:
    """Read all frames of a block: as many glances as `lines_of` returns lines, in the same order."""
    run = _glance_run(block)
    if run:
        return run
    lines = count_objects(block)
    if lines:
        try:
            glances = _glances.decode_lines(block)
        except UNREADABLE_TEXT:
            pass
        else:
            if len(glances) == lines:
                return glances
    return [glance(line) for line in lines_of(block)]


def _glance_run(block: bytes) -> list[Glance]:
    """The short way of a run of notifications of one method, which is nearly everything that ever passes."""
    lines = count_notifications(block)
    if not lines:
        return []
    try:
        method = msgspec.json.decode(block[len(_NOTE) - 1 : _end_of_head(block)], type=str)
    except UNREADABLE_TEXT:
        return []
    return [Glance(method)] * lines


def count_notifications(block: bytes) -> int:
    """Return the number of frames in a run of notifications of one method; 0 for anything else.

    Every frame begins with the same method and ends as one does whose last member is an object, and nowhere
    in the block stands the name of an id, not even deep in the params. What else is in a frame is not looked
    at; only one that hides a member, by an escape or by naming it twice, is taken for something else.
    """
    end = _end_of_head(block)
    if not end or block[-3:] != b"}}\n" or block.rfind(b'"id":') >= 0:  # `find` takes twice as long
        return 0
    lines = count_lines(block)
    return lines if block.count(b"}}\n" + block[:end]) == lines - 1 else 0


def _end_of_head(block: bytes) -> int:
    return block.find(b'"', len(_NOTE)) + 1 if block.startswith(_NOTE) else 0


P = TypeVar("P")


class Outline(Struct, Generic[P], gc=False):
    """The method and id of a frame: a request has both, a notification only a method, an
    answer only an id.
    """

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
