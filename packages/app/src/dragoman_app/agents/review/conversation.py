"""Remembers a session's last review: the findings by number, and the state of each file.

It is kept with the session, so that "apply fix 3" is understood after a restart as well. Texts are not kept,
only their digests: a fix is applied to the text that it was made for, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman import KitSession
from dragoman.decoders import convert
from dragoman_app.agents.code.config import CoderConfig
from dragoman_app.agents.code.permission import SessionGrants
from dragoman_app.agents.review.budget import ReviewBudget
from dragoman_review.finding import Edit, Finding, Fix
from dragoman_review.text_edits import TextLines

MOST = 2_000
"""The most findings to keep. Users do not ask about more by number."""


class ReviewedText(Struct, frozen=True, kw_only=True):
    """One text that was reviewed."""

    path: str | None
    """The path of the file; None if the text is not a file."""
    digest: str


class LastReview(Struct, kw_only=True):
    """The last review. Findings are numbered from 1, in the order of the report."""

    what: str
    files: dict[str, ReviewedText]
    findings: list[Finding]
    applied: list[int] = []

    def open_findings(self) -> list[tuple[int, Finding]]:
        """The findings that are still open."""
        applied_numbers = set(self.applied)
        return [
            (number, finding)
            for number, finding in enumerate(self.findings, 1)
            if number not in applied_numbers
        ]


class ReviewConversation:
    """The last review of a session, created again whenever the session is opened."""

    def __init__(
        self,
        session: KitSession[ReviewConversation],
        model: CoderConfig | None = None,
        budget: ReviewBudget | None = None,
    ) -> None:
        self._session = session
        self.model = model
        """How a model is reached that reviews and explains; None if there is none."""
        self.budget = budget or ReviewBudget()
        self.grants = SessionGrants()
        """What was allowed for always in this session."""
        self.last = _recall(session.memories)

    def keep(self, review: LastReview) -> None:
        """Keep this review; findings are now those of this review."""
        self.last = review
        memory = msgspec.structs.replace(review, findings=review.findings[:MOST])
        self._session.forget()
        self._session.remember(msgspec.to_builtins(memory))


def _recall(memories: Sequence[Any]) -> LastReview | None:
    try:
        return convert(memories[-1], LastReview) if memories else None
    except (
        msgspec.ValidationError
    ):  # of another version of ours: the conversation is there, the numbers are not
        return None


def move_findings(
    review: LastReview, display_path: str, before: str, after: str, numbers: Sequence[int]
) -> None:
    """Update the other findings of a file after some were fixed: they move, or can't be fixed any more."""
    fixes = [review.findings[number - 1].fix for number in numbers]
    edits = sorted(
        {(edit.start, edit.end, edit.text) for fix in fixes if fix is not None for edit in fix.edits}
    )
    old, new = TextLines(before), TextLines(after)
    review.applied += [number for number in numbers if number not in review.applied]
    for number, finding in review.open_findings():
        if finding.path == display_path:
            review.findings[number - 1] = _move_finding(finding, [Edit(*edit) for edit in edits], old, new)


def _move_finding(finding: Finding, edits: Sequence[Edit], old: TextLines, new: TextLines) -> Finding:
    place = finding.place
    start = old.offset(place.line, place.column)
    end = old.offset(place.end_line, place.end_column)
    there = new.place(place.path, start + _shift(start, edits), end + _shift(end, edits))
    return replace(finding, place=there, fix=_moved_fix(finding.fix, edits))


def _moved_fix(fix: Fix | None, edits: Sequence[Edit]) -> Fix | None:
    if fix is None or any(
        edit.start <= applied.end and applied.start <= edit.end for edit in fix.edits for applied in edits
    ):
        return None
    return replace(
        fix,
        edits=tuple(
            Edit(edit.start + _shift(edit.start, edits), edit.end + _shift(edit.start, edits), edit.text)
            for edit in fix.edits
        ),
    )


def _shift(offset: int, edits: Sequence[Edit]) -> int:
    return sum(len(edit.text) - (edit.end - edit.start) for edit in edits if edit.end <= offset)
