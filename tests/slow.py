"""Which combinations of a table `make test` runs; `make test-all` runs all of them.

    @pytest.mark.parametrize(("command", "signal"), sampled(COMMANDS, SIGNALS))
    def test_a_signal_ends_it(command: str, signal: str) -> None: ...

A combination costs a process or more. Each value of each parameter is in the sample at least once; the other
combinations are marked `slow`.

    @pytest.mark.in_turn("stage")
    def test_a_fault_is_survived(stage: Stage, fault: str) -> None: ...

Where a test holds for several stages, servers or agents, one of them is enough for `make test`: which one is
decided by the name of the test and its other parameters, so that all of them take their turn. A fixture with
parameters counts as a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

IN_TURN = "in_turn"


def sampled(*parameters: Iterable[Any]) -> list[Any]:
    """All combinations, for `pytest.mark.parametrize`; those outside of the sample are marked."""
    lists = [list(values) for values in parameters]
    longest = max(len(values) for values in lists)
    sample = {tuple(number % len(values) for values in lists) for number in range(longest)}
    rows = []
    for row in product(*(range(len(values)) for values in lists)):
        chosen = [values[index] for values, index in zip(lists, row, strict=True)]
        rows.append(pytest.param(*chosen, marks=[] if row in sample else [pytest.mark.slow]))
    return rows


def mark_all_but_one(items: Iterable[pytest.Item]) -> None:
    """Of the values that take turns, all but one get the mark `slow`."""
    tests: dict[str, dict[tuple[int, ...], list[pytest.Function]]] = {}
    for item in items:
        marker = item.get_closest_marker(IN_TURN)
        if marker is None or not isinstance(item, pytest.Function) or item.get_closest_marker("slow"):
            continue
        values = item.callspec.params if hasattr(item, "callspec") else {}
        others = tuple(id(value) for name, value in values.items() if name not in marker.args)
        if len(others) < len(values):  # a module's mark is for those of its tests that have the parameter
            rows = tests.setdefault(item.nodeid.partition("[")[0], {})
            rows.setdefault(others, []).append(item)
    for name, rows in tests.items():
        # The sum of the characters, because the hash of a text differs between the processes of one run.
        for turn, row in enumerate(rows.values(), sum(name.encode())):
            chosen = row[turn % len(row)]
            for item in row:
                if item is not chosen:
                    item.add_marker(pytest.mark.slow)
