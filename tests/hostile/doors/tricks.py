"""What a trick is, and which of them still work.

A trick is a record: what the policy or the person said, what the other side does, and the effect that must
not come of it. `open_tricks.txt` names those that work today, one a line; whoever mends one deletes its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

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


def open_tricks() -> list[str]:
    lines = OPEN_TRICKS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


WORKS = pytest.mark.xfail(strict=True, raises=TrickWorked, reason="works today")


def parameters(tricks: Iterable[Trick]) -> Sequence[Any]:
    """For `pytest.mark.parametrize`: what works today is expected to, and noticed when it no longer does."""
    known = set(open_tricks())
    return [
        pytest.param(
            trick,
            id=trick.name,
            marks=[WORKS] if trick.name in known else [],
        )
        for trick in tricks
    ]
