"""Seeds of the simulation: nothing is found in them, and each does the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

from tests.hub.simulate.world import SHORT, Outcome, run_seed

PARTS = 4
"""Tests among which the seeds are divided, so that processes can share them."""

SEEDS = int(os.environ.get("DRAGOMAN_SEEDS", SHORT))

SHARED = 16
"""Seeds at which several tests look."""

DIGESTS = """
import sys
from tests.hub.simulate.world import run_seed
print(*(run_seed(int(seed)).digest for seed in sys.argv[1:]))
"""


@cache
def outcome_of(seed: int) -> Outcome:
    """For tests that look at the same seeds: a seed does the same every time."""
    return run_seed(seed)


@pytest.mark.timeout(60 + SEEDS * 2)
@pytest.mark.parametrize("part", range(PARTS))
def test_hubs_keep_their_promises_whatever_goes_wrong(part: int) -> None:
    for seed in range(part, SEEDS, PARTS):
        outcome = outcome_of(seed) if seed < SHARED else run_seed(seed)
        if outcome.findings:
            story = "\n".join(map(str, outcome.happenings[-60:]))
            found = "\n".join(f"FOUND: {finding}" for finding in outcome.findings)
            pytest.fail(f'{story}\n{found}\nThe whole story: make simulate ARGS="--seed {seed}"')


def test_a_seed_does_the_same_every_time() -> None:
    for seed in (0, 4):
        assert run_seed(seed).digest == outcome_of(seed).digest
        assert run_seed(seed, verbose=True).turns == outcome_of(seed).turns


@pytest.mark.timeout(120)
def test_a_seed_does_the_same_in_every_process() -> None:
    """Hashes of texts, addresses of objects and what ran before differ there."""
    seeds = ("2", "5")
    command = [sys.executable, "-c", DIGESTS, *seeds]
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [outcome_of(int(seed)).digest for seed in seeds]


def test_a_simulation_has_turns_and_faults_of_every_kind() -> None:
    """A workload in which nothing happens finds nothing."""
    kinds: set[str] = set()
    turns = 0
    for seed in range(16):
        outcome = outcome_of(seed)
        kinds |= set(outcome.faults)
        turns += outcome.turns
    assert turns > 60
    assert {"crash", "pause", "partition", "full disk", "clock", "agent killed", "client cut"} <= kinds
