"""Frames of a recording as plain values, whatever is in them."""

from __future__ import annotations

import msgspec

from dragoman.wire.envelope import Json, JsonObject


def decode_frame(frame: bytes) -> Json:
    """What a frame holds; None for what is no JSON."""
    try:
        return msgspec.json.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def as_object(value: object) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
