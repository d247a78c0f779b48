"""Verdicts: a peer's behaviour, judged by requirement, with the frames as evidence.

Every judgement is a rule over a recording (`rules`), so a live examination and a file from somewhere else are
judged by the same code. Scenes make a live peer show what it does; they record, and judge nothing.

From what rules have seen to a verdict on each requirement.

A requirement that showed and was always kept is passed, with the frames that show it; one that never showed
is not exercised, which is not a praise, and says why. One violation is enough to fail. Several rules may
judge one requirement: the worst counts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman_check.applicability import NEVER_SHOWN, why_not_applicable, why_not_exercised
from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Requirement, Side, Tier, requirements
from dragoman_check.recording import Recording
from dragoman_check.rule import RULES, ConformanceRule, Observation, direction_from
from dragoman_check.rules import load_all

log = logging.getLogger(__name__)

Status: TypeAlias = Literal[
    "failed", "warned", "recorded", "passed", "not exercised", "not applicable", "blocked", "waived"
]

_WORST_FIRST: tuple[Tier, ...] = ("fail", "warn", "record")
_STATUS: dict[Tier, Status] = {"fail": "failed", "warn": "warned", "record": "recorded"}

FINDINGS = 20
"""The most findings of one rule to keep: the next thousand are the same."""

EVIDENCE = 3
"""The most places of a kept requirement to name."""


VALUE_AREAS = frozenset({"LST", "MODE", "CFG"})
VALUES = frozenset({"RPC-24", "LEN-06", "SES-17", "LOAD-14", "RES-05"})
"""Requirements about values that a peer can put into a session: folders, modes, options."""


class Violation(Struct, frozen=True, kw_only=True):
    """One violation, with its evidence."""

    rule: str
    why: str
    fix: str
    connection: int
    """The recording of the test, counted from 1."""
    frames: tuple[int, ...]


class ObservedPlace(Struct, frozen=True):
    """A place where a requirement was kept."""

    connection: int
    frames: tuple[int, ...]


class Verdict(Struct, kw_only=True):
    """The result for one requirement."""

    requirement: str
    status: Status
    level: str
    text: str
    places: int = 0
    """The number of judged places."""
    broken: int = 0
    evidence: list[ObservedPlace] = []
    """The first places where it was kept. Without one, it is not passed."""
    findings: list[Violation] = []
    reason: str = ""
    """The reason why it does not apply, was not exercised, is blocked, or is waived."""


def judge(recordings: Sequence[Recording], side: Side, *, only: Iterable[str] | None = None) -> list[Verdict]:
    """Return a verdict on each requirement that binds this side, in the catalogue's order."""
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
    why_not = why_not_exercised(requirement, conversations, side)
    for rule in rules:
        for connection, conversation in enumerate(conversations, 1):
            for observation in _ask(rule, conversation):
                if observation.is_kept and why_not:
                    continue  # nothing was there that could have broken it
                is_about_values = requirement.area in VALUE_AREAS or requirement.id in VALUES
                if not observation.is_kept and is_about_values and _is_echo(conversation, side, observation):
                    continue  # the peer's own mistake comes back
                verdict.places += 1
                if observation.is_kept:
                    _remember(verdict, connection, observation)
                else:
                    tiers.add(requirement.tier(unavoidable=rule.unavoidable, is_reading=rule.is_reading))
                    verdict.broken += 1
                    _keep(verdict, rule, connection, observation)
    _conclude(verdict, tiers, why_not)
    return verdict


def _conclude(verdict: Verdict, tiers: set[Tier], why_not: str) -> None:
    """The one place where a requirement passes: only with evidence."""
    if tiers:
        verdict.status = next(_STATUS[tier] for tier in _WORST_FIRST if tier in tiers)
    elif verdict.evidence:
        verdict.status = "passed"
    else:
        verdict.status, verdict.reason = "not exercised", why_not or NEVER_SHOWN


def _remember(verdict: Verdict, connection: int, observation: Observation) -> None:
    if len(verdict.evidence) < EVIDENCE:
        verdict.evidence = [*verdict.evidence, ObservedPlace(connection, observation.frames)]


def _is_echo(conversation: Conversation, side: Side, observation: Observation) -> bool:
    """Whether what a side says is wrong after it took something wrong from its peer.

    A mode that nobody offered, or a folder that is not an absolute path, comes back in later answers. That it
    was taken is held against the reader; what comes of it is not a fault of its own.
    """
    since = conversation.compute_once(("misled", side), lambda: _misled_since(conversation, side))
    return since is not None and all(
        number > since and conversation.frames[number - 1].direction == direction_from(side)
        for number in observation.frames
    )


def _misled_since(conversation: Conversation, side: Side) -> int | None:
    """From which answer on a side works with something wrong that it took; a handshake leaves nothing."""
    broken = {
        number
        for rule in RULES
        if rule.side == side and rule.is_reading
        for observation in _ask(rule, conversation)
        if not observation.is_kept
        for number in observation.frames
    }
    answers = [
        exchange.answer.number
        for exchange in conversation.exchanges
        if exchange.answer is not None and exchange.has_result and exchange.method != "initialize"
    ]
    return min(broken.intersection(answers), default=None)


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
