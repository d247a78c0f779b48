"""Every fault of the catalogue has a test, every test a fault, and the page says the same."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.faults.cases import COVERED
from tests.faults.catalogue import FAULTS, KINDS
from tests.faults.page import page
from tests.faults.trial_agents import SCRIPT, UNSCRIPTED, tried

HERE = Path(__file__).parent
PAGE = HERE / "FAULTS.md"


def covered() -> set[str]:
    """The ids that some test tries, whatever was selected for this run."""
    for path in HERE.glob("test_*.py"):
        importlib.import_module(f"tests.faults.{path.stem}")
    return set(COVERED)


def test_every_fault_has_a_test() -> None:
    assert sorted(set(FAULTS) - covered()) == []


def test_every_test_tries_a_fault_that_is_described() -> None:
    assert sorted(covered() - set(FAULTS)) == []


def test_every_fault_is_tried_on_the_agents_that_are_named() -> None:
    covered()
    assert {name: sorted(COVERED[name]) for name in FAULTS} == {name: sorted(tried(name)) for name in FAULTS}


def test_a_fault_that_is_not_tried_on_a_script_has_a_reason() -> None:
    covered()
    assert {name for name in FAULTS if SCRIPT not in COVERED[name]} == set(UNSCRIPTED)
    assert all(UNSCRIPTED.values())


def test_every_fault_is_of_a_known_kind_and_says_what_follows() -> None:
    for row in FAULTS.values():
        assert row.kind in KINDS
        assert row.what
        assert row.follows


def test_the_page_is_made_from_the_catalogue() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
