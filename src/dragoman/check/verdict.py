"""From what rules have seen to a verdict on each requirement.

A requirement that showed and was always kept is passed; one that never showed is not exercised, which is no
praise. One violation is enough to fail. Several rules may judge one requirement: the worst counts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.check.applicability import why_not_applicable
from dragoman.check.manifest import Requirement, Side, Tier, requirements
from dragoman.check.recording import Recording
from dragoman.check.rule import RULES, Rule, Seen
from dragoman.check.story import Story

log = logging.getLogger(__name__)

Status: TypeAlias = Literal[
    "failed", "warned", "recorded", "passed", "not exercised", "not applicable", "blocked", "waived"
]

_WORST_FIRST: tuple[Tier, ...] = ("fail", "warn", "record")
_STATUS: dict[Tier, Status] = {"fail": "failed", "warn": "warned", "record": "recorded"}

FINDINGS = 20
"""How many findings of one rule are kept: the next thousand say the same."""


class Finding(Struct, frozen=True, kw_only=True):
    """One violation, with its evidence."""

    rule: str
    why: str
    fix: str
    connection: int
    """Which recording of the examination, counted from 1."""
    frames: tuple[int, ...]


class Verdict(Struct, kw_only=True):
    """What was found about one requirement."""

    requirement: str
    status: Status
    level: str
    text: str
    seen: int = 0
    """How many places were judged."""
    broken: int = 0
    findings: list[Finding] = []
    reason: str = ""
    """Why it does not apply, is blocked, or is waived."""


def judge(recordings: Sequence[Recording], side: Side, *, only: Iterable[str] | None = None) -> list[Verdict]:
    """A verdict on each requirement that binds this side, in the catalogue's order."""
    from dragoman.check.rules import load_all

    load_all()
    stories = [Story(recording) for recording in recordings]
    wanted = None if only is None else set(only)
    rules = [rule for rule in RULES if rule.side == side]
    return [
        _verdict(requirement, [rule for rule in rules if requirement.id in rule.requirements], stories, side)
        for requirement in requirements().values()
        if side in requirement.sides and (wanted is None or requirement.id in wanted)
    ]


def _verdict(requirement: Requirement, rules: list[Rule], stories: list[Story], side: Side) -> Verdict:
    verdict = Verdict(
        requirement=requirement.id,
        status="not exercised",
        level=requirement.level,
        text=requirement.requirement,
    )
    why_not = why_not_applicable(requirement, stories, side)
    if why_not:
        verdict.status, verdict.reason = "not applicable", why_not
        return verdict
    tiers: set[Tier] = set()
    for one in rules:
        for connection, story in enumerate(stories, 1):
            for seen in _ask(one, story):
                verdict.seen += 1
                if not seen.kept:
                    tiers.add(requirement.tier(unavoidable=one.unavoidable))
                    verdict.broken += 1
                    _keep(verdict, one, connection, seen)
    if verdict.seen:
        verdict.status = next((_STATUS[tier] for tier in _WORST_FIRST if tier in tiers), "passed")
    return verdict


def _ask(one: Rule, story: Story) -> Iterable[Seen]:
    cache = story.recording.__dict__.setdefault("seen", {})  # a rule of several requirements is asked once
    key = (one.name, one.side)
    if key not in cache:
        try:
            cache[key] = list(one.judge(story))
        except Exception as error:  # a mistake of ours; it takes no other verdict along
            log.exception("the rule %s failed (%s)", one.name, type(error).__name__)
            cache[key] = []
    found: list[Seen] = cache[key]
    return found


def _keep(verdict: Verdict, one: Rule, connection: int, seen: Seen) -> None:
    if sum(finding.rule == one.name for finding in verdict.findings) < FINDINGS:
        verdict.findings = [
            *verdict.findings,
            Finding(rule=one.name, why=seen.why, fix=one.fix, connection=connection, frames=seen.frames),
        ]
