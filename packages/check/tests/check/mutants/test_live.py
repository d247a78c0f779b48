"""Mutants that run: an agent with one fault each, examined alive as `dragoman check agent` does it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman_check.agent.examination import examine
from dragoman_check.agent.prompts import PromptCatalogue
from dragoman_check.agent.stage import ExaminationSettings
from dragoman_check.verdict import judge

pytestmark = pytest.mark.bound(60)

AGENT = Path(__file__).with_name("agent.py")
PROMPTS = {
    "hello": "hello",
    "tool": "tool {file}",
    "ask": "ask {file}",
    "plan": "plan",
    "slow": "slow",
    "remember": "remember {word}",
    "recall": "recall",
}


async def _found(fault: str, *scenes: str) -> set[str]:
    """The requirements that an examination in some scenes finds broken."""
    settings = ExaminationSettings(
        command=[sys.executable, "-S", "-E", str(AGENT), fault],
        cwd=".",
        patience=60.0,
        catalogue=PromptCatalogue({"default": PROMPTS}),
    )
    examination = await examine(settings, scenes=scenes)
    assert examination.failure == ""
    verdicts = judge(examination.recordings, "agent")
    return {one.requirement for one in verdicts if one.status in ("failed", "warned")}


async def test_nothing_is_held_against_a_good_agent() -> None:
    assert await _found("", "story", "probes", "cancels") == set()


@pytest.mark.parametrize(
    ("fault", "scene", "expected"),
    [
        ("twice", "bare", "RPC-03"),
        ("late", "bare", "TURN-06"),
        ("stranger", "bare", "TURN-07"),
        ("chatter", "bare", "STD-03"),
        ("reason", "bare", "TURN-04"),
        ("backwards", "bare", "TOOL-10"),
        ("fragile", "bare", "TURN-03"),
        ("disobedient", "story", "PERM-09"),
        ("unstoppable", "cancels", "CAN-06"),
        ("mute", "probes", "RPC-10"),
    ],
)
async def test_the_fault_of_an_agent_is_found_and_nothing_else(fault: str, scene: str, expected: str) -> None:
    assert await _found(fault, scene) == {expected}


async def test_an_agent_that_looks_at_no_params_is_found() -> None:
    assert {"SES-03", "SES-23", "LEN-05"} <= await _found("careless", "probes")
