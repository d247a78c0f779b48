"""The decision about one effect of an agent; `run`, `chat`, interpreters and the hub share it.

A `PermissionJudge` decides in this order: the policy with its remembered answers, then permissions that were
granted once for the same act. What remains is `ask`, and whoever owns the judge asks a person. Every decision
goes through `settle`, which writes it to the audit log before it takes effect; a decision that cannot be
written permits nothing.

It blocks for as long as a line of the log takes. It asks nobody and knows no connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, Literal
from weakref import WeakValueDictionary

from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.system.files import open_regular
from dragoman_local.workspace.lent_files import Access
from dragoman_local.workspace.policy.act import Act, ActContext
from dragoman_local.workspace.policy.act_reader import act_of_command, act_of_file
from dragoman_local.workspace.policy.audit import AuditLog, By, audit_entry
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.grants import Grants
from dragoman_local.workspace.policy.options import choose_option, usable_options
from dragoman_local.workspace.policy.partial_words import is_known
from dragoman_local.workspace.policy.permission_prompt import PermissionChoice, Settlement
from dragoman_local.workspace.policy.policy import Policy
from dragoman_local.workspace.policy.policy_parser import PolicyError, read_policy
from dragoman_local.workspace.policy.remembered_rules import (
    NOT_KEPT,
    RememberedRules,
    allow_line,
    cover_text,
    rule_text,
)

log = logging.getLogger(__name__)

SHOWN_BEFORE: Final = 1024 * 1024
"""Bytes of a file up to which an act that writes it holds what is there now."""

MOST_WORDS: Final = 300
"""Words of a command that are looked up on the disk."""

LENT_OPTIONS: Final = (
    v1.PermissionOption(option_id="allow", name="Yes, this once", kind="allow_once"),
    v1.PermissionOption(option_id="always", name="Yes, always", kind="allow_always"),
    v1.PermissionOption(option_id="reject", name="No", kind="reject_once"),
)
"""What a person may answer when an agent uses something that is lent."""


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
        self.grants = Grants()
        # A lock is there for as long as somebody holds it or waits for it.
        self._turnstiles: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def decide(self, act: Act, policy: Policy) -> PolicyDecision:
        """What the rules, the remembered answers and the granted permissions say; `ask` if none of them does.

        A granted permission is used up by the decision that it makes.
        """
        decision = policy.decide(act)
        if decision.outcome == "ask" and act.method != "permission" and self.grants.use(act):
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
        if decision.outcome != "allow":
            self.grants.take_back(act)
        elif act.method == "permission":
            self.grants.add(act)
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

    def note(
        self, act: Act, decision: PolicyDecision, *, outcome: Literal["ask", "deny"], by: By = "policy"
    ) -> None:
        """Write a question or its end down. They permit nothing, and so hold also if that is not possible."""
        why = decision.why if outcome == "ask" else why_of(None, by)
        try:
            line = PolicyDecision(outcome=outcome, rule=decision.rule, why=why)
            self.write(act, line, by=by, option=None)
        except OSError:
            log.exception("the audit log cannot be written; nothing is permitted until it can")

    # Answers that are given for good.

    def settle_choice(
        self,
        act: Act,
        decision: PolicyDecision,
        options: Sequence[v1.PermissionOption],
        choice: PermissionChoice,
        policy: Policy,
    ) -> Settlement:
        """Write a person's answer down, and keep it if it was given for good: all that before anybody hears
        of it. `decision` is why it was asked.
        """
        kind = next(
            (each.kind for each in usable_options(options) if each.option_id == choice.option_id), None
        )
        outcome: Literal["allow", "deny"] = "allow" if kind in ("allow_once", "allow_always") else "deny"
        answer = PolicyDecision(outcome=outcome, rule=decision.rule, why=why_of(kind, choice.by))
        option = None if kind is None else choice.option_id
        settlement = self.settle(act, answer, options, option, by=choice.by, person=choice.person)
        if settlement.decision.outcome == outcome and kind in ("allow_always", "reject_always"):
            return settlement._replace(kept=self._remember(act, outcome, policy))
        return settlement

    def _remember(self, act: Act, outcome: Literal["allow", "deny"], policy: Policy) -> str:
        """Keep an answer as a rule; the rule, or nothing if it was not kept. The answer counts also if it was
        not: the next question of its kind is then asked again.
        """
        if self._remembered_rules is None or not self._would_hold(act, outcome, policy):
            return ""
        try:
            return self._remembered_rules.remember(act, outcome, now=self._now()) or ""
        except (OSError, PolicyError) as error:
            log.warning("an answer could not be kept: %s", error)
            return ""

    def with_remembered(self, policy: Policy) -> Policy:
        """A policy with the answers that are remembered now."""
        try:
            return (
                replace(policy, remembered_rules=self._remembered_rules.rules())
                if self._remembered_rules
                else policy
            )
        except PolicyError as error:
            log.warning("remembered answers cannot be read: %s", error)
            return policy

    def cover_of_always(self, act: Act, policy: Policy) -> str:
        """What a yes for good would cover, as a sentence."""
        return cover_text(act) if self._would_hold(act, "allow", policy) else NOT_KEPT

    def _would_hold(self, act: Act, outcome: Literal["allow", "deny"], policy: Policy) -> bool:
        """Whether an answer can be kept, and would then answer this act: where the policy wants a person, it
        asks whatever is remembered.
        """
        text = None if self._remembered_rules is None else rule_text(act, outcome, now=self._now())
        if text is None:
            return False
        rules = read_policy(text, "the answer").rules
        return replace(policy, remembered_rules=rules).decide(act).outcome == outcome

    def with_remedy(self, act: Act, decision: PolicyDecision, policy: Policy) -> PolicyDecision:
        """A denial with the command line with which a person allows it for good, if that would."""
        line = allow_line(act)
        return replace(decision, remedy=line) if line and self._would_hold(act, "allow", policy) else decision

    def turnstile(self, session_id: str) -> asyncio.Lock:
        """Whoever decides beside the loop holds it meanwhile: questions of a session stay in their order."""
        return self._turnstiles.setdefault(session_id, asyncio.Lock())

    def take_back(self, act: Act, settlement: Settlement) -> None:
        """What was granted has no effect any more: it had ended before the answer counted."""
        self.grants.take_back(act)
        if self._remembered_rules is not None and settlement.kept:
            self._remembered_rules.take_back(settlement.kept)


def act_of_access(access: Access, setting: ActContext) -> Act:
    """What an agent wants of something that is lent."""
    command = access.command
    if command is not None:
        return act_of_command(
            command.words,
            setting,
            line=command.shell_line,
            cwd=command.cwd,
            variables=command.assignments or command.env_names,
            session_id=access.session_id,
        )
    kind: Literal["read", "write", "search"] = (
        "write" if access.kind == "write" else "search" if access.kind == "search" else "read"
    )
    text = access.text if kind == "write" else None
    return act_of_file(kind, access.path, setting, session_id=access.session_id, text=text)


def with_real_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as they are said, and where they really lead: text alone would not tell."""
    return tuple(dict.fromkeys([*paths, *(os.path.realpath(path) for path in paths if "\0" not in path)]))


def resolve(act: Act, *, reads: bool = True) -> Act:
    """An act with what the disk says of it: where its paths and the links in its command really lead, where
    the command starts, and what a file that it writes holds now, unless the file is another machine's
    (`reads`). Blocks.
    """
    real = {path: os.path.realpath(path) for path in act.paths if "\0" not in path}
    is_write = act.method == "fs/write" and reads
    changes = [
        replace(
            change,
            path=real.get(change.path, change.path),
            old=_text_of(change.path) if is_write else change.old,
        )
        for change in act.changes
    ]
    links = list(_links_in(act)) if reads else []
    leaves = [folder for folder in _real_folders(act) if not act.is_in_roots(folder)] if act.roots else []
    doubts = [f"a link leads to a folder outside the session: {folder}" for folder in leaves[:1]]
    return replace(
        act,
        paths=tuple(dict.fromkeys([*act.paths, *real.values()])),
        real_paths=tuple(dict.fromkeys(real.values())),
        real_start="" if act.script is None else os.path.realpath(act.start),
        changes=tuple(changes),
        possible_places=(*act.possible_places, *links),
        doubts=(*act.doubts, *doubts),
    )


def _links_in(act: Act) -> Iterator[str]:
    """Where words of a command really lead that are links, or lead through one."""
    if act.script is None:
        return
    words = [word for command in act.script.commands for word in command if word and "\0" not in word]
    for word in dict.fromkeys(words[:MOST_WORDS]):
        path = os.path.join(act.start, os.path.expanduser(word))
        if os.path.lexists(path) and (real := os.path.realpath(path)) != os.path.normpath(path):
            yield real


def _real_folders(act: Act) -> Iterator[str]:
    """The folders to which a command goes; those that text alone cannot tell are told by the rules."""
    for folder in list(act.folders())[1:] if act.script is not None else ():
        if is_known(folder) and os.path.realpath(folder) != folder:
            yield os.path.realpath(folder)


def _text_of(path: str) -> str | None:
    """What a file holds now, if a person can read it."""
    try:
        with open_regular(path) as file:
            data = file.read(SHOWN_BEFORE + 1)
        return data.decode() if len(data) <= SHOWN_BEFORE else None
    except (OSError, UnicodeDecodeError):
        return None


_ENDS: Final = {"deadline": "nobody answered within the time for it", "cancel": "the question was taken back"}


def why_of(kind: str | None, by: By) -> str:
    """Why a question that was asked was decided so; `kind` is that of the option that was chosen."""
    return _ENDS.get(by) or ("a person chose nothing" if kind is None else "a person said so")


def _deny(decision: PolicyDecision, why: str) -> PolicyDecision:
    return PolicyDecision(outcome="deny", rule=decision.rule, why=why)
