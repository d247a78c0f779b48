"""The kill test: three hubs, three servers, fifty sessions, and whatever can happen to them.

`make test-all` runs it, beside everything else. In `make test`, storms are those of the simulation
(`tests/hub/simulate/test_simulate.py`), and the checker that judges this one is tried by `test_checker.py`.
`DRAGOMAN_STORM_SECONDS` says for how long, `DRAGOMAN_STORM_SEED` which storm. By hand, for an hour:
`packages/hub/tests/cluster/run_storm.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cluster.storm import Plan, storm

SECONDS = float(os.environ.get("DRAGOMAN_STORM_SECONDS", "30"))
SEED = int(os.environ.get("DRAGOMAN_STORM_SEED", "1"))
PACE = 3.0
"""Seconds between the updates of a session: others need the processors too."""

AROUND = 300
"""Seconds for starting, settling and judging, on a machine that is busy with other tests."""


@pytest.mark.slow
@pytest.mark.bound(SECONDS + AROUND)
@pytest.mark.timeout(SECONDS + AROUND + 60)
async def test_scl_x1_nothing_is_lost_in_a_storm(tmp_path: Path) -> None:
    result = await storm(tmp_path, Plan(seconds=SECONDS, seed=SEED, pace=PACE), print)
    print(result.summary())
    assert result.findings == [], result.summary()
    assert len(result.storm.sessions) == 50
    assert result.storm.blows or SECONDS < 40
