"""A policy at the hub: what it allows or denies is answered before anybody is asked (docs/policy.md)."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Raw, Struct
from msgspec.structs import replace

from dragoman.hub.frames import encoded
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman.workspace.policy.audit import AuditLog, entry
from dragoman.workspace.policy.decision import Decision
from dragoman.workspace.policy.loading import load, places, read_file
from dragoman.workspace.policy.options import choose
from dragoman.workspace.policy.question import Question, Setting, about_tool_call
from dragoman.workspace.policy.reading import PolicyError

if TYPE_CHECKING:
    from dragoman.hub.recall import OpenRequest
    from dragoman.hub.session import HubSession

log = logging.getLogger(__name__)


class Verdict(Struct, frozen=True):
    """The answer, if the policy gives one, and the rule by which."""

    result: Raw | None
    rule: str = ""


class Judge:
    """One policy for all sessions of a hub; the project's own is behind it. The hub's file is read when the
    hub starts and when it is told to: a mistake in it changes nothing until it is mended.
    """

    def __init__(self, file: str, *, audit: AuditLog | None = None) -> None:
        """Raises `PolicyError` for a file that cannot be used; without a file, people answer everything."""
        self._file = file
        self._rules = read_file(file) if file else None
        self._audit = audit

    def load(self, file: str) -> None:
        """Read the hub's policy anew. Raises `PolicyError`, and then the old one holds."""
        self._rules = read_file(file) if file else None
        self._file = file

    def about(self, session: HubSession, one: OpenRequest) -> Verdict:
        """What cannot be read, or cannot be written down, is left to people."""
        if self._rules is None:
            return Verdict(None)
        roots = [session.memory.cwd, *session.memory.folders]
        try:
            request = read(one.params, v1.RequestPermissionRequest)
            policy = load(roots=roots, file=self._file, rules=self._rules, approve="none")
        except (SchemaError, PolicyError, ValueError, OSError) as error:
            log.warning("session %s: a request for permission is left to people: %s", session.id, error)
            return Verdict(None)
        setting = Setting(agent=session.memory.agent, roots=_and_real(roots), home=places().home)
        question = about_tool_call(request.tool_call, setting, session_id=session.id)
        question = replace(question, paths=_and_real(question.paths))
        decision = policy.decide(question)
        rule = str(decision.rule or decision.why)
        if decision.outcome == "ask":
            return Verdict(None, rule)
        option = choose("allow" if decision.outcome == "allow" else "deny", request.options)
        if not self._written(question, decision, option) or option is None:
            return Verdict(None, rule)
        outcome = {"outcome": {"outcome": "selected", "optionId": option}}
        return Verdict(Raw(encoded(outcome)), rule)

    def _written(self, question: Question, decision: Decision, option: str | None) -> bool:
        if self._audit is None:
            return True
        try:
            self._audit.append(entry(question, decision, by="policy", option=option, time=datetime.now(UTC)))
        except OSError:
            log.exception("the audit log cannot be written; nothing is decided until it can")
            return False
        return True


def refusal_of(one: OpenRequest, *, cancel: bool) -> bytes:
    """How a request is answered that nobody answers."""
    if one.method != "session/request_permission":
        return encoded({"action": "cancel" if cancel else "decline"})
    if not cancel:
        try:
            request = read(one.params, v1.RequestPermissionRequest)
        except SchemaError:
            request = None
        option = None if request is None else choose("deny", request.options)
        if option is not None:
            return encoded({"outcome": {"outcome": "selected", "optionId": option}})
    return encoded({"outcome": {"outcome": "cancelled"}})


def _and_real(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as they are said, and where they really lead: text alone would not tell."""
    return tuple(dict.fromkeys([*paths, *(os.path.realpath(path) for path in paths if "\0" not in path)]))
