"""A scribe whose notes can be read, and our strict reading of v2 as a judge."""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect.v2.to_v2.scribe import Scribe
from dragoman.schema.codec import examine


class Notes:
    def __init__(self) -> None:
        self.noted: set[str] = set()

    def lost(self, what: str, done: str) -> None:
        self.noted.add(what)

    def repaired(self, what: str, done: str) -> None:
        self.noted.add(what)


def scribe(cwd: str = "/home/ann") -> tuple[Scribe, set[str]]:
    notes = Notes()
    return Scribe(notes, cwd), notes.noted


def is_v2(value: Any, kind: Any) -> bool:
    """Whether nothing of it has to be forgiven."""
    _, deviations = examine(json.dumps(value).encode(), kind)
    return not [one for one in deviations if one.kind != "unknown member"]
