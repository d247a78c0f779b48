"""What a trick is, and which of them still work.

A trick is a record: what the policy or the person said, what the other side does, and the effect that must
not come of it. `open_tricks.txt` names those that work today, one a line with the reason; whoever mends one
deletes its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.hostile.tricks import open_tricks as tricks_with_reasons

Axis = Literal[
    "dialects",
    "official SDKs",
    "tokens",
    "calling models",
    "far sides",
    "undecided clients",
    "page",
    "put back",
]

Outcome = Literal["succeeded", "never did"]

OPEN_TRICKS = Path(__file__).with_name("open_tricks.txt")


@dataclass(frozen=True, kw_only=True)
class Trick:
    name: str
    """In plain English, unique among all."""
    axis: Axis
    said: str
    """What the person, or the policy, has said."""
    does: str
    """What the other side does about it."""
    effect: str
    """What must not be seen afterwards."""
    at_first: Outcome = "never did"
    """What became of it when it was first tried."""


class TrickWorked(AssertionError):
    """The effect is there. Any other failure of a test says that the trick was not played as it should be."""


def must_not(effect: object, *seen: object) -> None:
    """`effect` is what was found of it: nothing, or the trick worked."""
    if effect:
        raise TrickWorked(effect, *seen)


def open_tricks() -> dict[str, str]:
    """Each with the reason why it works: `name | reason`."""
    return tricks_with_reasons(OPEN_TRICKS)


def parameters(tricks: Iterable[Trick]) -> Sequence[Any]:
    """For `pytest.mark.parametrize`: what works today is expected to, and noticed when it no longer does."""
    reasons = open_tricks()
    return [
        pytest.param(
            trick,
            id=trick.name,
            marks=[pytest.mark.xfail(strict=True, raises=TrickWorked, reason=reasons[trick.name])]
            if trick.name in reasons
            else [],
        )
        for trick in tricks
    ]
