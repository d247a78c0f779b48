"""On recordings of real agents, the trial of a policy says what the judge of a live session says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman_local.journal.transcript import read_transcript
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog
from dragoman_local.workspace.policy.policy import Policy, PolicyLayer
from dragoman_local.workspace.policy.policy_parser import read_policy
from dragoman_local.workspace.proof.policy_trial import PolicyTrial, Verdict, count
from dragoman_local.workspace.proof.recorded_acts import ActFold, RecordedAct
from tests.interop.test_recorded_consent import RECORDINGS, play, recorded_lines

RULES = """
[[rule]]
decision = "deny"
command = "sleep"
[[rule]]
decision = "allow"
command = ["echo run-step", "ls"]
[[rule]]
decision = "allow"
kind = "edit"
agent = "no such agent"
"""
POLICIES = [Policy(), Policy(layers=(PolicyLayer(name="rules", rules=read_policy(RULES, "rules").rules),))]


class ListedDecisions(AuditLog):
    """A log of outcomes, in memory: `ask` where a person was asked."""

    def __init__(self) -> None:
        super().__init__("")
        self.outcomes: list[str] = []

    def append(self, line: AuditEntry) -> None:
        self.outcomes.append("ask" if line.by == "person" else line.outcome)


def verdicts(lines: list[str], policy: Policy) -> list[Verdict]:
    fold = ActFold(stream="one", home=os.path.expanduser("~"))
    acts: list[RecordedAct] = []
    for sequence, entry in enumerate(read_transcript([f"{line}\n".encode() for line in lines]), 1):
        acts += fold.add_runs(sequence, [(entry.direction, [entry.frame], entry.time, False)])
    return count([*acts, *fold.finish()], PolicyTrial(lambda roots: policy))[1]


@pytest.mark.skipif(not RECORDINGS, reason="needs recordings of other people's programs in ../shared/wire")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
@pytest.mark.parametrize("policy", POLICIES, ids=["without", "with rules"])
async def test_a_trial_says_of_a_recorded_agent_what_was_said_live(
    path: Path, policy: Policy, tmp_path: Path
) -> None:
    lines = recorded_lines(path, tmp_path)
    found = verdicts(lines, policy)
    judged = [each for each in found if each.recorded.source != "announced" and each.act.method != "fs/read"]
    live = ListedDecisions()
    await play(path, tmp_path, policy, audit=live)
    assert [each.decision.outcome for each in judged] == live.outcomes
    assert live.outcomes
    assert {each.recorded.flaw for each in found} <= {""}
    assert found == verdicts(lines, policy)
