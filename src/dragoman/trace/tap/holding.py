"""Entries on their way into a recording, in order, held back for as long as a secret may still be growing.

An agent streams its text in pieces, and a key may be cut anywhere. So a piece that does not end with a blank
is held, and everything behind it, until the word is complete. What is held is bounded in entries; whoever
records sees to it that nothing is held for long.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dragoman.journal.contract import Entry
from dragoman.trace.tap.hiding import Hiding, text_of
from dragoman.wire.envelope import Json

MOST = 64
"""Entries that are held; a key that is longer than so many pieces is not found."""


class _HeldEntry(Struct):
    entry: Entry
    message: Json = None
    """Decoded, for a piece of text that may have to be changed."""
    stream: str = ""
    text: str = ""


class Holding:
    """`add` gives what may be written now."""

    def __init__(self, hiding: Hiding) -> None:
        self._hiding = hiding
        self._entries: list[_HeldEntry] = []
        self._open: set[str] = set()  # streams whose last word is not complete

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def add(self, entry: Entry) -> list[Entry]:
        held_entry = _look(entry)
        self._entries.append(held_entry)
        if held_entry.text:  # an empty piece neither begins nor ends a word
            if held_entry.text[-1].isspace():
                self._open.discard(held_entry.stream)
            else:
                self._open.add(held_entry.stream)
        return [] if self._open and len(self._entries) < MOST else self.release()

    def release(self) -> list[Entry]:
        """Everything that is held, without the secrets that are in it."""
        held_entries, self._entries = self._entries, []
        self._open.clear()
        for stream in {held_entry.stream for held_entry in held_entries if held_entry.stream}:
            pieces = [held_entry for held_entry in held_entries if held_entry.stream == stream]
            texts = [piece.text for piece in pieces]
            for piece, text in zip(pieces, self._hiding.hide_split(texts), strict=True):
                if text != piece.text:
                    piece.message["params"]["update"]["content"]["text"] = text
                    piece.entry = Entry(
                        piece.entry.direction, msgspec.json.encode(piece.message), piece.entry.time
                    )
        return [
            Entry(
                held_entry.entry.direction, self._hiding.hide(held_entry.entry.frame), held_entry.entry.time
            )
            for held_entry in held_entries
        ]


def _look(entry: Entry) -> _HeldEntry:
    if entry.direction != "to_client" or b"_chunk" not in entry.frame:
        return _HeldEntry(entry)
    try:
        message = msgspec.json.decode(entry.frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _HeldEntry(entry)
    stream_and_text = text_of(message)
    return _HeldEntry(entry) if stream_and_text is None else _HeldEntry(entry, message, *stream_and_text)
