"""Connections that are cut at every message, and hubs that are killed: nobody notices more than a pause."""

from __future__ import annotations

import os
import random
import re
from itertools import chain, repeat

import pytest

from tests.hub.sessions.drops import Trial, agents
from tests.hub.sessions.stage import Slow, staged

pytestmark = [pytest.mark.bound(120), pytest.mark.timeout(150)]

TURNS = ["say 3", "ask", "read /a", "hello", "ask", "say 12", "read /b"]


SEEDS = int(os.environ.get("DRAGOMAN_DROPS", "6"))
"""Conversations with a killed hub; a hundred times as many by hand."""


def trial_of(seed: int) -> Trial:
    """Cuts after some messages, kills with half of them, and kills that come at any moment."""
    chance = random.Random(seed)
    cuts = (chance.randint(1, 15) for _ in range(60))
    crashes = (chance.random() < 0.5 for _ in range(60))
    ticks = (chance.randint(1, 150) for _ in range(25))
    return Trial(chain(cuts, repeat(None)), chain(crashes, repeat(False)), ticks)


async def heard(trial: Trial) -> list[bytes]:
    async with staged(agents(trial.gate)) as stage:
        return numbered(await trial.run(stage, TURNS))


def numbered(frames: list[bytes]) -> list[bytes]:
    """With messages numbered by their order: ids hold places in the stream, where a kill adds notes."""
    ids: dict[bytes, bytes] = {}

    def number(found: re.Match[bytes]) -> bytes:
        return ids.setdefault(found[0], b'"message-%d"' % len(ids))

    return [re.sub(rb'"message-\d+"', number, frame) for frame in frames]


async def test_a_connection_may_be_cut_after_every_message() -> None:
    whole = Trial(iter(()), iter(()))
    expected = await heard(whole)
    assert whole.connections == 1
    for at in range(1, len(expected) + 1):
        trial = Trial(chain([at], repeat(None)), iter(()))
        assert await heard(trial) == expected, f"cut after message {at}"
        assert trial.gate.prompts == TURNS


async def test_every_connection_may_be_cut_and_the_hub_killed_with_it() -> None:
    expected = await heard(Trial(iter(()), iter(())))
    for seed in range(SEEDS):
        trial = trial_of(seed)
        async with staged(agents(trial.gate), journal=Slow(random.Random(seed), 6)) as stage:
            assert numbered(await trial.run(stage, TURNS)) == expected, f"seed {seed}"
        assert trial.gate.prompts == TURNS, f"seed {seed}"
        assert trial.crashed > 0
