"""The catalogue as a page: `python -m tests.faults.page > docs/faults.md`. A test holds the two equal."""

from __future__ import annotations

from tests.faults.catalogue import FAULTS, KINDS

INTRODUCTION = """# Faults that an agent survives

Each row is something that happens to an agent in real life, and what must follow. After each of them the
agent still answers, unless the row says that it ends, and nothing but messages is on its standard output.
Every row is a test of the same name against a real process: `pytest tests/faults -k JSN-05`.

The ids without an X are shared with others who try agents on the same faults; those with an X are ours.
This page is made from `tests/faults/catalogue.py`: `python -m tests.faults.page > docs/faults.md`.
"""


def page() -> str:
    """The text of `docs/faults.md`."""
    parts = [INTRODUCTION]
    for kind, title in KINDS.items():
        rows = [row for row in FAULTS.values() if row.kind == kind]
        table = [f"| {row.name} | {row.what} | {row.follows} |" for row in rows]
        parts.append(
            "\n".join(
                [f"## {title}", "", "| id | what happens | what follows |", "|---|---|---|", *table, ""]
            )
        )
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
