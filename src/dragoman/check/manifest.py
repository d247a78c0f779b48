"""The catalogue of requirements, and what a violation of each is worth.

`requirements.json` holds them: an id that never changes, whom it binds, how binding it is, and where it comes
from. Requirements that the official material contradicts itself about are recorded and never held against
anybody.

`CONTRADICTIONS` are the places where the official material says two things, and which of them we read.
Whoever follows the other reading is recorded and never held to be wrong.
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


CONTRADICTIONS: dict[str, str] = {
    "CONF-01": (
        "A page names the new mode modeId, the schema currentModeId; the same page shows tool call "
        "content without its wrapper. We write what the schema says, and read both names."
    ),
    "CONF-02": (
        "Open permission requests of a cancelled turn end with the outcome cancelled on one page, with "
        "the error -32800 on another. We answer with the outcome, and take both for a no."
    ),
    "CONF-03": (
        "The results of session/load and fs/write_text_file are null on pages and objects in the schema. "
        "We write an empty object, and take both."
    ),
    "CONF-04": (
        "Pages look for the client's capabilities in the answer to initialize; they are in the request."
    ),
    "CONF-05": (
        "A page wants MCP servers in every session/resume, the schema does not. We send a list, and live "
        "without one."
    ),
    "CONF-06": (
        "Batches are defined by some drafts, refused by the published SDK, and answered with another HTTP "
        "status by a proposal. We refuse them as a whole, with one error."
    ),
    "CONF-07": (
        "A stream of an unknown session is refused by one sentence of the HTTP proposal and opened by its "
        "own example. We open it."
    ),
    "CONF-08": (
        "What answers a version that is too old: the latest one of the agent, or the error -32022. We "
        "take both."
    ),
    "CONF-09": (
        "Broken entries of requests were skipped by an older schema, and are refused with -32602 by the "
        "newer. We refuse."
    ),
    "CONF-10": (
        "Unknown formats of text must be kept, says a proposal; the schema lists four and no others. We "
        "keep them."
    ),
    "CONF-11": (
        "Pieces of a summary follow the start of a compaction, says a proposal; the schema lets the first "
        "piece begin one. We write the former, and read both."
    ),
}


def contradictions_of(requirement: Requirement) -> list[str]:
    """What is said about the contradictions that a requirement names."""
    text = f"{requirement.requirement} {requirement.observe} {requirement.source}"
    return [
        CONTRADICTIONS[name]
        for name in dict.fromkeys(re.findall(r"CONF-\d\d", text))
        if name in CONTRADICTIONS
    ]
