"""The decision about one effect of an agent; `run`, `chat`, interpreters and the hub share it.

A `PermissionJudge` decides in this order: the policy with its remembered answers, then permissions that were
granted once for the same act. What remains is `ask`, and whoever owns the judge asks a person. Every decision
goes through `settle`, which writes it to the audit log before it takes effect; a decision that cannot be
written permits nothing.

It blocks for as long as a line of the log takes. It asks nobody and knows no connection.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from dragoman.schema import v1
from dragoman.workspace.lent_files import Access
from dragoman.workspace.policy.act import (
    READS,
    Act,
    ActContext,
    act_of_command,
    act_of_file,
)
from dragoman.workspace.policy.audit import AuditLog, By, audit_entry
from dragoman.workspace.policy.decision import PolicyDecision
from dragoman.workspace.policy.options import choose_option
from dragoman.workspace.policy.policy import Policy
from dragoman.workspace.policy.policy_parser import PolicyError
from dragoman.workspace.policy.programs import is_harmless
from dragoman.workspace.policy.remembered_rules import RememberedRules, rule_text
from dragoman.workspace.policy.rules import PolicyRule

log = logging.getLogger(__name__)

MOST_GRANTS: Final = 256
"""Granted and not used yet; the oldest are forgotten, and asked about again."""

LENT_OPTIONS: Final = (
    v1.PermissionOption(option_id="allow", name="Yes, this once", kind="allow_once"),
    v1.PermissionOption(option_id="always", name="Yes, always", kind="allow_always"),
    v1.PermissionOption(option_id="reject", name="No", kind="reject_once"),
)
"""What a person may answer when an agent uses something that is lent."""

GrantKey: TypeAlias = tuple[str, str, str]
"""Session, verb and object: what a permission was granted for."""


class Settlement(NamedTuple):
    """What holds after a decision was written down."""

    decision: PolicyDecision
    option: str | None
    """The option that the agent is told; None if it is told that nothing was chosen."""


class PermissionJudge:
    """Constructing one reads and writes nothing. It may be used for any number of sessions."""

    def __init__(
        self,
        *,
        audit: AuditLog | None = None,
        remembered_rules: RememberedRules | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._audit = audit
        self._remembered_rules = remembered_rules
        self._now = now
        self._grants: deque[GrantKey] = deque(maxlen=MOST_GRANTS)

    def decide(self, act: Act, policy: Policy) -> PolicyDecision:
        """What the rules, the remembered answers and the granted permissions say; `ask` if none of them does.

        A granted permission is used up by the decision that it makes.
        """
        decision = policy.decide(act)
        if decision.outcome == "ask" and self._use_grant(act):
            why = "a request for permission was granted for it"
            return PolicyDecision(outcome="allow", rule=decision.rule, why=why)
        return decision

    def settle(
        self,
        act: Act,
        decision: PolicyDecision,
        options: Sequence[v1.PermissionOption],
        option: str | None,
        *,
        by: By,
        person: str = "",
    ) -> Settlement:
        """Write a decision down. An `allow` that no option says, or that cannot be written, is a `deny`."""
        if decision.outcome == "allow" and option is None:
            decision = _deny(decision, f"{decision.why}; but no option that was offered says so")
        try:
            self.write(act, decision, by=by, person=person, option=option)
        except OSError:
            log.exception("the audit log cannot be written; nothing is permitted until it can")
            if decision.outcome == "allow":
                decision = _deny(decision, "the audit log cannot be written")
                option = choose_option("deny", options)
        if decision.outcome == "allow" and act.method == "permission":
            self._grants.extend(_keys(act))
        return Settlement(decision, option)

    def write(
        self,
        act: Act,
        decision: PolicyDecision,
        *,
        by: By,
        option: str | None,
        person: str = "",
    ) -> None:
        """Append one line to the audit log; raises `OSError` if that is not possible."""
        if self._audit is not None:
            line = audit_entry(act, decision, by=by, person=person, option=option, time=self._now())
            self._audit.append(line)

    # Answers that are given for good.

    def remember(self, act: Act, outcome: Literal["allow", "deny"]) -> tuple[PolicyRule, ...] | None:
        """Keep an answer as a rule; all remembered rules, or None if it was not kept. The answer counts also
        if it was not: the next question of its kind is then asked again.
        """
        if self._remembered_rules is None:
            return None
        try:
            if not self._remembered_rules.remember(act, outcome, now=self._now()):
                return None
            return self._remembered_rules.rules()
        except (OSError, PolicyError) as error:
            log.warning("an answer could not be kept: %s", error)
            return None

    def can_remember(self, act: Act) -> bool:
        return self._remembered_rules is not None and rule_text(act, "allow", now=self._now()) is not None

    # Permissions that were granted once.

    def _use_grant(self, act: Act) -> bool:
        keys = _keys(act)
        if act.method == "permission" or not keys or not all(map(self._is_granted, keys)):
            return False
        for key in keys:
            if key in self._grants:
                self._grants.remove(key)
        return True

    def _is_granted(self, key: GrantKey) -> bool:
        session_id, verb, path = key
        # Whoever may change a file may look at it first, and then still change it.
        return key in self._grants or (verb == "read" and (session_id, "edit", path) in self._grants)

    def forget(self, session_id: str) -> None:
        """Drop the permissions that a session was granted and has not used."""
        remaining = [key for key in self._grants if key[0] != session_id]
        self._grants.clear()
        self._grants.extend(remaining)


def act_of_access(access: Access, setting: ActContext) -> Act:
    """What an agent wants of something that is lent."""
    command = access.command
    if command is not None:
        return act_of_command(
            command.words,
            setting,
            cwd=command.cwd,
            variables=command.assignments or command.env_names,
            session_id=access.session_id,
        )
    kind: Literal["read", "write", "search"] = (
        "write" if access.kind == "write" else "search" if access.kind == "search" else "read"
    )
    return act_of_file(kind, access.path, setting, session_id=access.session_id)


def with_real_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as they are said, and where they really lead: text alone would not tell."""
    return tuple(dict.fromkeys([*paths, *(os.path.realpath(path) for path in paths if "\0" not in path)]))


def _keys(act: Act) -> Sequence[GrantKey]:
    """What a question is about, as things that can be compared: files, or one command."""
    if act.script is not None:
        # The same words elsewhere, or with variables that change what they do, are another command.
        changing = sorted(
            variable for variable in act.variables if not is_harmless(variable.partition("=")[0])
        )
        script = act.script
        text = repr(script.commands) if script.objection is None else script.text
        return [(act.session_id, "run", repr((text, os.path.realpath(act.start), changing)))]
    if act.kinds <= {"edit"}:
        return [(act.session_id, "edit", path) for path in act.paths]
    if act.kinds <= READS:
        return [(act.session_id, "read", path) for path in act.paths]
    return []


def _deny(decision: PolicyDecision, why: str) -> PolicyDecision:
    return PolicyDecision(outcome="deny", rule=decision.rule, why=why)
