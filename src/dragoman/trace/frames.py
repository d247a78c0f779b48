"""Frames of a recording as plain values, whatever is in them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec


def decoded(frame: bytes) -> Any:
    """What a frame holds; None for what is no JSON."""
    try:
        return msgspec.json.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def id_key(value: Any) -> Hashable:
    """An id to look up by: 1, "1" and true are different, and what cannot be an id is itself."""
    return (type(value).__name__, value) if isinstance(value, int | str | float | type(None)) else repr(value)
