"""The ledger of an interpreter: each kind of lost or repaired content, with a count and the places.

A loss is something that one side said and the other side did not get in any form it can use. A repair is
something that arrived in a form of our making: a default filled in, a meaning chosen by a rule.

A `DialectDecision` says what a peer was found to speak, with one reason for each piece of evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

Outcome: TypeAlias = Literal["lost", "repaired"]


class LedgerNote(NamedTuple):
    """A kind of loss or repair, in fixed words. Each dialect lists its own, and tests/dialect/LOSSES.md
    lists all.
    """

    outcome: Outcome
    what: str
    action: str


Note: TypeAlias = Callable[[LedgerNote], None]
"""Receives a note about lost or repaired content from a conversion."""


def ignore_note(note: LedgerNote) -> None:
    """Ignore notes, for conversions that are only a trial."""


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """One kind of loss or repair, with its count and places."""

    outcome: Outcome
    dialect: str
    what: str
    """The lost or repaired content, as the edge describes it."""
    done: str
    """The action that was taken."""
    count: int
    first_frame: int
    """The number of the frame: frames of both peers are counted from 1 as they arrive."""


class Ledger:
    """The ledger of both edges. `frame` is the number of the frame in translation; `on_loss` is called
    once for each kind of loss, `on_decision` when a side's dialect is found.
    """

    def __init__(
        self,
        *,
        on_loss: Callable[[LedgerEntry], None] | None = None,
        on_decision: Callable[[DialectDecision], None] | None = None,
    ) -> None:
        self.frame = 0
        self.decisions: list[DialectDecision] = []
        self._on_loss = on_loss
        self._on_decision = on_decision
        self._is_muted = False
        self._entries: dict[tuple[str, str, str], LedgerEntry] = {}

    def note_loss(self, what: str, action: str, *, dialect: str) -> None:
        self._add("lost", what, action, dialect)

    def note_repair(self, what: str, action: str, *, dialect: str) -> None:
        self._add("repaired", what, action, dialect)

    def note_decision(self, decision: DialectDecision) -> None:
        self.decisions.append(decision)
        if self._on_decision is not None:
            self._on_decision(decision)

    @contextmanager
    def mute(self) -> Iterator[None]:
        """Record nothing for a while: for an edge that only reads earlier messages."""
        self._is_muted = True
        try:
            yield
        finally:
            self._is_muted = False

    @property
    def entries(self) -> list[LedgerEntry]:
        """Return the entries in the order in which they were first seen."""
        return list(self._entries.values())

    def _add(self, outcome: Outcome, what: str, action: str, dialect: str) -> None:
        if self._is_muted:
            return
        key = (outcome, dialect, what)
        earlier = self._entries.get(key)
        if earlier is None:
            entry = LedgerEntry(
                outcome=outcome, dialect=dialect, what=what, done=action, count=1, first_frame=self.frame
            )
            self._entries[key] = entry
            if outcome == "lost" and self._on_loss is not None:
                self._on_loss(entry)
        else:  # what was done the first time is done every time
            self._entries[key] = LedgerEntry(
                outcome=outcome,
                dialect=dialect,
                what=what,
                done=earlier.done,
                count=earlier.count + 1,
                first_frame=earlier.first_frame,
            )


class Reason(Struct, frozen=True, kw_only=True):
    """One piece of evidence and the dialect that it supports."""

    frame: int
    """The number of the frame, counted from 1 over the frames of both peers."""
    evidence: str
    conclusion: str


class DialectDecision(Struct, frozen=True, kw_only=True):
    """The dialect of a side, for the rest of the conversation."""

    peer: Literal["client", "agent"]
    dialect: str
    frame: int
    """The frame that settled it."""
    sure: bool
    """False if evidence was missing or contradictory: then the dialect is the most likely one, or v1."""
    reasons: tuple[Reason, ...]

    @property
    def text(self) -> str:
        """One line for people."""
        why = "; ".join(
            f"frame {reason.frame}: {reason.evidence} ({reason.conclusion})" for reason in self.reasons
        )
        doubt = "" if self.sure else ", for want of better evidence"
        return f"the {self.peer} speaks {self.dialect}{doubt}: {why or 'it said nothing that tells'}"
