"""Ties a test to the faults it tries, as `tests.faults.cases` does for agents; here there is one client.

@fault("CFR-07")                  a test of one fault
@cases({"CFR-01": ..., ...})      one test for each entry, which it gets as `case`; those that are `slow`
                                  differ from the others in their size or their moment alone
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import pytest

COVERED: set[str] = set()
"""What is tried in the modules that were imported."""


def fault(name: str) -> pytest.MarkDecorator:
    COVERED.add(name)
    return pytest.mark.parametrize("fault", [name], ids=[name], indirect=True)


def cases(table: Mapping[str, Any], *, slow: Container[str] = ()) -> pytest.MarkDecorator:
    COVERED.update(table)
    rows = [
        pytest.param(name, case, id=name, marks=[pytest.mark.slow] if name in slow else [])
        for name, case in table.items()
    ]
    return pytest.mark.parametrize(("fault", "case"), rows, indirect=["fault"])
