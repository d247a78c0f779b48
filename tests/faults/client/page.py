"""The part of the list of faults that is about clients; `tests.faults.page` puts it behind the agents'."""

from __future__ import annotations

from tests.faults.client.catalogue import FAULTS, KINDS

INTRODUCTION = """
# Faults that a client survives

The same from the other side: what agents do to `dragoman run`. After each of them the run has ended in time,
with an exit status that says how it went; standard output holds what the format promises and nothing else; no
process and no temporary file is left. These rows are made from `tests/faults/client/rows.py`.
"""


def client_part() -> str:
    parts = [INTRODUCTION]
    for kind, title in KINDS.items():
        table = [
            f"| {row.name} | {row.what} | {row.follows} |" for row in FAULTS.values() if row.kind == kind
        ]
        head = [f"## {title}", "", "| id | what happens | what follows |", "|---|---|---|"]
        parts.append("\n".join([*head, *table, ""]))
    return "\n".join(parts)
