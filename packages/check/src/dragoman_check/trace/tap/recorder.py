"""Records a conversation as a transcript: both directions, standard error, and how it began and ended.

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

import msgspec

from dragoman.wire.envelope import JsonObject
from dragoman_check.trace.tap.backlog import EntryBacklog, WritableEntries
from dragoman_check.trace.tap.secrets import SecretFilter
from dragoman_local.journal.contract import Direction, Entry, StreamInfo
from dragoman_local.journal.history import history_path
from dragoman_local.journal.transcript import header, lines

LONGEST = 128 * 1024 * 1024
"""Bytes of a line; a longer one is written in pieces, which nobody takes for frames."""


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
        """Bytes of the wire, in the order in which they passed."""
        moment = self._clock()
        self._add([Entry(direction, text, moment) for text in self._lines(direction, chunk)])

    def record_stderr(self, chunk: bytes) -> None:
        """Bytes of the agent's standard error."""
        for text in self._lines("note", chunk):
            self.note({"event": "stderr", "text": text.decode(errors="replace")})

    def note(self, remark: JsonObject) -> None:
        """Something that happened beside the wire."""
        self._add([Entry("note", msgspec.json.encode(remark), self._clock())])

    def flush(self) -> None:
        """Write the waiting frames."""
        if self._backlog is not None:
            self._write(self._backlog.release())

    @property
    def has_backlog(self) -> bool:
        return self._backlog is not None and not self._backlog.is_empty

    def on_end(self, direction: Direction) -> None:
        """Nothing more comes from there. The last line may lack its newline."""
        if self._parts[direction]:
            take = self.record_stderr if direction == "note" else partial(self.record, direction)
            take(b"\n")

    def close(self, *, last_words: Callable[[], JsonObject] | None = None) -> None:
        """`last_words` is asked for a note when everything else is written."""
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
    """The recording that was written to last."""
    recordings = [path for path in folder.glob("*.ndjson") if path.is_file()]
    return max(recordings, key=lambda path: path.stat().st_mtime, default=None)
