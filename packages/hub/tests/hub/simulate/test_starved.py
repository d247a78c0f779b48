"""Nodes that do not run for longer than their lease, while turns are under way: what a starved machine, a
stopped process or a cut network looks like to the others.
"""

from __future__ import annotations

import asyncio
import os
from unittest.mock import patch

import pytest

from dragoman_hub.cluster import membership
from tests.hub.simulate.nodes import LEASE, SimulatedNode
from tests.hub.simulate.world import Outcome, World, run_seed

SEEDS = range(20 if "DRAGOMAN_SEEDS" in os.environ else 3)
ENOUGH = 100
"""Seeds of which one must notice a mistake: half of the starved worlds do, of the others a twentieth."""


class StarvedWorld(World):
    """Again and again the node whose agent is at work does not run for three leases."""

    node_counts = (2, 3)
    is_cut_off = False
    """Whether its network is cut instead: then the hub runs, and cannot renew its lease."""

    async def _storm(self) -> None:
        for _ in range(4):
            busy = await self._until_busy()
            if busy is None:
                return
            if self.is_cut_off:
                self.story.fault("partition", busy.name, "for three leases")
                self._set_cut(busy, is_cut=True)
                await asyncio.sleep(3 * LEASE)
                self._set_cut(busy, is_cut=False)
            else:
                self.story.fault("pause", busy.name, "for three leases")
                busy.process.is_paused = True
                busy.cut_clients(5.0)
                await asyncio.sleep(3 * LEASE)
                self._go_on(busy.process)
            await asyncio.sleep(LEASE)

    async def _until_busy(self) -> SimulatedNode | None:
        for _ in range(2000):
            for node in self.nodes:
                if node.is_up and any(session.state.turn for session in node.hub.sessions.values()):
                    return node
            await asyncio.sleep(0.01)
        return None


class CutOffWorld(StarvedWorld):
    is_cut_off = True


def run_all(kind: type[World]) -> list[Outcome]:
    return [run_seed(seed, kind=kind) for seed in SEEDS]


@pytest.mark.parametrize("kind", [StarvedWorld, CutOffWorld])
def test_a_node_that_has_lost_its_lease_does_nothing_more_for_its_sessions(kind: type[World]) -> None:
    """No agent of it acts once another node has the session; nothing is lost, doubled or answered twice."""
    outcomes = run_all(kind)
    found = {outcome.seed: outcome.findings for outcome in outcomes if outcome.findings}
    assert not found
    assert sum(sum(outcome.faults.values()) for outcome in outcomes) > len(SEEDS)


@pytest.mark.parametrize(
    ("kind", "first"), [(StarvedWorld, 1), pytest.param(CutOffWorld, 18, marks=pytest.mark.slow)]
)
def test_the_simulation_notices_a_node_that_acts_for_longer_than_the_others_wait(
    kind: type[World], first: int
) -> None:
    """The seed that has noticed it before comes first; after a change of the hub it may be another one."""
    with patch.object(membership, "ACTS", 4.0):
        outcomes = (run_seed(seed, kind=kind) for seed in (first, *range(ENOUGH)))
        assert any("acts for" in finding for outcome in outcomes for finding in outcome.findings)
