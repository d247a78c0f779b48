"""Every fault of the network and of the disk has a test, and every test a fault."""

from __future__ import annotations

import re
from pathlib import Path

from tests.hub.faults.catalogue import FAULTS, KINDS

TEST = re.compile(r"^async def test_(n[a-z]{2}|pst)_(x?\d+)_", re.MULTILINE)


def tried() -> list[str]:
    """The ids that the names of tests begin with."""
    folders = (Path(__file__).parent, Path(__file__).parents[2] / "remote")
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("test_*.py")]
    return [f"{kind}-{number}".upper() for text in texts for kind, number in TEST.findall(text)]


def test_every_fault_has_a_test_and_every_test_a_fault() -> None:
    assert sorted(tried()) == sorted(row.name for row in FAULTS)


def test_every_fault_is_of_a_known_kind_and_says_what_follows() -> None:
    for row in FAULTS:
        assert row.kind in KINDS
        assert row.what
        assert row.follows
