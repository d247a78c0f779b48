"""What a peer was found to speak, and why: one reason for each piece of evidence, as the frames came."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Reason(Struct, frozen=True, kw_only=True):
    """One piece of evidence and what it speaks for."""

    frame: int
    """Counted from 1, as frames come from either peer."""
    evidence: str
    conclusion: str


class Decision(Struct, frozen=True, kw_only=True):
    """Holds for the rest of the conversation."""

    peer: Literal["client", "agent"]
    dialect: str
    frame: int
    """The frame that settled it."""
    sure: bool
    """False where evidence was missing or stood against evidence: the likeliest was taken, or v1."""
    reasons: tuple[Reason, ...]

    @property
    def text(self) -> str:
        """One line for people."""
        why = "; ".join(f"frame {one.frame}: {one.evidence} ({one.conclusion})" for one in self.reasons)
        doubt = "" if self.sure else ", for want of better evidence"
        return f"the {self.peer} speaks {self.dialect}{doubt}: {why or 'it said nothing that tells'}"
