"""The catalogue of requirements, and what a violation of each is worth.

`requirements.json` holds them: an id that never changes, whom it binds, how binding it is, and where it comes
from. Requirements that the official material contradicts itself about are recorded and never held against
anybody.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

Side: TypeAlias = Literal["agent", "client", "server"]
Tier: TypeAlias = Literal["fail", "warn", "record"]

_BOUND: dict[str, tuple[Side, ...]] = {
    "A": ("agent",),
    "C": ("client",),
    "B": ("agent", "client"),
    "S": ("server",),
}

_TIERS: dict[str, Tier] = {
    "MUST": "fail",
    "MUST NOT": "fail",
    "SCHEMA": "fail",
    "DECL": "warn",
    "SHOULD": "warn",
    "SHOULD NOT": "warn",
    "DERIVED": "warn",
    "MAY": "record",
    "IMPL": "record",
    "PROBE": "record",
}

_CONTRADICTION = re.compile(r"\bCONF-\d\d\b")


class Requirement(Struct, frozen=True, kw_only=True):
    """One row of the catalogue."""

    id: str
    side: str
    level: str
    requirement: str
    observe: str
    source: str
    area: str

    @property
    def sides(self) -> tuple[Side, ...]:
        """Whom it binds."""
        return _BOUND[self.side]

    @property
    def is_contradicted(self) -> bool:
        """Whether the official material says two things about it."""
        return bool(_CONTRADICTION.search(f"{self.requirement} {self.observe} {self.source}"))

    def tier(self, *, unavoidable: bool = False) -> Tier:
        """What a violation is worth. `unavoidable`: a statement of fact that the shape of the messages leaves
        no way around, such as ids and order; it counts like a MUST.
        """
        if self.is_contradicted:
            return "record"
        return "fail" if self.level == "DECL" and unavoidable else _TIERS[self.level]


class _Catalogue(Struct):
    areas: dict[str, str]
    requirements: list[Requirement]


@cache
def _catalogue() -> _Catalogue:
    text = files("dragoman.check").joinpath("requirements.json").read_bytes()
    return msgspec.json.decode(text, type=_Catalogue)


@cache
def requirements() -> dict[str, Requirement]:
    """All of them by id, in the catalogue's order."""
    return {requirement.id: requirement for requirement in _catalogue().requirements}


def areas() -> dict[str, str]:
    """What each area is about."""
    return _catalogue().areas
