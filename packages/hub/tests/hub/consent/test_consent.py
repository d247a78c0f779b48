"""Whatever an agent causes through a hub, somebody decided exactly that: the table without kills."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.house import COUNTED
from tests.hub.consent.stage import ConsentHub, consent_hub
from tests.hub.consent.table import KILLS, chosen_rows, expected_marks

pytestmark = pytest.mark.timeout(600)

ROWS = [row for row in chosen_rows() if row.circumstance not in KILLS]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsentHub]:
    with consent_hub(tmp_path_factory.mktemp("consent")) as hub:
        yield hub


def test_an_effect_happens_if_and_only_if_exactly_that_was_decided(
    hub: ConsentHub, record_property: Callable[[str, object], None]
) -> None:
    faults = hub.play(ROWS)
    assert not faults, f"{len(faults)} of {len(ROWS)}:\n" + "\n".join(faults)
    assert any(expected_marks(row) for row in ROWS)
    record_property(COUNTED, f"consent: {len(ROWS)} combinations without a kill")
