"""Ties a test to the faults it tries: their ids become the test's, and the catalogue's test sees who is left.

@fault("FRM-05")                  a test of one fault
@cases({"JSN-01": b"...", ...})   one test for each entry, which it gets as `case`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

COVERED: dict[str, int] = {}
"""How many tests each fault has, among the modules that were imported."""


def fault(name: str) -> pytest.MarkDecorator:
    COVERED[name] = COVERED.get(name, 0) + 1
    return pytest.mark.parametrize("fault", [name], ids=[name], indirect=True)


def cases(table: Mapping[str, Any]) -> pytest.MarkDecorator:
    for name in table:
        COVERED[name] = COVERED.get(name, 0) + 1
    return pytest.mark.parametrize(("fault", "case"), table.items(), ids=table, indirect=["fault"])
