"""A fault that the checker has found: what, in which session, where in its stream, and when."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """`kind` is one word, for tests and counts; `text` says it to a person."""

    kind: str
    session: str
    sequence: int
    """0 if it is not about one entry."""
    time: float
    """Of the machine's clock, as in `records`; 0 if there is none."""
    text: str

    def __str__(self) -> str:
        place = f" at {self.sequence}" if self.sequence else ""
        when = f" ({self.time:.3f} s)" if self.time else ""
        return f"{self.kind}: session {self.session}{place}{when}: {self.text}"
