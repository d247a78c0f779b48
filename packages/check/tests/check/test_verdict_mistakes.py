"""A rule that stumbles is a mistake of ours: it is told to the log, and takes no other verdict along."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from dragoman_check import rule as rules
from dragoman_check.conversation import Conversation
from dragoman_check.rule import ConformanceRule, Observation
from dragoman_check.rules import load_all
from dragoman_check.verdict import judge
from tests.check.rules.talks import Talk


def stumble(conversation: Conversation) -> Iterator[Observation]:
    yield Observation(is_kept=False, frames=(1,), why="never told")
    raise KeyError("something a peer said")


def test_a_rule_that_stumbles_takes_no_other_verdict_along(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    load_all()
    recording = Talk().new().prompt("s", "hello").recording
    before = {one.requirement: one.status for one in judge([recording], "agent")}
    recording.__dict__.pop("seen")
    bad = ConformanceRule(
        name="stumble",
        requirements=("TURN-05",),
        side="agent",
        fix="",
        unavoidable=False,
        is_reading=False,
        versions=(1, 2),
        judge=stumble,
    )
    monkeypatch.setattr(rules, "RULES", [*rules.RULES, bad])
    monkeypatch.setattr("dragoman_check.verdict.RULES", rules.RULES)
    with caplog.at_level(logging.ERROR):
        assert {one.requirement: one.status for one in judge([recording], "agent")} == before
    assert "the rule stumble failed (KeyError)" in caplog.text
