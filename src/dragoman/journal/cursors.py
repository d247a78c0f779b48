"""Cursors of a listing: where a page ended, as text that its reader gives back unread."""

from __future__ import annotations

from dragoman.errors import JournalError


def make_cursor(updated: float, number: int) -> str:
    return f"{updated.hex()}/{number}"


def read_cursor(cursor: str) -> tuple[float, int]:
    updated, _, number = cursor.partition("/")
    try:
        return float.fromhex(updated), int(number)
    except (ValueError, OverflowError):
        raise JournalError("this is no cursor of a listing") from None
