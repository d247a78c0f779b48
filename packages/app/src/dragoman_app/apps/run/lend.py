"""Gives the agent of a run files, terminals, and answers to its permission requests.

Most turns ask for nothing, so what decides and answers is loaded with the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dragoman import Client
from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.sdk.client.subagents import SubagentTree
from dragoman.sdk.handlers import Handler
from dragoman.text.sanitize import sanitize_line
from dragoman.version import VERSION
from dragoman_app.apps.run import events
from dragoman_app.apps.run.disk_changes import DecidedEffects
from dragoman_app.apps.run.plan import RunPlan
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.workspace.local_client import LocalClient

if TYPE_CHECKING:
    from dragoman_local.workspace.policy.audit import AuditEntry
    from dragoman_local.workspace.policy.permission_service import LocalDesk


class LentWorkspace:
    """The client of one run, with handlers for everything."""

    def __init__(self, plan: RunPlan, reporter: RunReporter, *, on_open_question: Callable[[], None]) -> None:
        self.subagents = SubagentTree()
        """Of the agent that is connected now."""
        self.on_update: Callable[[v1.SessionNotification], None] | None = None
        self.decisions = RunDecisions(reporter, cwd=plan.roots[0])
        self._plan = plan
        self._reporter = reporter
        self._on_open_question = on_open_question
        self._made_desk: LocalDesk | None = None
        self.local = LocalClient(
            self._desk,
            rules=plan.rules,
            place=plan.target.place,
            find_subagents=lambda: self.subagents,
            on_no_wall=reporter.note,
        )
        self.client = Client(
            "dragoman-run",
            version=VERSION,
            title="Dragoman",
            elicitation_modes=("form", "url"),
            auth_terminal=plan.is_attended,
            subagents=True,
        )
        self.client.update(self._on_update)
        self.local.serve(self.client)
        self.decisions.watch(self.client)

    def _desk(self, session_id: str | None) -> LocalDesk:
        """Who answers, in all sessions; made when it is first asked for."""
        if self._made_desk is None:
            from dragoman_app.apps.run.questions import at_terminal, tell_answer, tell_open
            from dragoman_local.known.identity import identity_of
            from dragoman_local.workspace.policy.permission_service import NOBODY, LocalDesk, ReportedAuditLog

            plan, decisions, agent = self._plan, self.decisions, self._plan.target.agent
            self._made_desk = LocalDesk(
                plan.rules,
                door="run",
                agent=identity_of(agent, "" if agent.place else plan.session_request.cwd),
                roots=plan.roots,
                user=at_terminal(self._reporter) if plan.is_attended else NOBODY,
                audit=ReportedAuditLog(on_entry=decisions.on_entry, on_failure=decisions.on_failure),
                answers=plan.answers,
                on_answer=partial(tell_answer, self._reporter, self.local.requester_of),
                on_open=partial(tell_open, self._reporter, self._on_open_question),
                place=self.local.place,
                find_tool_call=self.local.calls.find_call,
                requester_of=self.local.requester_of,
            )
        return self._made_desk

    def _on_update(self, notification: v1.SessionNotification) -> None:
        self.local.calls.on_update(notification)
        if self.on_update is not None:
            self.on_update(notification)


# Decides what the agent may do in this run, and reports each decision.
#
# The policy decides (see `dragoman policy`); what it would ask is asked in the terminal if somebody is
# there, and answered by `--approve` otherwise. Each decision is in the audit log before it takes effect, and
# becomes an event here.

EFFECTS = ("fs/write_text_file", "terminal/create")
"""Effects for which an agent gets permission and needs a client."""


class RunDecisions:
    """The decisions of a run, from its audit log."""

    def __init__(self, reporter: RunReporter, *, cwd: str) -> None:
        self._cwd = cwd
        self.effects = DecidedEffects()
        """What was decided about changes of files."""
        self._reporter = reporter
        self.last_denier = ""
        """Who denied the last thing that was asked for, `policy` or a person; reading does not count."""
        self.last_refusal: str | None = None
        """Why the last write or command was refused although nobody denied it; None if it was not."""

    def watch(self, client: Client) -> None:
        """Note for every write and command whether it was done: an approval alone changes nothing."""
        for method in EFFECTS:
            handler = client.handlers.get(method)
            if handler is not None:
                client.handlers.replace(method, Handler(self._watch(method, handler)))

    def _watch(self, method: str, handler: Handler) -> Callable[[Any, Any], Awaitable[Any]]:
        async def do(request: object, agent: object) -> Any:  # of the method's type
            loop = asyncio.get_running_loop()
            try:
                result = await handler.work(request, agent)
            except ErrorAnswer as error:
                # After what the audit log has to tell of this: a denial is not a refusal.
                loop.call_soon(self._on_refusal, method, error.message)
                raise
            loop.call_soon(self._on_success)
            return result

        return do

    def _on_refusal(self, method: str, why: str) -> None:
        if not self.last_denier:
            self.last_refusal = f"{method}: {why}"
            self._reporter.note(f"not done: {self.last_refusal}", level="warning")

    def _on_success(self) -> None:
        self.last_refusal = None

    def on_failure(self, why: str) -> None:
        """Handle an audit log that can't be written."""
        self.last_denier = "policy"
        self._reporter.note(why, level="error")

    def on_entry(self, line: AuditEntry) -> None:
        """Handle a new line of the audit log."""
        self.effects.add(line, cwd=self._cwd)
        if line.method != "fs/read" or line.outcome == "deny":
            self.last_denier = line.by if line.outcome == "deny" else ""
        what = line.command or line.title or " ".join((line.kind, *line.paths))
        self._reporter.emit(
            events.DecisionEvent(
                time=line.time,
                what=what,
                method=line.method,
                kind=line.kind,
                paths=list(line.paths),
                outcome=line.outcome,
                by=line.by,
                rule=line.rule,
                why=line.why,
                remedy=line.remedy or None,
                requester=line.requester or None,
            )
        )
        if line.outcome == "deny" and line.by == "policy":
            who = f"{sanitize_line(line.requester)}: " if line.requester else ""
            self._reporter.tell(f"{who}not allowed: {sanitize_line(what)} ({sanitize_line(line.why)})")
            if line.remedy:
                self._reporter.tell(f"{who}to allow this: {sanitize_line(line.remedy)}")
