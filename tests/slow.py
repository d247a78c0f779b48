"""Which combinations of a table `make test` runs; `make test-all` runs all of them.

    @pytest.mark.parametrize(("command", "signal"), sampled(COMMANDS, SIGNALS))
    def test_a_signal_ends_it(command: str, signal: str) -> None: ...

A combination costs a process or more. Each value of each parameter is in the sample at least once; the other
combinations are marked `slow`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest


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
