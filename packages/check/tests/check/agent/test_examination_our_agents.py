"""The agent that does all that an agent can do, examined in every scene."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_check.agent.examination import examine
from dragoman_check.agent.stage import ExaminationSettings
from dragoman_check.verdict import judge
from tests.forks import DRAGOMAN

ENDED_EARLY = {"died", "silent", "hung", "unanswered", "flood", "stumbled"}
ECHO = [*DRAGOMAN, "agent", "echo"]


@pytest.mark.bound(200)
@pytest.mark.timeout(220)
async def test_the_echo_agent_has_no_failure_and_shows_most_of_what_is_judged(tmp_path: Path) -> None:
    # As much patience as it takes, and no clock: how fast a busy machine is, is not the question.
    chosen = ExaminationSettings(command=ECHO, cwd=str(tmp_path), patience=180, jobs=6, clock=lambda: 0.0)
    found = await examine(chosen)
    assert found.failure == found.profile.blocked_by == ""
    assert not [one.facts for one in found.recordings if one.facts.keys() & ENDED_EARLY]
    verdicts = judge(found.recordings, "agent")
    failures = [
        (one.requirement, finding.why, found.recordings[finding.connection - 1].facts["scene"])
        for one in verdicts
        if one.status == "failed"
        for finding in one.findings
    ]
    assert failures == []
    assert sum(one.status == "passed" for one in verdicts) > 100
