"""Every fault of a cluster has a test, and every test a fault."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cluster.catalogue import FAULTS

TEST = re.compile(r"^async def test_scl_(x?\d+)_", re.MULTILINE)


def test_every_fault_has_a_test_and_every_test_a_fault() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    tried = [f"SCL-{number}".upper() for text in texts for number in TEST.findall(text)]
    assert sorted(tried) == sorted(row.name for row in FAULTS)
    assert all(row.what and row.follows for row in FAULTS)
