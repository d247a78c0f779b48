"""Every fault of the catalogue has a test, and every test a fault. That the page says the same is tested
with the agents' part.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.faults.client.cases import COVERED
from tests.faults.client.catalogue import FAULTS, KINDS


def covered() -> set[str]:
    """The ids that some test tries, whatever was selected for this run."""
    for path in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.faults.client.{path.stem}")
    return set(COVERED)


def test_every_fault_has_a_test() -> None:
    assert sorted(set(FAULTS) - covered()) == []


def test_every_test_tries_a_fault_that_is_described() -> None:
    assert sorted(covered() - set(FAULTS)) == []


def test_every_fault_is_of_a_known_kind_and_says_what_follows() -> None:
    for row in FAULTS.values():
        assert row.kind in KINDS
        assert row.what
        assert row.follows
