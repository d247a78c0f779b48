"""Idempotency keys: which entries of a stream carry a key, and the meaning of each kind.

A client gives a prompt, a new session or a fork a key, and sends it again with the same key if the answer was
lost; so does a message into a running turn. Three kinds of entries carry a key, all of them notes of a hub:

| kind | note | says |
|---|---|---|
| `prompt` | `taken`, `queued` | the prompt was accepted |
| `answer` | `turn_ended` | this is its answer |
| `prompt`, `answer` | `steering`, `steered` | the same of a message into a turn, whose key is `steer_key` |
| `made` | `made`, `forked` | the stream was made under this key |

Every index of keys is made from these entries and from nothing else, so that copies, imports and repaired
journals have the same one. The first entry of a kind counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.decoders import json_decoder
from dragoman_local.journal.contract import KeyEntries, Page
from dragoman_local.journal.entry_runs import FrameRun, RunPage, runs_of_entries
from dragoman_local.journal.redaction import is_redacted

KeyKind: TypeAlias = Literal["prompt", "answer", "made"]

_KINDS: dict[str, KeyKind] = {
    "taken": "prompt",
    "queued": "prompt",
    "turn_ended": "answer",
    "steering": "prompt",
    "steered": "answer",
    "made": "made",
    "forked": "made",
}
_STARTS = tuple(b'{"hub":"%b"' % name.encode() for name in _KINDS)

_STEERS = ("steering", "steered")

HASH_BYTES = 16


def steer_key(key: str) -> str:
    """Return the index key for a message into a turn: prompts may have the same idempotency keys."""
    return f"steer\n{key}"


class KeyedEntry(NamedTuple):
    """An entry with a key, and its position in the stream."""

    kind: KeyKind
    key: str
    sequence: int


class _HubNote(Struct, gc=False):
    hub: str
    key: str = ""


_notes = json_decoder(_HubNote)


def keyed_entries(runs: Iterable[FrameRun], last: int) -> list[KeyedEntry]:
    """Return the entries with a key in `runs`, which follow sequence `last`."""
    entries: list[KeyedEntry] = []
    for run in runs:
        if run.direction == "note":
            for sequence, frame in enumerate(run.frames, last + 1):
                if frame.startswith(_STARTS) and (entry := _read(frame, sequence)) is not None:
                    entries.append(entry)
        last += len(run.frames)
    return entries


def keyed_in_page(page: Page) -> list[KeyedEntry]:
    """Return the entries with a key in a stored page."""
    if type(page) is not RunPage:
        page = RunPage(page[0].sequence if page else 1, runs_of_entries([entry.entry for entry in page]).runs)
    return keyed_entries(page.runs, page.first - 1)


def _read(frame: bytes, sequence: int) -> KeyedEntry | None:
    """The entry with its key. None for a key that redaction has changed: many keys would become one."""
    try:
        note = _notes.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    kind = _KINDS.get(note.hub)
    if kind is None or not note.key or is_redacted(note.key.encode(errors="replace")):
        return None
    return KeyedEntry(kind, steer_key(note.key) if note.hub in _STEERS else note.key, sequence)


def with_entry(entries: KeyEntries | None, entry: KeyedEntry) -> KeyEntries:
    """Return the entries of a key with one more. The earliest entry of each kind counts."""
    entries = entries or KeyEntries()
    place = getattr(entries, entry.kind)
    return entries if 0 < place <= entry.sequence else replace(entries, **{entry.kind: entry.sequence})


def hash_of(key: str, *, secret: bytes = b"") -> bytes:
    """Return the hash of a key for an index: of fixed length, and not guessable without `secret`."""
    return blake2b(key.encode(errors="replace"), digest_size=HASH_BYTES, key=secret).digest()
