"""The tables of tricks are whole: each has one name, and the file of open ones names nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tests.hostile.doors.cheat_tricks import CHEAT_TRICKS
from tests.hostile.doors.dialect_tricks import DIALECT_TRICKS
from tests.hostile.doors.disk_tricks import BACK_TRICKS, IMPORT_TRICKS, REVIEW_TRICKS, STRICT_TRICKS
from tests.hostile.doors.far_tricks import FAR_TRICKS, OTHER_HOST_TRICKS
from tests.hostile.doors.line_tricks import LINE_TRICKS
from tests.hostile.doors.model_tricks import MCP_TRICKS, OPENAI_TRICKS
from tests.hostile.doors.page_tricks import PAGE_TRICKS, SCREEN_TRICKS
from tests.hostile.doors.token_tricks import FAST_TRICKS, METHOD_TRICKS, PAIR_TRICKS
from tests.hostile.doors.tricks import Trick, open_tricks
from tests.hostile.doors.undecided_tricks import UNDECIDED_TRICKS
from tests.house import COUNTED

TRICKS: Sequence[Trick] = [
    *DIALECT_TRICKS,
    *CHEAT_TRICKS,
    *METHOD_TRICKS,
    *LINE_TRICKS,
    *PAIR_TRICKS,
    *FAST_TRICKS,
    *MCP_TRICKS,
    *OPENAI_TRICKS,
    *FAR_TRICKS,
    *OTHER_HOST_TRICKS,
    *UNDECIDED_TRICKS,
    *PAGE_TRICKS,
    *SCREEN_TRICKS,
    *STRICT_TRICKS,
    *BACK_TRICKS,
    *REVIEW_TRICKS,
    *IMPORT_TRICKS,
]


def test_each_trick_has_a_name_of_its_own(record_property: Callable[[str, object], None]) -> None:
    names = Counter(trick.name for trick in TRICKS)
    assert not [name for name, count in names.items() if count > 1]
    axes = Counter(trick.axis for trick in TRICKS)
    counts = ", ".join(f"{count} of {axis}" for axis, count in axes.items())
    record_property(COUNTED, f"{len(TRICKS)} tricks: {counts}; {len(open_tricks())} work today")


def test_what_works_today_is_a_trick_that_worked_at_first() -> None:
    worked = {trick.name for trick in TRICKS if trick.at_first == "succeeded"}
    assert open_tricks().keys() <= worked
