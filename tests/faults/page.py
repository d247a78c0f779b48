"""The catalogue as a list: `python -m tests.faults.page > tests/faults/FAULTS.md`. A test compares both."""

from __future__ import annotations

from tests.cluster.catalogue import cluster_part
from tests.faults.catalogue import FAULTS, KINDS
from tests.faults.client.page import client_part
from tests.faults.trial_agents import UNSCRIPTED, tried
from tests.hub.faults.catalogue import network_part

INTRODUCTION = """# Faults that an agent survives

Each row is something that happens to an agent in real life, and what must follow. After each of them the
agent still answers, unless the row says that it ends, and nothing but messages is on its standard output.
A test of the same id tries each row on a real process: `pytest tests/faults -k JSN-05`.

The last column says which agents a row is tried on: `echo` is `dragoman agent echo`, `script` is
`dragoman agent script` with a script that behaves like it, from `tests/faults/scripts`, and the others are
small agents from `tests/faults/agents`. Where a script is missing, it says why.

The ids without an X are shared with others who try agents on the same faults; those with an X are ours.
This list is made from the catalogues of the tests: `python -m tests.faults.page > tests/faults/FAULTS.md`.
"""


def page() -> str:
    """The text of `tests/faults/FAULTS.md`."""
    parts = [INTRODUCTION]
    for kind, title in KINDS.items():
        rows = [row for row in FAULTS.values() if row.kind == kind]
        table = [f"| {row.name} | {row.what} | {row.follows} | {_tried_on(row.name)} |" for row in rows]
        head = ["| id | what happens | what follows | tried on |", "|---|---|---|---|"]
        parts.append("\n".join([f"## {title}", "", *head, *table, ""]))
    return "\n".join([*parts, client_part(), network_part(), cluster_part()])


def _tried_on(fault: str) -> str:
    reason = f" ({UNSCRIPTED[fault]})" if fault in UNSCRIPTED else ""
    return ", ".join(tried(fault)) + reason


if __name__ == "__main__":
    print(page(), end="")
