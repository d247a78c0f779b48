"""What a run lends its agent: files, terminals, and somebody who decides."""

from __future__ import annotations

from collections.abc import Callable

from dragoman import Client
from dragoman.apps.run.permissions import DecisionLog
from dragoman.apps.run.plan import RunPlan
from dragoman.apps.run.questions import ElicitationReport, at_terminal
from dragoman.apps.run.reporter import RunReporter
from dragoman.schema import v1
from dragoman.sdk.client.subagents import SubagentTree
from dragoman.version import VERSION
from dragoman.workspace.policy.permission_service import PermissionService
from dragoman.workspace.policy.policy_paths import policy_paths
from dragoman.workspace.policy.remembered_rules import RememberedRules
from dragoman.workspace.policy.tool_calls import ToolCalls
from dragoman.workspace.remote_access import serve_decisions
from dragoman.workspace.settings import TerminalSettings
from dragoman.workspace.workspace import Workspace


class LentWorkspace:
    """The client of one run, with handlers for everything. Needs a running loop."""

    def __init__(
        self,
        plan: RunPlan,
        reporter: RunReporter,
        *,
        on_open_question: Callable[[], None],
        is_remote: bool,
    ) -> None:
        """Of an agent that `is_remote`, only the decisions are made here."""
        rules, agent, roots = plan.rules, plan.target.agent.name, plan.roots
        self.subagents = SubagentTree()
        """Of the agent that is connected now."""
        self.on_update: Callable[[v1.SessionNotification], None] | None = None
        self._calls = ToolCalls()
        person = at_terminal(reporter) if rules.ask else None
        self.decisions = DecisionLog(policy_paths().audit, reporter, cwd=roots[0])
        asker = None if person is None else person.permissions
        self.desk = PermissionService(
            plan.policy(),
            asker=asker,
            audit=self.decisions,
            remembered_rules=RememberedRules(policy_paths().remembered_file),
            agent=agent,
            roots=roots,
            find_tool_call=self._calls.find_call,
            requester_of=self._requester_of,
        )
        questions = ElicitationReport(
            reporter,
            answers=rules.answers,
            forms=None if person is None else person.forms,
            agent=agent,
            on_open=on_open_question,
            requester_of=self._requester_of,
        )
        self.client = Client(
            "dragoman-run",
            version=VERSION,
            title="Dragoman",
            elicitation_modes=("form", "url"),
            auth_terminal=rules.ask,
            subagents=True,
        )
        self.client.update(self._on_update)
        self.client.request_permission(self.desk.permission)
        self.client.elicit(questions.elicit)
        terminals = TerminalSettings(shell_lines=rules.shell_lines)
        self.workspace = Workspace(
            guard=self.desk.guard,
            terminals=terminals,
            root_of=lambda session_id: self.subagents.root_of(session_id),
        )
        if is_remote:
            serve_decisions(self.client, self.desk.guard)
        else:
            self.workspace.serve(self.client)
        self.decisions.watch(self.client)

    def _requester_of(self, session_id: str) -> str:
        return self.subagents.requester(session_id)

    def _on_update(self, notification: v1.SessionNotification) -> None:
        self._calls.on_update(notification)
        if self.on_update is not None:
            self.on_update(notification)
