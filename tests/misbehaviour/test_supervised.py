"""The same agent under supervision: it is started again and misbehaves again, and still everything ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.misbehaviour.agent import POINTS, WAYS
from tests.misbehaviour.leaks import look, strays
from tests.misbehaviour.tour import walk_all, walk_supervised

pytestmark = pytest.mark.bound(90)

EVERY = 4
"""Every fourth point of each way is tried; `run_many` tries all."""


@pytest.mark.parametrize(
    "way", ["kill", *(pytest.param(way, marks=pytest.mark.slow) for way in ("hang", "lie"))]
)
async def test_every_await_ends_and_nothing_is_left(way: str, tmp_path: Path) -> None:
    before = look()
    walks = await walk_all(walk_supervised, POINTS[WAYS.index(way) % EVERY :: EVERY], way, tmp_path)
    for point, steps in walks.items():
        assert steps[-1] == "leave: done", (point, steps)
    await asyncio.sleep(0)
    assert look().more_than(before) == {}
    assert strays(tmp_path) == []
