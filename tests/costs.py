"""What tests cost: processor seconds of each file, with those of the programs that it starts.

`tools/run_tests.py --costs` names a file in `COSTS`, to which every process of the run appends lines: a
worker for each test what it and the children that it reaped have taken, a fork server for each fork. What a
test sets up for its module is counted as its own, and so is a program that it starts for others and reaps.
At the end this is run as a program, with the seconds of the orphans that the runner has adopted, and makes a
table of them all.
"""

from __future__ import annotations

import os
import resource
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

import pytest

COSTS = "DRAGOMAN_COSTS"
"""The variable that names the file."""

TABLE_ROWS = 40


class Row(NamedTuple):
    """The seconds of a file: the worker's own, those of its children, and those of forks."""

    own: float = 0.0
    children: float = 0.0
    forks: float = 0.0
    tests: int = 0

    @property
    def seconds(self) -> float:
        return self.own + self.children + self.forks


def seconds_of(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def note(name: str, *, own: float = 0.0, children: float = 0.0, forks: float = 0.0) -> None:
    """Append a line, if somebody wants to know."""
    if path := os.environ.get(COSTS):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{own:.4f}\t{children:.4f}\t{forks:.4f}\t{name}\n")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    own, children = _used()
    try:
        return (yield)
    finally:
        own_after, children_after = _used()
        note(item.nodeid, own=own_after - own, children=children_after - children)


def pytest_collection_finish() -> None:
    note("collecting", own=_used()[0])


def _used() -> tuple[float, float]:
    return (
        seconds_of(resource.getrusage(resource.RUSAGE_SELF)),
        seconds_of(resource.getrusage(resource.RUSAGE_CHILDREN)),
    )


def table(lines: Iterable[str]) -> list[str]:
    """Lines for people, the dearest file first."""
    rows: defaultdict[str, Row] = defaultdict(Row)
    for line in lines:
        *numbers, name = line.rstrip("\n").split("\t")
        own, children, forks = map(float, numbers)
        file, _, test = name.partition("::")
        before, is_test = rows[file], bool(test) and not forks
        rows[file] = Row(
            before.own + own, before.children + children, before.forks + forks, before.tests + is_test
        )
    ranked = sorted(rows.items(), key=lambda entry: -entry[1].seconds)
    whole = sum(row.seconds for row in rows.values())
    return [
        "processor seconds: all, own, children, forks; tests; file",
        *(
            f"{row.seconds:8.1f}{row.own:8.1f}{row.children:8.1f}{row.forks:8.1f}{row.tests:6}  {name}"
            for name, row in ranked[:TABLE_ROWS]
        ),
        f"{whole:8.1f} in {len(rows)} rows",
    ]


if __name__ == "__main__":
    record, orphan_seconds = sys.argv[1:]
    os.environ[COSTS] = record
    note("orphans", children=float(orphan_seconds))
    with open(record, encoding="utf-8") as lines:
        print(*table(lines), f"each test is in {record}", sep="\n")
