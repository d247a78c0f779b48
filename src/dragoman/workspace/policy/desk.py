"""Where permissions are decided: by the policy, or by a person whom it says to ask; and always written down.

    desk = PermissionDesk(policy, asker=asker, audit=log, agent="claude", roots=["/project"])
    client.request_permission(desk.permission)
    workspace = Workspace(guard=desk.guard)

A decision is in the log before it takes effect; if it cannot be written there, nothing is permitted. When a
turn is cancelled, the client answers open requests; the question to the person is taken back, and that too
is written down. What a permission request was granted is not asked again when the agent then uses the client
to do it: once, for the same file or the same command, in the same session.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.workspace.lending import Access
from dragoman.workspace.policy.asking import Asked, Asker
from dragoman.workspace.policy.audit import AuditLog, entry
from dragoman.workspace.policy.decision import Decision
from dragoman.workspace.policy.options import choose, selected, usable_options
from dragoman.workspace.policy.policy import Policy
from dragoman.workspace.policy.programs import is_harmless
from dragoman.workspace.policy.question import Question, Setting, about_command, about_file, about_tool_call
from dragoman.workspace.policy.reading import PolicyError
from dragoman.workspace.policy.remembered import Remembered, rule_text
from dragoman.workspace.policy.rendering import render_question
from dragoman.workspace.policy.texts import texts_in
from dragoman.workspace.refusals import FORBIDDEN, refusal

log = logging.getLogger(__name__)

Known: TypeAlias = Callable[[str, str], v1.ToolCallUpdate | None]
"""What was said before about a tool call, by the ids of its session and of itself."""

MOST_GRANTS: Final = 256
"""Granted and not used yet; the oldest are forgotten, and asked about again."""

MOST_DENIED: Final = 1000
"""How many refusals are kept for whoever looks; the log has all."""

_OWN_OPTIONS: Final = (
    v1.PermissionOption(option_id="allow", name="Yes, this once", kind="allow_once"),
    v1.PermissionOption(option_id="always", name="Yes, always", kind="allow_always"),
    v1.PermissionOption(option_id="reject", name="No", kind="reject_once"),
)


class PermissionDesk:
    """Constructing one starts nothing. `denied` holds what was not permitted, in order."""

    def __init__(
        self,
        policy: Policy,
        *,
        asker: Asker | None = None,
        audit: AuditLog | None = None,
        remembered: Remembered | None = None,
        agent: str = "",
        roots: Sequence[str] = (),
        home: str | None = None,
        known: Known | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.policy = policy
        self.denied: deque[tuple[Question, Decision]] = deque(maxlen=MOST_DENIED)
        self._asker = asker
        self._audit = audit
        self._remembered = remembered
        self._known = known
        self._now = now
        self._home = os.path.expanduser("~") if home is None else home
        self._default = Setting(agent=agent, roots=_and_real(roots), home=self._home)
        self._sessions: dict[str, Setting] = {}
        self._grants: deque[tuple[str, str, str]] = deque(maxlen=MOST_GRANTS)

    def open(self, session_id: str, *, roots: Sequence[str], agent: str | None = None) -> None:
        """Say where a session lives, if not where the desk does."""
        name = self._default.agent if agent is None else agent
        self._sessions[session_id] = Setting(agent=name, roots=_and_real(roots), home=self._home)

    # The two doors.

    async def permission(
        self, request: v1.RequestPermissionRequest, agent: object = None
    ) -> v1.RequestPermissionResponse:
        """Answer `session/request_permission`."""
        call = request.tool_call
        known = self._known(request.session_id, call.tool_call_id) if self._known is not None else None
        setting = self._setting(request.session_id)
        question = about_tool_call(call, setting, session_id=request.session_id, known=known)
        # What a link leads to counts as well: text alone would not tell.
        question = replace(question, paths=await asyncio.to_thread(_and_real, question.paths))
        shown = known if known is not None and not _tells_more(call) else call
        option = await self._answer(
            question, request.options, lambda: render_question(question, shown), lambda: texts_in(shown)
        )
        return selected(option)

    async def guard(self, access: Access) -> None:
        """Permit an access to something that is lent, or raise."""
        question = self._about(access)
        text = access.text if access.kind == "write" else None
        written = () if text is None else (v1.Diff(path=access.path, new_text=text),)
        option = await self._answer(
            question, _OWN_OPTIONS, lambda: render_question(question, text=text), lambda: written
        )
        if option not in ("allow", "always"):
            raise refusal(FORBIDDEN, "policy", "the policy of this client does not permit it")

    def _about(self, access: Access) -> Question:
        setting = self._setting(access.session_id)
        command = access.command
        if command is not None:
            return about_command(
                command.words,
                setting,
                cwd=command.cwd,
                variables=command.assignments or command.env_names,
                session_id=access.session_id,
            )
        kind: Literal["read", "write", "search"] = (
            "write" if access.kind == "write" else "search" if access.kind == "search" else "read"
        )
        return about_file(kind, access.path, setting, session_id=access.session_id)

    def _setting(self, session_id: str) -> Setting:
        return self._sessions.get(session_id, self._default)

    # Deciding.

    async def _answer(
        self,
        question: Question,
        options: Sequence[v1.PermissionOption],
        render: Callable[[], str],
        texts: Callable[[], tuple[v1.Diff, ...]],
    ) -> str | None:
        decision = self.policy.decide(question)
        if decision.outcome == "ask" and self._was_granted(question):
            why = "a request for permission was granted for it"
            decision = Decision(outcome="allow", rule=decision.rule, why=why)
        if decision.outcome == "ask" and self._asker is not None:
            return await self._ask(self._asker, question, decision, options, render, texts)
        if decision.outcome == "ask":
            why = f"{decision.why}; it would be asked, and nobody is there"
            decision = Decision(outcome="deny", rule=decision.rule, why=why)
        option = choose("allow" if decision.outcome == "allow" else "deny", options)
        return await self._settled(question, decision, options, option, by="policy")

    async def _ask(
        self,
        asker: Asker,
        question: Question,
        decision: Decision,
        options: Sequence[v1.PermissionOption],
        render: Callable[[], str],
        texts: Callable[[], tuple[v1.Diff, ...]],
    ) -> str | None:
        offered = tuple(usable_options(options))
        own = self._own_always(question, offered)
        usable = offered if own is None else (*offered, own)
        asked = Asked(question=question, decision=decision, text=render(), options=usable, texts=texts())
        try:
            option = await asker.ask(asked) if offered else None
        except asyncio.CancelledError:
            self._take_back(question, decision)
            raise
        kind = next((each.kind for each in usable if each.option_id == option), None)
        outcome: Literal["allow", "deny"] = "allow" if kind in ("allow_once", "allow_always") else "deny"
        why = "a person said so" if kind is not None else "a person chose nothing"
        answered = Decision(outcome=outcome, rule=decision.rule, why=why)
        if own is not None and option == own.option_id:
            option = choose("allow", offered)  # the agent hears yes, and we remember
        chosen = option if kind is not None else None
        settled = await self._settled(question, answered, options, chosen, by="person")
        if settled is not None and kind in ("allow_always", "reject_always"):
            await self._remember(question, outcome)
        return settled

    def _own_always(
        self, question: Question, offered: Sequence[v1.PermissionOption]
    ) -> v1.PermissionOption | None:
        """Our own way to say yes for good, where an agent has none and we could keep it."""
        kinds = {option.kind for option in offered}
        if self._remembered is None or "allow_always" in kinds or "allow_once" not in kinds:
            return None
        if rule_text(question, "allow", now=self._now()) is None:
            return None
        option_id = "dragoman:always"
        while any(option.option_id == option_id for option in offered):
            option_id += "+"
        return v1.PermissionOption(option_id=option_id, name="Yes, and remember it here", kind="allow_always")

    def _take_back(self, question: Question, decision: Decision) -> None:
        """The turn was cancelled, and its answer is on its way; what is left is to say so in the log."""
        taken_back = Decision(outcome="deny", rule=decision.rule, why="the question was taken back")
        try:
            self._write(question, taken_back, by="cancel", option=None)
        except OSError:  # nothing was permitted; the cancellation must go on
            log.exception("the audit log cannot be written")

    async def _settled(
        self,
        question: Question,
        decision: Decision,
        options: Sequence[v1.PermissionOption],
        option: str | None,
        *,
        by: Literal["policy", "person"],
    ) -> str | None:
        """Write a decision down; what cannot be written is not permitted."""
        if decision.outcome == "allow" and option is None:
            why = f"{decision.why}; but no option that was offered says so"
            decision = Decision(outcome="deny", rule=decision.rule, why=why)
        try:
            await asyncio.to_thread(self._write, question, decision, by=by, option=option)
        except OSError:
            log.exception("the audit log cannot be written; nothing is permitted until it can")
            if decision.outcome == "allow":
                why = "the audit log cannot be written"
                decision = Decision(outcome="deny", rule=decision.rule, why=why)
                option = choose("deny", options)
        if decision.outcome == "allow":
            self._grant(question)
        else:
            self.denied.append((question, decision))
        return option

    def _write(
        self,
        question: Question,
        decision: Decision,
        *,
        by: Literal["policy", "person", "cancel"],
        option: str | None,
    ) -> None:
        if self._audit is not None:
            self._audit.append(entry(question, decision, by=by, option=option, time=self._now()))

    async def _remember(self, question: Question, outcome: Literal["allow", "deny"]) -> None:
        if self._remembered is None:
            return
        try:
            kept = await asyncio.to_thread(self._remembered.remember, question, outcome, now=self._now())
            if kept:
                self.policy = self.policy.with_remembered(await asyncio.to_thread(self._remembered.rules))
        except (OSError, PolicyError) as error:  # the answer counts, even if the next one is asked again
            log.warning("an answer could not be kept: %s", error)

    # What was granted already.

    def _grant(self, question: Question) -> None:
        if question.method == "permission":
            self._grants.extend(_acts(question))

    def _was_granted(self, question: Question) -> bool:
        acts = _acts(question)
        if question.method == "permission" or not acts or not all(act in self._grants for act in acts):
            return False
        for act in acts:
            self._grants.remove(act)
        return True


def _acts(question: Question) -> Sequence[tuple[str, str, str]]:
    """What a question is about, as things that can be compared: files to be changed, or one command."""
    if question.script is not None:
        # The same words elsewhere, or with variables that change what they do, are another command.
        changing = sorted(each for each in question.variables if not is_harmless(each.partition("=")[0]))
        script = question.script
        text = repr(script.commands) if script.objection is None else script.text
        return [(question.session_id, "run", repr((text, os.path.realpath(question.start), changing)))]
    if question.kinds <= {"edit"}:
        return [(question.session_id, "edit", path) for path in question.paths]
    return []


def _and_real(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as they are said, and where they really lead."""
    return tuple(dict.fromkeys([*paths, *(os.path.realpath(path) for path in paths if "\0" not in path)]))


def _tells_more(call: v1.ToolCallUpdate) -> bool:
    """Whether a request shows what it is about, and does not merely name a call."""
    return bool(call.content) or bool(call.raw_input)
