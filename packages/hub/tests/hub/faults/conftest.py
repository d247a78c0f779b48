"""One endpoint and one hub for all tests of a module: whatever one of them does to it, it serves the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hub.faults.hub_stage import HubStage
from tests.hub.faults.stage import Stage, staged


@pytest.fixture(scope="module", params=[Stage, HubStage], ids=["serve", "hub"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    with staged(request.param) as one:
        yield one


@pytest.fixture(autouse=True)
def nothing_of_the_last_one(request: pytest.FixtureRequest) -> None:
    if "stage" in request.fixturenames:
        stage: Stage = request.getfixturevalue("stage")
        stage.ended.clear()
        stage.said = 0
