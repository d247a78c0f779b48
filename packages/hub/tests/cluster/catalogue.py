"""Every fault of a cluster that is tried: its id, what happens, and what must follow.

The ids without an X are shared with others, and have gaps; those with an X are ours. The name of a test
begins with the id. `cluster_part` makes the end of `tests/faults/FAULTS.md` of it.
"""

from __future__ import annotations

from typing import NamedTuple

TEXT = """
SCL-01 | a client leaves node A and loads its session at node B | the whole history
SCL-02 | node A is killed in mid-turn, its client goes to node B | every update it saw, every turn that was answered
SCL-04 | node A is stopped past its lease, B takes over, A wakes | A's writes come too late; nothing of B's is lost
SCL-05 | nodes are killed with -9 in turn, under load | no turn that was answered is lost
SCL-X2 | every node is stopped past its lease, and all wake at once | nothing is lost or doubled; the next turn ends well
SCL-X1 | hubs and servers are killed, paused, cut off at random | nothing is lost, doubled, done twice; 15 s until served
"""  # noqa: E501 -- a row is a line

INTRODUCTION = """
# Faults that a cluster survives

What happens to nodes and servers of a cluster. A test whose name begins with the id tries each row on
real hubs and real servers of NATS: `pytest packages/hub/tests/cluster -k scl_02`. A checker compares what the
journal, every client and every process of an agent have written down; planted faults show that it works.

| id | what happens | what follows |
|---|---|---|
"""


class Fault(NamedTuple):
    """One row."""

    name: str
    what: str
    follows: str


FAULTS = [Fault(*(cell.strip() for cell in text.split(" | "))) for text in TEXT.strip().splitlines()]


def cluster_part() -> str:
    return INTRODUCTION + "".join(f"| {row.name} | {row.what} | {row.follows} |\n" for row in FAULTS)
