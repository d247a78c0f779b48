"""Records a conversation as a transcript: both directions, standard error, and its beginning and end.

Each line of the wire is an entry with the moment at which its end arrived. Files are private to their owner.
A file that is full is closed and the next one begun; of one conversation only the last few are kept. What
cannot be written, because the disk is full or gone, is counted and stops nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct, field

from dragoman.decoders import json_decoder
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.envelope import JsonObject
from dragoman_check.trace.tap.secrets import SecretFilter, text_of
from dragoman_local.journal.contract import Direction, Entry, StreamInfo
from dragoman_local.journal.frame_shape import FrameShape, is_utf8
from dragoman_local.journal.history import history_path
from dragoman_local.journal.transcript import header, lines

LONGEST = 128 * 1024 * 1024
"""The most bytes of a line; a longer one is written in pieces, which are not read as frames."""


class TapRecorder:
    """Records chunks after they passed, split into lines. `close` writes the rest."""

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        secrets: SecretFilter | None,
        full: int,
        keep: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        """The file that is written now."""
        self.entries = 0
        self.unwritten = 0
        """Bytes that could not be written."""
        self._first = path
        self._name = name
        self._full = full
        self._keep = max(1, keep)
        self._clock = clock
        self._backlog = None if secrets is None else EntryBacklog(secrets)
        self._parts: dict[Direction, bytearray] = {
            "to_agent": bytearray(),
            "to_client": bytearray(),
            "note": bytearray(),
        }
        self._number = 1
        self._size = 0
        self.descriptor = -1
        self._open()

    def record(self, direction: Direction, chunk: bytes) -> None:
        """Record bytes of the connection, in the order in which they passed."""
        moment = self._clock()
        self._add([Entry(direction, text, moment) for text in self._lines(direction, chunk)])

    def record_stderr(self, chunk: bytes) -> None:
        """Record bytes of the agent's standard error."""
        for text in self._lines("note", chunk):
            self.note({"event": "stderr", "text": text.decode(errors="replace")})

    def note(self, remark: JsonObject) -> None:
        """Record another event."""
        self._add([Entry("note", msgspec.json.encode(remark), self._clock())])

    def flush(self) -> None:
        """Write the waiting frames."""
        if self._backlog is not None:
            self._write(self._backlog.release())

    @property
    def has_backlog(self) -> bool:
        return self._backlog is not None and not self._backlog.is_empty

    def on_end(self, direction: Direction) -> None:
        """Handle the end of a direction. The last line may lack its newline."""
        if self._parts[direction]:
            take = self.record_stderr if direction == "note" else partial(self.record, direction)
            take(b"\n")

    def close(self, *, last_words: Callable[[], JsonObject] | None = None) -> None:
        """Close the recording; `last_words` returns a note after everything else is written."""
        for direction in self._parts:
            self.on_end(direction)
        self.flush()
        if last_words is not None:
            self.note(last_words())
            self.flush()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _lines(self, direction: Direction, chunk: bytes) -> list[bytes]:
        part = self._parts[direction]
        end = chunk.rfind(b"\n") + 1
        if not end and len(part) + len(chunk) <= LONGEST:
            part += chunk
            return []
        end = end or len(chunk)
        whole = bytes(part) + chunk[:end]
        part[:] = chunk[end:]
        texts = [line.rstrip(b"\r\n") for line in BytesIO(whole)]  # `split` looks at each byte by itself
        return [text for text in texts if text and not text.isspace()]

    def _add(self, entries: list[Entry]) -> None:
        self._write(WritableEntries(entries) if self._backlog is None else self._backlog.add(entries))

    def _write(self, writable: WritableEntries) -> None:
        entries, are_json = writable
        if not entries:
            return
        self.entries += len(entries)
        text = lines(entries, are_json=are_json)
        if self._size and self._size + len(text) > self._full:
            self._turn_over()
        self._write_bytes(text)

    def _write_bytes(self, text: bytes) -> None:
        remaining = memoryview(text)
        try:
            while remaining:
                remaining = remaining[os.write(self.descriptor, remaining) :]
        except OSError:
            self.unwritten += len(remaining)
        self._size += len(text)

    def _turn_over(self) -> None:
        os.close(self.descriptor)
        self._number += 1
        self.path = self._path_of(self._number)
        self._open()
        if self._number > self._keep:
            self._path_of(self._number - self._keep).unlink(missing_ok=True)

    def _path_of(self, number: int) -> Path:
        first = self._first
        return first if number == 1 else first.with_name(f"{first.stem}.{number}{first.suffix}")

    def _open(self) -> None:
        # Exclusive: the record of another conversation is never written over.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self.descriptor = os.open(self.path, flags, 0o600)
        self._size = 0
        title = self._name if self._number == 1 else f"{self._name}, part {self._number}"
        self._write_bytes(header(StreamInfo(stream=self._first.stem, title=title)))


def taps_folder(path: str | None = None) -> Path:
    return Path(path) if path else history_path().parent / "taps"


def newest(folder: Path) -> Path | None:
    """Return the recording with the latest change."""
    recordings = [path for path in folder.glob("*.ndjson") if path.is_file()]
    return max(recordings, key=lambda path: path.stat().st_mtime, default=None)


# Entries that wait to be recorded, in order, as long as they may end in the middle of a secret.
#
# An agent streams its text in pieces, and a key may be cut anywhere. So a piece that does not end with a
# blank is held, and everything behind it, until the word is complete. What is held is bounded in entries;
# whoever records sees to it that nothing is held for long.

MOST = 64
"""The least entries to hold before they are written with an open word at their end; a key in more pieces may
not be found.
"""

_OTHER_TEXT = b'"?"'


class _Content(Struct, gc=False):
    type: str
    text: Raw


class _Update(Struct, gc=False):
    kind: str = field(name="sessionUpdate")
    content: _Content


class _Params(Struct, gc=False):
    session: str = field(name="sessionId")
    update: _Update


class _TextChunk(Struct, gc=False):
    """The part of a frame that shows that it is a piece of text, and of which message."""

    params: _Params


_read_chunk = json_decoder(_TextChunk).decode
_read_text = json_decoder(str).decode


class _TextStream(Struct, gc=False):
    """Pieces of one text."""

    name: str
    shape: FrameShape | None = None
    """That of their frames, if no secret is in it."""


class _HeldEntry(Struct, gc=False):
    entry: Entry
    stream: _TextStream | None = None
    """What its text is a piece of; None if it is not a piece of text."""
    text: bytes = b""
    """As it is written in JSON, without quotes."""


class WritableEntries(NamedTuple):
    """Entries without secrets."""

    entries: list[Entry]
    are_json: bool = False
    """Whether every frame is surely JSON."""


class EntryBacklog:
    """The waiting entries: `add` returns those that may be written now."""

    def __init__(self, secrets: SecretFilter) -> None:
        self._secrets = secrets
        self._entries: list[_HeldEntry] = []
        self._open: set[str] = set()  # streams whose last word is not complete
        self._stream = _TextStream("")  # of which there was a piece last

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def add(self, entries: list[Entry]) -> WritableEntries:
        """Add entries that passed together; return those up to the last place without an open word."""
        pieces = self._pieces(entries)
        begin = self._last_end_of_word(pieces)
        complete = 0
        for n, piece in enumerate(pieces[begin:], len(self._entries) + begin + 1):
            if piece.stream is not None and piece.text:  # an empty piece neither begins nor ends a word
                if _ends_word(piece.text):
                    self._open.discard(piece.stream.name)
                else:
                    self._open.add(piece.stream.name)
            if not self._open:
                complete = n
        self._entries += pieces
        if len(self._entries) - complete >= MOST:
            return self.release()
        released, self._entries = self._entries[:complete], self._entries[complete:]
        return self._without_secrets(released)

    def release(self) -> WritableEntries:
        """Return all waiting frames without their secrets."""
        held_entries, self._entries = self._entries, []
        self._open.clear()
        return self._without_secrets(held_entries)

    def _last_end_of_word(self, pieces: list[_HeldEntry]) -> int:
        """The last piece at which a word ends, and with it every word that is open: what is open before that
        need not be known. The first piece if there is none.
        """
        stream = self._stream
        is_one_text = pieces and pieces[0].stream is stream and pieces[-1].stream is stream
        if not is_one_text or not self._open <= {stream.name}:
            return 0
        return next((n for n in range(len(pieces) - 1, 0, -1) if _ends_word(pieces[n].text)), 0)

    def _pieces(self, entries: list[Entry]) -> list[_HeldEntry]:
        if not entries:
            return []
        pieces = self._pieces_alike(entries)
        if pieces is None and self._learn(_look(entries[-1])):
            pieces = self._pieces_alike(entries)
        return list(map(_look, entries)) if pieces is None else pieces

    def _pieces_alike(self, entries: list[Entry]) -> list[_HeldEntry] | None:
        """The entries, if all of them are pieces of the text of which there was one last."""
        stream, frames = self._stream, [entry.frame for entry in entries if entry.direction == "to_client"]
        if stream.shape is None or len(frames) != len(entries):
            return None
        texts = stream.shape.texts(frames)
        if texts is None:
            return None
        return [_HeldEntry(entry, stream, text) for entry, text in zip(entries, texts, strict=True)]

    def _learn(self, piece: _HeldEntry) -> bool:
        """How the frames of its text look. False if that was known, or cannot be."""
        known = self._stream.shape
        if piece.stream is None or (known is not None and known.fits(piece.entry.frame)):
            return False
        shape = _shape_of(piece)
        if shape is not None and self._secrets.is_plain_shape(shape):
            piece.stream.shape = shape
            self._stream = piece.stream
        return self._stream is piece.stream

    def _without_secrets(self, held_entries: list[_HeldEntry]) -> WritableEntries:
        if self._are_plain(held_entries):
            return WritableEntries([piece.entry for piece in held_entries], are_json=True)
        self._hide_split(held_entries)
        entries = [piece.entry for piece in held_entries]
        frames = self._secrets.hide_all([entry.frame for entry in entries])
        return WritableEntries(
            [
                entry if frame is entry.frame else Entry(entry.direction, frame, entry.time)
                for entry, frame in zip(entries, frames, strict=True)
            ]
        )

    def _are_plain(self, pieces: list[_HeldEntry]) -> bool:
        """Whether they are pieces of one text, in frames of one shape, and no secret is in any of it."""
        stream = self._stream
        if stream.shape is None or not all(piece.stream is stream for piece in pieces):
            return False
        texts = [piece.text for piece in pieces]
        return all(map(is_utf8, texts)) and self._secrets.is_plain_text(texts)

    def _hide_split(self, held_entries: list[_HeldEntry]) -> None:
        streams: dict[str, list[tuple[_HeldEntry, str]]] = {}
        for piece in held_entries:
            if piece.stream is not None and (text := _decode(piece.text)):
                streams.setdefault(piece.stream.name, []).append((piece, text))
        for pieces in streams.values():
            hidden_texts = self._secrets.hide_split([text for _, text in pieces])
            for (piece, text), hidden_text in zip(pieces, hidden_texts, strict=True):
                if hidden_text != text:
                    piece.entry = _with_text(piece.entry, hidden_text)


def _look(entry: Entry) -> _HeldEntry:
    if entry.direction != "to_client" or b"_chunk" not in entry.frame:
        return _HeldEntry(entry)
    try:
        params = _read_chunk(entry.frame).params
        kind, content = params.update.kind, params.update.content
        if kind.endswith("_chunk") and content.type == "text":
            text = bytes(content.text)
            if text.startswith(b'"'):
                return _HeldEntry(entry, _TextStream(f"{params.session}/{kind}"), text[1:-1])
            return _look_closely(entry)
        return _HeldEntry(entry)
    except UNREADABLE_TEXT:
        return _look_closely(entry)


def _look_closely(entry: Entry) -> _HeldEntry:
    """Recognise a piece of text in an unusual form."""
    try:
        stream_and_text = text_of(msgspec.json.decode(entry.frame))
    except UNREADABLE_TEXT:
        return _HeldEntry(entry)
    if stream_and_text is None:
        return _HeldEntry(entry)
    stream, text = stream_and_text
    return _HeldEntry(entry, _TextStream(stream), msgspec.json.encode(text)[1:-1])


def _ends_word(text: bytes) -> bool:
    if text.endswith(b" "):
        return True
    if text[-1:] < b"\x80" and b"\\" not in text[-6:]:
        return False  # neither a blank of some other script nor an escape
    return _decode(text[text.rfind(b" ") + 1 :])[-1:].isspace()


def _decode(text: bytes) -> str:
    """The content of a JSON string; nothing if it cannot be read."""
    try:
        return _read_text(b'"%b"' % text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _shape_of(piece: _HeldEntry) -> FrameShape | None:
    """How frames of its stream are written around their texts."""
    frame = piece.entry.frame
    place = frame.rfind(b'"%b"' % piece.text) + 1
    shape = FrameShape(frame[:place], frame[place + len(piece.text) :])
    # The same words may stand elsewhere too. With other ones in their place, it is seen which they are.
    other = _look(Entry("to_client", shape.head[:-1] + _OTHER_TEXT + shape.tail[1:], 0.0))
    same = other.stream is not None and piece.stream is not None and other.stream.name == piece.stream.name
    return shape if place and same and other.text == _OTHER_TEXT[1:-1] else None


def _with_text(entry: Entry, text: str) -> Entry:
    message = msgspec.json.decode(entry.frame)
    message["params"]["update"]["content"]["text"] = text
    return Entry(entry.direction, msgspec.json.encode(message), entry.time)
