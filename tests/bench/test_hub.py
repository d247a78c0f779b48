"""The benchmark of the hub can be run, and would notice what it is there to notice."""

from __future__ import annotations

import pytest

from hub import measure_question
from hub.figures import HUB_FIGURES
from hub.measure_many import measure
from hub.scenarios import HUB_SCENARIOS
from peers.table import all_peers


def test_every_figure_belongs_to_a_scenario_that_somebody_takes_part_in() -> None:
    able = {
        scenario.name
        for scenario in HUB_SCENARIOS
        for peer in all_peers()
        if peer.takes_part(scenario.name, scenario.needs)
    }
    assert {figure.scenario for figure in HUB_FIGURES} == able


@pytest.mark.bound(30)
async def test_sessions_that_stream_at_once_are_measured_whole() -> None:
    found = await measure(400, 4)
    assert found["whole"]
    assert 0 < found["fairness"] <= 1
    assert found["cpu"] > 0


@pytest.mark.bound(60)
async def test_questions_are_measured_while_others_speak() -> None:
    found = await measure_question.measure(3, 2)
    assert 0 < found["p50_us"] <= found["p99_us"]
    assert found["came"] == found["said"] > 0
