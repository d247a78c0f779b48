"""Edge × act × answer × announcement × change × circumstance: which combinations there are, and what each may
leave on disk.

`expected_marks` is written from docs/policy.md and knows nothing of the code: something happens if and only
if somebody decided exactly that.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import product
from random import Random
from typing import Any, Final, NamedTuple

from tests.pairwise import pairs_in, pairwise

EDGES: Final = ("v1", "v2", "crow", "threads", "haven", "acpex", "koog", "child", "official")
"""Who speaks: raw lines in eight forms (`child` is a subagent of a v1 agent), and the official Python SDK."""

WRITE_SHOWN, RUN_SHOWN, OWN = "write shown", "run shown", "own"
WRITE, READ, READ_OUTSIDE = "write", "read", "read outside"
ACTS: Final = (WRITE_SHOWN, WRITE, RUN_SHOWN, READ_OUTSIDE, READ, OWN)
"""Shown ones were in a request for permission before. `own` is what the agent does itself when it may."""

SHOWN: Final = frozenset({WRITE_SHOWN, RUN_SHOWN})

ONCE, ALWAYS, REJECT, NOBODY = "once", "always", "reject", "nobody"
ALLOW_RULE, DENY_RULE = "rule allows", "rule denies"
ANSWERS: Final = (ONCE, ALWAYS, REJECT, NOBODY, ALLOW_RULE, DENY_RULE)
"""`nobody`: the question waits until the turn is cancelled."""

SAME, TEXT, FOLDER, ARGUMENTS, PATH = "same", "text", "folder", "arguments", "path"
CHANGES: Final = (SAME, TEXT, FOLDER, ARGUMENTS, PATH)
"""How the act differs from the one that was announced, shown or named in a rule."""

NOTHING, RECONNECT, DELETE = "nothing", "reconnect", "delete"
KILL_AT_QUESTION, KILL_BEFORE_ACT = "kill at question", "kill before act"
KILLS: Final = frozenset({KILL_AT_QUESTION, KILL_BEFORE_ACT})
SECOND_CLIENT, NARROW_TOKEN = "second client", "narrow token"
TWICE, NEXT_TURN, ASKED_AGAIN = "twice", "next turn", "asked again"
CIRCUMSTANCES: Final = (
    *(NOTHING, RECONNECT, KILL_AT_QUESTION, KILL_BEFORE_ACT, DELETE, SECOND_CLIENT, NARROW_TOKEN),
    *(TWICE, NEXT_TURN, ASKED_AGAIN),
)
"""`asked again`: the agent asks for the same once more before it acts."""

PARAMETERS: Final[dict[str, tuple[Any, ...]]] = {
    "edge": EDGES,
    "circumstance": CIRCUMSTANCES,
    "answer": ANSWERS,
    "act": ACTS,
    "change": CHANGES,
    "announced": (True, False),
}

SAYS: Final = {
    "crow": frozenset({OWN}),  # it is lent nothing
    "threads": frozenset({READ, READ_OUTSIDE}),  # it asks nobody, and is lent files to read
}
"""What an edge has words for, where that is not everything."""

CHANGES_OF: Final = {
    WRITE_SHOWN: frozenset({SAME, TEXT, FOLDER, PATH}),
    WRITE: frozenset({SAME, TEXT, FOLDER, PATH}),
    RUN_SHOWN: frozenset(CHANGES),  # the text of a command is what its environment adds
    READ: frozenset({SAME, FOLDER, PATH}),
    READ_OUTSIDE: frozenset({SAME, PATH}),
    OWN: frozenset({SAME}),  # another act of its own nobody here can see
}

SAMPLE: Final = int(os.environ.get("DRAGOMAN_CONSENT", "4"))
"""How many further rows are drawn from the whole table."""


class Row(NamedTuple):
    """One combination."""

    edge: str
    circumstance: str
    answer: str
    act: str
    change: str
    announced: bool

    @property
    def is_asked(self) -> bool:
        """Whether a question is what the answer, and everything around it, is about."""
        return self.answer not in (ALLOW_RULE, DENY_RULE) and self.act != READ_OUTSIDE

    @property
    def is_late(self) -> bool:
        """Whether it is done in another turn than the question for it."""
        return self.act in SHOWN and self.circumstance in (NEXT_TURN, DELETE)

    @property
    def marks(self) -> tuple[str, ...]:
        """A name for each time that it is done."""
        has_second = self.circumstance == TWICE or (
            self.circumstance in (NEXT_TURN, DELETE) and not self.is_late
        )
        return ("first", "second") if has_second else ("first",)


def is_valid(values: dict[str, Any]) -> bool:
    row = Row(**values)
    if row.act not in SAYS.get(row.edge, ACTS) or row.change not in CHANGES_OF[row.act]:
        return False
    if row.edge == "threads" and row.announced:
        return False
    if row.circumstance == ASKED_AGAIN and row.act not in SHOWN:
        return False
    if row.circumstance == KILL_AT_QUESTION:
        return row.is_asked
    if row.circumstance == KILL_BEFORE_ACT and row.is_asked:  # else the answer itself has the act done
        return row.act in SHOWN and row.answer != NOBODY
    if row.circumstance in (RECONNECT, SECOND_CLIENT, NARROW_TOKEN) and not row.is_asked:
        return row.act == READ_OUTSIDE
    return not (row.circumstance == SECOND_CLIENT and row.answer == NOBODY)


def expected_marks(row: Row) -> frozenset[str]:
    """Which of the times that it is done may leave something on disk.

    The person gives the row's answer to the first question that shows exactly what the row is about (after a
    kill, to the first that the new hub asks), and says no to every other one.
    """
    if row.act == READ_OUTSIDE:  # nothing outside the session's folders is lent, whatever anybody says
        return frozenset()
    if row.answer in (REJECT, NOBODY, DENY_RULE):
        return frozenset()
    # An answer for good to a tool that has a name is for this tool: what is lent has none.
    if row.answer == ONCE or (row.answer == ALWAYS and row.edge == "haven" and row.act == WRITE_SHOWN):
        # For what was shown, for one act, until the end of the turn, or until a no to the same.
        is_over = row.is_late or (row.circumstance == ASKED_AGAIN and row.answer == ONCE)
        return frozenset({"first"}) if row.change == SAME and not is_over else frozenset()
    # A rule and an answer for good name a path, or a command in its folder; not what is written there.
    is_named = row.change == SAME or (row.change == TEXT and row.act != RUN_SHOWN)
    if row.answer == ALWAYS and row.act == WRITE:  # another text is another question, to which they say no
        is_named = row.change == SAME
    return frozenset(row.marks) if is_named else frozenset()


def narrow_holder(row: Row) -> str:
    """Who answers first with a token that is good for less: only the approver's counts."""
    holder = ("observer", "approver", "stranger")[(EDGES.index(row.edge) + row.announced) % 3]
    return "observer" if holder == "approver" and row.answer == NOBODY else holder


@cache
def all_rows() -> list[Row]:
    rows = (Row(*values) for values in product(*PARAMETERS.values()))
    return [row for row in rows if is_valid(row._asdict())]


def core_rows() -> list[Row]:
    """A yes for once in every circumstance, for every act: what pairs alone would hide behind a no."""
    # What a child was granted ends with the turn of its parent.
    rows = [Row("child", NEXT_TURN, ONCE, RUN_SHOWN, SAME, announced=True)]
    # All that threads can do with a yes.
    rows.append(Row("threads", NOTHING, ONCE, READ, SAME, announced=False))
    for (place, circumstance), (offset, act) in product(enumerate(CIRCUMSTANCES), enumerate(ACTS)):
        announced = (place + offset) % 2 == 0
        able = [Row(edge, circumstance, ONCE, act, SAME, announced) for edge in EDGES]
        able = [row for row in able if act != READ_OUTSIDE and is_valid(row._asdict())]
        if able:
            rows.append(able[(place + offset) % len(able)])
    return rows


@cache
def chosen_rows() -> list[Row]:
    """The core, rows with every other pair of values, and a sample of all combinations."""
    chosen = core_rows()
    covered = {pair for row in chosen for pair in pairs_in(row._asdict())}
    for values in pairwise(PARAMETERS, is_valid):
        pairs = set(pairs_in(values))
        if not pairs <= covered:
            covered |= pairs
            chosen.append(Row(**values))
    return list(dict.fromkeys([*chosen, *Random(7).sample(all_rows(), SAMPLE)]))
