"""Which of the offered options says what was decided.

Pure. An option is chosen by its id and judged by its kind alone: its name may say anything. What is decided
by rules is decided once: `allow_always` is for people. Where no option says what was decided, or where ids
leave a doubt, nothing is chosen, and nothing chosen permits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from dragoman.schema import v1
from dragoman.schema.v1.permission import PERMISSION_OPTION_KINDS
from dragoman.text.sanitize import sanitize_line

KINDS: Final[dict[Literal["allow", "deny"], tuple[str, ...]]] = {
    "allow": ("allow_once",),
    "deny": ("reject_once", "reject_always"),
}


MOST_NAME: Final = 60


def choose_option(outcome: Literal["allow", "deny"], options: Sequence[v1.PermissionOption]) -> str | None:
    """The id of the option to select, or None to select nothing."""
    usable = usable_options(options)
    return next(
        (option.option_id for kind in KINDS[outcome] for option in usable if option.kind == kind), None
    )


def usable_options(options: Sequence[v1.PermissionOption]) -> Sequence[v1.PermissionOption]:
    """Those whose id is theirs alone, and whose kind is known."""
    ids = [option.option_id for option in options]
    return [
        option
        for option in options
        if option.kind in PERMISSION_OPTION_KINDS and ids.count(option.option_id) == 1
    ]


def option_name(option: v1.PermissionOption) -> str:
    """What an agent calls an option, on one short line: room enough for a name, and too little for a menu."""
    name = " ".join(sanitize_line(option.name).split())
    return name if len(name) <= MOST_NAME else f"{name[:MOST_NAME]}…"


def select_option(option_id: str | None) -> v1.RequestPermissionResponse:
    if option_id is None:
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())
    return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id=option_id))
