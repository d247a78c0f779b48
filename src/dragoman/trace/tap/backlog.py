"""Entries on their way into a recording, in order, held back for as long as a secret may still be growing.

An agent streams its text in pieces, and a key may be cut anywhere. So a piece that does not end with a blank
is held, and everything behind it, until the word is complete. What is held is bounded in entries; whoever
records sees to it that nothing is held for long.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct, field

from dragoman.decoders import json_decoder
from dragoman.journal.contract import Entry
from dragoman.trace.tap.secrets import SecretFilter, text_of

MOST = 64
"""Entries that are held at least before they are written with an open word at their end; a key in more pieces
than that may not be found.
"""


class _Content(Struct, gc=False):
    type: str
    text: str


class _Update(Struct, gc=False):
    kind: str = field(name="sessionUpdate")
    content: _Content


class _Params(Struct, gc=False):
    session: str = field(name="sessionId")
    update: _Update


class _TextChunk(Struct, gc=False):
    """As much of a frame as tells that it is a piece of text, and which."""

    params: _Params


_read_chunk = json_decoder(_TextChunk).decode


class _HeldEntry(Struct, gc=False):
    entry: Entry
    stream: str = ""
    """What its text is a piece of; empty if it is no piece of text."""
    text: str = ""


class EntryBacklog:
    """`add` gives what may be written now."""

    def __init__(self, secrets: SecretFilter) -> None:
        self._secrets = secrets
        self._entries: list[_HeldEntry] = []
        self._open: set[str] = set()  # streams whose last word is not complete

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def add(self, entries: Iterable[Entry]) -> list[Entry]:
        """Entries that passed together. They are written up to the last place at which no word is open."""
        complete = 0
        for entry in entries:
            piece = _look(entry)
            self._entries.append(piece)
            if piece.text:  # an empty piece neither begins nor ends a word
                if piece.text[-1].isspace():
                    self._open.discard(piece.stream)
                else:
                    self._open.add(piece.stream)
            if not self._open:
                complete = len(self._entries)
        if len(self._entries) - complete >= MOST:
            return self.release()
        released, self._entries = self._entries[:complete], self._entries[complete:]
        return self._without_secrets(released)

    def release(self) -> list[Entry]:
        """Everything that is held, without the secrets that are in it."""
        held_entries, self._entries = self._entries, []
        self._open.clear()
        return self._without_secrets(held_entries)

    def _without_secrets(self, held_entries: list[_HeldEntry]) -> list[Entry]:
        streams: dict[str, list[_HeldEntry]] = {}
        for piece in held_entries:
            if piece.stream:
                streams.setdefault(piece.stream, []).append(piece)
        for pieces in streams.values():
            texts = [piece.text for piece in pieces]
            for piece, text in zip(pieces, self._secrets.hide_split(texts), strict=True):
                if text != piece.text:
                    piece.entry = _with_text(piece.entry, text)
        entries = [piece.entry for piece in held_entries]
        frames = self._secrets.hide_all([entry.frame for entry in entries])
        return [
            entry if frame is entry.frame else Entry(entry.direction, frame, entry.time)
            for entry, frame in zip(entries, frames, strict=True)
        ]


def _look(entry: Entry) -> _HeldEntry:
    if entry.direction != "to_client" or b"_chunk" not in entry.frame:
        return _HeldEntry(entry)
    try:
        params = _read_chunk(entry.frame).params
        kind, content = params.update.kind, params.update.content
        if kind.endswith("_chunk") and content.type == "text":
            return _HeldEntry(entry, f"{params.session}/{kind}", content.text)
        return _HeldEntry(entry)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _look_closely(entry)


def _look_closely(entry: Entry) -> _HeldEntry:
    """What is written in a way of its own is a piece of text all the same."""
    try:
        stream_and_text = text_of(msgspec.json.decode(entry.frame))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _HeldEntry(entry)
    return _HeldEntry(entry) if stream_and_text is None else _HeldEntry(entry, *stream_and_text)


def _with_text(entry: Entry, text: str) -> Entry:
    message = msgspec.json.decode(entry.frame)
    message["params"]["update"]["content"]["text"] = text
    return Entry(entry.direction, msgspec.json.encode(message), entry.time)
