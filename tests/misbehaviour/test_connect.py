"""An agent that stops, dies, floods or lies at each point of a conversation, driven through `connect`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.misbehaviour.agent import POINTS, WAYS
from tests.misbehaviour.leaks import look, strays
from tests.misbehaviour.tour import walk_all, walk_connected

pytestmark = pytest.mark.bound(90)

ALL = ["connect", "new", "mode", "prompt", "cancelled prompt", "load", "leave"]
EVERY = len(WAYS)
"""In a usual run each point is tried in one way, and the next point in the next; `run_many` tries all."""

SHORTER = (["connect"], ["connect", "new", "leave"])
"""Walks that ended early: there is nobody, or there is no session."""


def test_there_are_points_enough() -> None:
    assert len(set(POINTS)) >= 25


async def test_an_agent_that_behaves_is_walked_through(tmp_path: Path) -> None:
    steps = await walk_connected("never", "exit", tmp_path, 20.0)
    assert steps == [f"{name}: done" for name in ALL]


@pytest.mark.parametrize("way", WAYS)
async def test_every_await_ends_and_nothing_is_left(way: str, tmp_path: Path) -> None:
    before = look()
    walks = await walk_all(walk_connected, POINTS[WAYS.index(way) % EVERY :: EVERY], way, tmp_path)
    for point, steps in walks.items():
        names = [step.partition(":")[0] for step in steps]
        failed = [step for step in steps if not step.endswith(": done")]
        assert names == ALL or (names in SHORTER and failed), (point, steps)
        assert steps[-1] == "leave: done" or names == ["connect"], (point, steps)
    await asyncio.sleep(0)
    assert look().more_than(before) == {}
    assert strays(tmp_path) == []


@pytest.mark.parametrize("way", ["exit", "kill", "crash", "close"])
async def test_a_death_is_told_at_the_step_in_which_it_happened(way: str, tmp_path: Path) -> None:
    where = {"initialize asked": 0, "new half": 1, "mode asked": 2, "between updates": 3, "cancel asked": 4}
    walks = await walk_all(walk_connected, list(where), way, tmp_path, seconds=20.0)
    for point, step in where.items():
        assert walks[point][step] == f"{ALL[step]}: PeerDied"
        assert all(earlier.endswith(": done") for earlier in walks[point][:step])


async def test_silence_is_told_at_the_step_in_which_it_happened(tmp_path: Path) -> None:
    where = {
        "initialize asked": (0, "HandshakeTimeout"),
        "new asked": (1, "CallTimeout"),
        "between updates": (3, "SilenceTimeout"),
        "load asked": (5, "CallTimeout"),
    }
    walks = await walk_all(walk_connected, list(where), "hang", tmp_path, seconds=1.5)
    for point, (step, error) in where.items():
        assert walks[point][step] == f"{ALL[step]}: {error}"
