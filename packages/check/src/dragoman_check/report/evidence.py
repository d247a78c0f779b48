"""Formats frames for a report: one printable line, shortened, with its structure still visible.

Long texts and lists within a frame are cut before the frame is, so that names and ids survive.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dragoman.text.sanitize import sanitize_line
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.envelope import Json
from dragoman_check.recording import Direction

TEXT = 72
ITEMS = 4
DEEP = 12


class Evidence(Struct, frozen=True, kw_only=True):
    """One frame of a finding."""

    number: int
    direction: Direction
    at: float
    """Seconds since the first frame of its recording."""
    text: str


def shorten(raw: bytes, *, length: int) -> str:
    """A frame in at most about `length` characters; one that fits is shown as it is."""
    text = sanitize_line(raw.decode(errors="replace"))
    if len(text) > length:
        try:
            smaller = _cut(msgspec.json.decode(raw), 0)
            text = sanitize_line(msgspec.json.encode(smaller).decode())
        except UNREADABLE_TEXT:
            pass  # no JSON: then it is cut as the text that it is
    return text if len(text) <= length else f"{text[:length]}… ({len(text) - length} more)"


def _cut(value: object, depth: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= TEXT else f"{value[:TEXT]}… ({len(value) - TEXT} more)"
    if depth > DEEP:
        return "…"
    if isinstance(value, list):
        items = [_cut(item, depth + 1) for item in value[:ITEMS]]
        return items if len(value) <= ITEMS else [*items, f"… ({len(value) - ITEMS} more)"]
    if isinstance(value, dict):
        return {_cut(name, depth): _cut(member, depth + 1) for name, member in value.items()}
    return value
