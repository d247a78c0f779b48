"""The rows of the table in which the hub is killed between a question, its answer and the act."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import COUNTED
from tests.hub.consent.stage import consent_hub
from tests.hub.consent.table import KILLS, chosen_rows

pytestmark = pytest.mark.timeout(600)

ROWS = [row for row in chosen_rows() if row.circumstance in KILLS]


def test_a_kill_permits_nothing_and_takes_no_decision_away(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with consent_hub(tmp_path) as hub:
        faults = hub.play(ROWS)
    assert not faults, f"{len(faults)} of {len(ROWS)}:\n" + "\n".join(faults)
    record_property(COUNTED, f"consent: {len(ROWS)} combinations with a kill")
