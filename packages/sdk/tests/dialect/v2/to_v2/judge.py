"""A writer whose notes can be read, and our strict reading of v2 as a judge."""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialect.v2.to_v2.writer import V2Writer
from dragoman.schema.codec import examine


class Notes:
    def __init__(self) -> None:
        self.noted: set[str] = set()

    def note_loss(self, what: str, action: str) -> None:
        self.noted.add(what)

    def note_repair(self, what: str, action: str) -> None:
        self.noted.add(what)


def make_writer(cwd: str = "/home/ann") -> tuple[V2Writer, set[str]]:
    notes = Notes()
    return V2Writer(notes, cwd), notes.noted


def is_v2(value: Any, kind: Any) -> bool:
    """Whether nothing of it has to be forgiven."""
    _, deviations = examine(json.dumps(value).encode(), kind)
    return not [one for one in deviations if one.kind != "unknown member"]
