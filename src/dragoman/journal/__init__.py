"""Stored frames: append, replay, list, search, delete; transcripts in and out; what was a secret is not kept.

`contract` says what every journal promises, `sqlite` keeps it on disk and `memory` without one. `history`
records a conversation from a tap, `transcript` reads and writes journals as text, `conversation` reads frames
as a person would; `sealed` makes what is on disk unreadable without a key.
"""

from dragoman.journal.contract import (
    Direction,
    Durability,
    Entry,
    Found,
    Journal,
    Listing,
    Page,
    Stored,
    StreamInfo,
)
from dragoman.journal.keys import read_key
from dragoman.journal.memory import MemoryJournal
from dragoman.journal.sealed import WrongKey
from dragoman.journal.sealed_file import open_sealed
from dragoman.journal.sqlite import SqliteJournal, open_journal

__all__ = [
    "Direction",
    "Durability",
    "Entry",
    "Found",
    "Journal",
    "Listing",
    "MemoryJournal",
    "Page",
    "SqliteJournal",
    "Stored",
    "StreamInfo",
    "WrongKey",
    "open_journal",
    "open_sealed",
    "read_key",
]
