"""The same agent under `dragoman run`: it ends in time, with a documented exit status, and leaves nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.misbehaviour.agent import POINTS, WAYS
from tests.misbehaviour.runs import PAIRS, run_through

pytestmark = pytest.mark.bound(90)


def test_each_point_and_each_way_is_tried() -> None:
    assert {point for point, _ in PAIRS} == set(POINTS)
    assert {way for _, way in PAIRS} == set(WAYS)


@pytest.mark.parametrize("way", WAYS)
async def test_the_run_ends_with_a_documented_status(way: str, tmp_path: Path) -> None:
    points = [point for point, one in PAIRS if one == way]
    async with asyncio.TaskGroup() as group:
        for point in points:
            place = tmp_path / point.replace(" ", "-")
            place.mkdir()
            group.create_task(run_through(point, way, place))


async def test_a_run_in_which_nothing_happens_is_complete(tmp_path: Path) -> None:
    run = await run_through("never", "exit", tmp_path)
    assert (run.status, run.text) == (0, "one two")
