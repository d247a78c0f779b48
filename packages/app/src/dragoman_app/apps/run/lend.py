"""Gives the agent of a run its files, terminals, and answers to its requests for permission.

Most turns ask for nothing, so what decides and answers is loaded with the first request.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dragoman import Client
from dragoman.schema import v1
from dragoman.sdk.client.subagents import SubagentTree
from dragoman.version import VERSION
from dragoman_app.apps.run.permissions import RunDecisions
from dragoman_app.apps.run.plan import RunPlan
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.workspace.local_client import LocalClient

if TYPE_CHECKING:
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
