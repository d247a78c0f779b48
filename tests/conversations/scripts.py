"""Scripts of whole conversations: what the agent does in each turn, how the client decides, what users do.

A script is plain data, so that hypothesis can shrink it and a failure can be read and played again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

SESSIONS = 3

Op = tuple[Any, ...]


def weighted(*choices: tuple[st.SearchStrategy[Any], int]) -> st.SearchStrategy[Any]:
    """One of them, each as likely as its weight; the first is the simplest."""
    table = [number for number, (_, weight) in enumerate(choices) for _ in range(weight)]
    return st.sampled_from(table).flatmap(lambda number: choices[number][0])


@dataclass(frozen=True, slots=True)
class Program:
    """What the prompt handler does in one turn."""

    ops: tuple[Op, ...]
    ending: str
    on_cancel: str


@dataclass(frozen=True, slots=True)
class Script:
    """One conversation."""

    steps: tuple[Op, ...]
    permission: tuple[Op, ...]
    """How the user decides, one after the other and then again from the beginning."""
    reading: tuple[Op, ...]
    """How the client answers `fs/read_text_file`, likewise."""
    updates: str
    """What the client's update handler is like."""
    cut: tuple[int, str] | None
    """Before which step the connection ends, and by whose hand."""


turns = st.sampled_from((0, 1, 2, 5))
seconds = st.sampled_from((0.01, 1.0, 40.0))
session = st.integers(0, SESSIONS - 1)

op = st.one_of(
    st.tuples(st.just("say"), st.sampled_from((1, 2, 7))),
    st.tuples(st.just("big"), st.sampled_from((3, 40, 150))),
    st.tuples(st.just("turns"), turns),
    st.tuples(st.just("sleep"), seconds),
    st.just(("ask",)),
    st.just(("read",)),
    st.just(("call",)),
    st.tuples(st.just("tool"), turns),
    st.just(("burst",)),
)

program = st.builds(
    Program,
    st.lists(op, min_size=1, max_size=6).map(tuple),
    st.sampled_from(("end_turn", "refusal", "raise", "error")),
    st.sampled_from(("propagate", "swallow", "raise", "linger", "ignore", "speak", "speak late")),
)

how_to_read = st.one_of(
    st.just(("await",)),
    st.tuples(st.just("slow"), turns),
    st.tuples(st.just("break"), st.integers(1, 4)),
    st.tuples(st.just("call"), st.integers(1, 4)),
    st.tuples(st.just("pause"), st.sampled_from((0.5, 20.0))),
)

prompt = st.tuples(st.just("prompt"), session, program, how_to_read)
wait = st.tuples(st.just("turns"), turns)
pause = st.tuples(st.just("sleep"), seconds)
cancel = st.tuples(st.just("cancel"), session)
abandon = st.tuples(st.just("abandon"), st.integers(0, 3))
call = st.tuples(st.just("call"), st.sampled_from((None, 0.5)), st.sampled_from((None, 0, 3)))
close = st.tuples(st.just("close"), session)
step = weighted((wait, 3), (prompt, 8), (cancel, 3), (abandon, 2), (pause, 1), (call, 1), (close, 1))

WHOSE = ("client", "agent", "client's transport", "agent's transport")
cut = weighted((st.none(), 3), (st.tuples(st.integers(1, 6), st.sampled_from(WHOSE)), 1))

permission = st.one_of(
    st.tuples(st.just("allow"), turns),
    st.tuples(st.just("reject"), turns),
    st.just(("hang",)),
    st.just(("raise",)),
    st.tuples(st.just("sleep"), seconds),
)

reading = st.one_of(
    st.tuples(st.just("allow"), turns),
    st.just(("raise",)),
    st.just(("hang",)),
    st.tuples(st.just("sleep"), seconds),
)

scripts = st.builds(
    Script,
    st.lists(step, min_size=2, max_size=10).map(tuple),
    st.lists(permission, min_size=1, max_size=3).map(tuple),
    st.lists(reading, min_size=1, max_size=2).map(tuple),
    st.sampled_from(("none", "def", "turns", "calls", "fails")),
    cut,
)
