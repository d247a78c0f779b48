"""Runs of updates, read by one call into C: whole frames of the commonest kind, envelopes and all.

Whatever is not exactly such a frame makes the call fail, and its block is read frame by frame.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.decoders import json_decoder
from dragoman.schema import v1
from dragoman.schema.choice import decode_choice
from dragoman.wire.plain import PlainNotification


class PlainParams(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """The params of an update that carry nothing but what they must: no `_meta`, nothing unknown."""

    session_id: str
    update: v1.SessionUpdate


UpdateFrame: TypeAlias = PlainNotification[Literal["session/update"], PlainParams]
"""A whole frame of the commonest kind."""

NoteFrame: TypeAlias = PlainNotification[Literal["session/update"], v1.SessionNotification]
"""The same for whoever hands on the whole message."""


@cache
def run_reader(frame: type[object]) -> Callable[[bytes], list[Any]]:
    """Made with the first connection: it takes longer to make than a small program takes to start."""
    return json_decoder(frame, dec_hook=decode_choice).decode_lines


def as_notification(params: PlainParams) -> v1.SessionNotification:
    return v1.SessionNotification(session_id=params.session_id, update=params.update)
