"""The journal stores frames: append, replay, list, search, delete, import and export transcripts. Secrets are
redacted first.

`contract` says what every journal promises, `sqlite` keeps it on disk and `memory` without one; `nats` shares
it among machines. `history` records a conversation from a tap, `transcript` reads and writes journals as
text, `conversation` reads frames as a person would; `seal` makes what is on disk unreadable without a key.

Implementations are loaded when they are first used: most programs need the words of the contract alone.
"""

import importlib as _importlib
import typing as _typing

from dragoman_local.journal.contract import (
    Direction,
    Durability,
    Entry,
    Journal,
    KeyEntries,
    Page,
    SearchHit,
    StoredEntry,
    StreamInfo,
    StreamListing,
)

if _typing.TYPE_CHECKING:
    from dragoman_local.journal.memory import MemoryJournal
    from dragoman_local.journal.seal import WrongKey
    from dragoman_local.journal.sealing_key import read_key
    from dragoman_local.journal.sqlite import SqliteJournal, open_journal, open_sealed

_HOMES = {
    "MemoryJournal": "dragoman_local.journal.memory",
    "SqliteJournal": "dragoman_local.journal.sqlite",
    "WrongKey": "dragoman_local.journal.seal",
    "open_journal": "dragoman_local.journal.sqlite",
    "open_sealed": "dragoman_local.journal.sqlite",
    "read_key": "dragoman_local.journal.sealing_key",
}

__all__ = [
    "Direction",
    "Durability",
    "Entry",
    "Journal",
    "KeyEntries",
    "MemoryJournal",
    "Page",
    "SearchHit",
    "SqliteJournal",
    "StoredEntry",
    "StreamInfo",
    "StreamListing",
    "WrongKey",
    "open_journal",
    "open_sealed",
    "read_key",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dragoman_local.journal' has no attribute {name!r}")
    value: object = getattr(_importlib.import_module(home), name)
    globals()[name] = value  # the next look-up does not come here
    return value
