"""All mutants, and the judgement of one."""

from __future__ import annotations

from dragoman_check.recording import Recording
from dragoman_check.verdict import Status, judge
from tests.check.mutants import (
    planted_answers,
    planted_by_client,
    planted_client_corners,
    planted_corners,
    planted_handshake,
    planted_lines,
    planted_refusals,
    planted_second,
    planted_sessions,
    planted_settings,
    planted_tools,
    planted_turns,
)
from tests.check.mutants.changes import Mutant
from tests.check.mutants.good import GOOD

MUTANTS: list[Mutant] = [
    *planted_handshake.PLANTED,
    *planted_lines.PLANTED,
    *planted_turns.PLANTED,
    *planted_tools.PLANTED,
    *planted_sessions.PLANTED,
    *planted_settings.PLANTED,
    *planted_refusals.PLANTED,
    *planted_by_client.PLANTED,
    *planted_answers.PLANTED,
    *planted_corners.PLANTED,
    *planted_client_corners.PLANTED,
    *planted_second.PLANTED,
]


def recording_of(mutant: Mutant) -> Recording:
    """The good conversation with the one change."""
    talk = GOOD[mutant.talk][0]()
    mutant.change(talk)
    return talk.recording()


def statuses(mutant: Mutant) -> dict[str, Status]:
    """What was found about the requirements that a mutant breaks."""
    found = judge([recording_of(mutant)], mutant.side, only=mutant.expected)
    return {verdict.requirement: verdict.status for verdict in found}


def is_caught(mutant: Mutant) -> bool:
    return any(status in ("failed", "warned") for status in statuses(mutant).values())
