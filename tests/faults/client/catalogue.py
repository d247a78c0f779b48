"""Every fault of an agent that is tried on `dragoman run`: its id, what happens, and what must follow.

The ids without an X are shared with others who try clients on the same faults, and have gaps; those with an X
are ours. `page` makes a part of `tests/faults/FAULTS.md` of it.
"""

from __future__ import annotations

from tests.faults.catalogue import Fault
from tests.faults.client.rows import TEXT

KINDS = {
    "CFR": "Framing: how messages are cut out of what an agent prints",
    "CEN": "Envelopes: answers to nothing, in the wrong shape, in somebody else's name",
    "CLI": "Ends: agents that die, hang, or leave something behind",
    "CPE": "Permission: what counts as a yes",
    "CFS": "Files: what is lent, and what is not",
    "CTE": "Terminals: commands that run for an agent",
    "CBP": "Back-pressure: more than anybody reads",
}


def _rows() -> dict[str, Fault]:
    rows = [Fault(*(cell.strip() for cell in text.split(" | "))) for text in TEXT.strip().splitlines()]
    assert len({row.name for row in rows}) == len(rows), "an id stands twice"
    return {row.name: row for row in rows}


FAULTS = _rows()
