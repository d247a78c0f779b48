"""What was decided, and why."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Outcome: TypeAlias = Literal["allow", "ask", "deny"]

STRICTNESS: Final[dict[Outcome, int]] = {"allow": 0, "ask": 1, "deny": 2}


class Certainty(IntEnum):
    """Whether a rule that asks or denies names something. Of several conditions the least certain counts."""

    NO = 0
    PERHAPS = 1
    """It might: a part of it is only known when it runs."""
    YES = 2


class PolicyDecision(Struct, frozen=True, kw_only=True):
    """One answer of the policy."""

    outcome: Outcome
    rule: str
    """Which rule decided: its file, line and name."""
    why: str
    """One sentence for people."""
    is_rule: bool = False
    """Whether somebody wrote a rule that says so; a default is none."""
    remedy: str = ""
    """Of what is denied: the command line with which a person allows it; nothing where none does."""
    needs_person: bool = False
    """Whether nobody but a person may allow it: a rule that denies might mean it, or it touches policies."""


def strictest(*decisions: PolicyDecision) -> PolicyDecision:
    """The strictest one; of equals one that a rule made, then the first."""
    return max(decisions, key=lambda decision: (STRICTNESS[decision.outcome], decision.is_rule))
