"""A decision with its reason, and the permission option that expresses it.

Pure. An option is chosen by its id and judged by its kind, which every face of ours shows beside its name.
Other clients may show the name alone, so an option that says the opposite of its kind is none. What is
decided by rules is decided once: `allow_always` is for people. Where no option says what was decided, or
where ids leave a doubt, nothing is chosen, and nothing chosen permits nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from dragoman.schema import v1
from dragoman.schema.v1.permission import PERMISSION_OPTION_KINDS
from dragoman.text.sanitize import sanitize_line

Outcome: TypeAlias = Literal["allow", "ask", "deny"]

STRICTNESS: Final[dict[Outcome, int]] = {"allow": 0, "ask": 1, "deny": 2}


class Certainty(IntEnum):
    """Whether an asking or denying rule matches. Of several conditions the least certain counts."""

    NO = 0
    PERHAPS = 1
    """Perhaps: a part of it is only known when it runs."""
    YES = 2


class PolicyDecision(Struct, frozen=True, kw_only=True):
    """One decision of the policy."""

    outcome: Outcome
    rule: str
    """The rule that decided: its file, line and name."""
    why: str
    """One sentence for people."""
    is_rule: bool = False
    """Whether a written rule decided; a default is not one."""
    remedy: str = ""
    """For a denial: the command line with which a person allows it; empty if there is none."""
    needs_person: bool = False
    """Whether only a person may allow it: a denying rule may match, or it touches policies."""


def strictest(*decisions: PolicyDecision) -> PolicyDecision:
    """Return the strictest decision; among equals one by a rule, one that needs a person, or the first."""
    return max(
        decisions,
        key=lambda decision: (STRICTNESS[decision.outcome], decision.is_rule, decision.needs_person),
    )


# Options.

KINDS: Final[dict[Literal["allow", "deny"], tuple[str, ...]]] = {
    "allow": ("allow_once",),
    "deny": ("reject_once", "reject_always"),
}

MOST_NAME: Final = 60

_FIRST_WORD: Final = re.compile(r"\W*(\w+)")
_YES_WORDS: Final = frozenset({"yes", "allow", "approve", "accept"})
_NO_WORDS: Final = frozenset({"no", "reject", "deny", "decline", "refuse"})


def choose_option(outcome: Literal["allow", "deny"], options: Sequence[v1.PermissionOption]) -> str | None:
    """Return the id of the option to select, or None to select none."""
    usable = usable_options(options)
    return next(
        (option.option_id for kind in KINDS[outcome] for option in usable if option.kind == kind), None
    )


def usable_options(options: Sequence[v1.PermissionOption]) -> Sequence[v1.PermissionOption]:
    """Return options with a unique id and a known kind that does not contradict their name."""
    ids = [option.option_id for option in options]
    return [
        option
        for option in options
        if option.kind in PERMISSION_OPTION_KINDS
        and ids.count(option.option_id) == 1
        and not is_contradiction(option)
    ]


def is_contradiction(option: v1.PermissionOption) -> bool:
    """Whether a name that begins with yes is that of a no, or the reverse. Names that begin with another
    word, or in another language, are not checked.
    """
    word = _FIRST_WORD.match(option.name)
    opposite = _NO_WORDS if option.kind in ("allow_once", "allow_always") else _YES_WORDS
    return word is not None and word[1].lower() in opposite


def option_name(name: str) -> str:
    """Return the agent's name of an option, on one short line: long enough for a name, too
    short for a menu.
    """
    name = " ".join(sanitize_line(name).split())
    return name if len(name) <= MOST_NAME else f"{name[:MOST_NAME]}…"


def select_option(option_id: str | None) -> v1.RequestPermissionResponse:
    if option_id is None:
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())
    return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id=option_id))
