"""Stored frames: append, replay, list, search, delete; transcripts in and out; what was a secret is not kept.

`contract` says what every journal promises, `sqlite` keeps it on disk and `memory` without one. `history`
records a conversation from a tap, `transcript` reads and writes journals as text, `conversation` reads frames
as a person would.
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
from dragoman.journal.memory import MemoryJournal
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
    "open_journal",
]
