"""The curves of the benchmark: each point is measured whole, and each is drawn."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from growth import GROWTHS
from harness.curves import draw_curves
from hub import measure_growth, measure_search

SVG = "{http://www.w3.org/2000/svg}"


def test_every_point_of_every_panel_is_drawn() -> None:
    points = [(1, 100_000.0), (10, 90_000.0), (10_000, 6_000.0)]
    drawing = ElementTree.fromstring(draw_curves("Many <sessions>", "sessions", [("rate", points)] * 2))
    assert len(drawing.findall(f"{SVG}circle")) == 6
    assert drawing.findtext(f"{SVG}title") == "Many <sessions>"


def test_what_grows_is_what_can_be_measured() -> None:
    assert {growth.name for growth in GROWTHS} == set(measure_growth.MEASURES)


@pytest.mark.bound(30)
async def test_a_history_is_loaded_whole() -> None:
    figures = await measure_growth.history(200)
    assert figures["us"] > 0


@pytest.mark.bound(30)
async def test_every_client_hears_the_whole_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_growth, "UPDATES_OF_SESSION", 60)
    monkeypatch.setattr(measure_growth, "WARM", 5)
    figures = await measure_growth.clients(3)
    assert figures["us"] > 0


@pytest.mark.bound(30)
async def test_a_search_finds_the_common_and_the_rare_word() -> None:
    figures = await measure_search.measure(1_000)
    assert figures["common_s"] > 0
    assert figures["rare_s"] > 0
