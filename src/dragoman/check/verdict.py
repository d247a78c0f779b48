"""Conformance: what a peer did on the wire, judged requirement by requirement, with the frames as evidence.

Every judgement is a rule over a recording (`rules`), so a live examination and a file from somewhere else are
judged by the same code. Scenes make a live peer show what it does; they record, and judge nothing.

From what rules have seen to a verdict on each requirement.

A requirement that showed and was always kept is passed; one that never showed is not exercised, which is no
praise. One violation is enough to fail. Several rules may judge one requirement: the worst counts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.check.applicability import why_not_applicable
from dragoman.check.conversation import Conversation
from dragoman.check.manifest import Requirement, Side, Tier, requirements
from dragoman.check.recording import Recording
from dragoman.check.rule import RULES, ConformanceRule, Observation
from dragoman.check.rules import load_all

log = logging.getLogger(__name__)

Status: TypeAlias = Literal[
    "failed", "warned", "recorded", "passed", "not exercised", "not applicable", "blocked", "waived"
]

_WORST_FIRST: tuple[Tier, ...] = ("fail", "warn", "record")
_STATUS: dict[Tier, Status] = {"fail": "failed", "warn": "warned", "record": "recorded"}

FINDINGS = 20
"""How many findings of one rule are kept: the next thousand say the same."""


class Violation(Struct, frozen=True, kw_only=True):
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
    places: int = 0
    """How many places were judged."""
    broken: int = 0
    findings: list[Violation] = []
    reason: str = ""
    """Why it does not apply, is blocked, or is waived."""


def judge(recordings: Sequence[Recording], side: Side, *, only: Iterable[str] | None = None) -> list[Verdict]:
    """A verdict on each requirement that binds this side, in the catalogue's order."""
    load_all()
    conversations = [Conversation(recording) for recording in recordings]
    ids = None if only is None else set(only)
    rules = [rule for rule in RULES if rule.side == side]
    return [
        _verdict(
            requirement, [rule for rule in rules if requirement.id in rule.requirements], conversations, side
        )
        for requirement in requirements().values()
        if side in requirement.sides and (ids is None or requirement.id in ids)
    ]


def _verdict(
    requirement: Requirement, rules: list[ConformanceRule], conversations: list[Conversation], side: Side
) -> Verdict:
    verdict = Verdict(
        requirement=requirement.id,
        status="not exercised",
        level=requirement.level,
        text=requirement.requirement,
    )
    why_not = why_not_applicable(requirement, conversations, side)
    if why_not:
        verdict.status, verdict.reason = "not applicable", why_not
        return verdict
    tiers: set[Tier] = set()
    for rule in rules:
        for connection, conversation in enumerate(conversations, 1):
            for observation in _ask(rule, conversation):
                verdict.places += 1
                if not observation.is_kept:
                    tiers.add(requirement.tier(unavoidable=rule.unavoidable))
                    verdict.broken += 1
                    _keep(verdict, rule, connection, observation)
    if verdict.places:
        verdict.status = next((_STATUS[tier] for tier in _WORST_FIRST if tier in tiers), "passed")
    return verdict


def _ask(rule: ConformanceRule, conversation: Conversation) -> Iterable[Observation]:
    cache = conversation.recording.__dict__.setdefault(
        "seen", {}
    )  # a rule of several requirements is asked once
    key = (rule.name, rule.side)
    if key not in cache:
        try:
            cache[key] = list(rule.judge(conversation))
        except Exception as error:  # a mistake of ours; it takes no other verdict along
            log.exception("the rule %s failed (%s)", rule.name, type(error).__name__)
            cache[key] = []
    observations: list[Observation] = cache[key]
    return observations


def _keep(verdict: Verdict, rule: ConformanceRule, connection: int, observation: Observation) -> None:
    if sum(finding.rule == rule.name for finding in verdict.findings) < FINDINGS:
        verdict.findings = [
            *verdict.findings,
            Violation(
                rule=rule.name,
                why=observation.why,
                fix=rule.fix,
                connection=connection,
                frames=observation.frames,
            ),
        ]
