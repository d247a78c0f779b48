"""Who answers what the agent of a run asks for: files, terminals, permissions, questions.

Loaded with the first request (see `lend`): it is a third of a run's code, and most turns ask for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman import Client
from dragoman.sdk.client.subagents import SubagentTree
from dragoman_app.apps.run.permissions import DecisionLog
from dragoman_app.apps.run.plan import RunPlan
from dragoman_app.apps.run.questions import ElicitationReport, at_terminal
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.workspace.policy.audit import write_approve_mode
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.remembered_rules import RememberedRules
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.remote_access import serve_decisions
from dragoman_local.workspace.settings import TerminalSettings
from dragoman_local.workspace.workspace import Workspace


class LendingDesk:
    """Handlers for everything that an agent may ask for. Needs a running loop."""

    def __init__(
        self,
        plan: RunPlan,
        reporter: RunReporter,
        *,
        calls: ToolCalls,
        find_subagents: Callable[[], SubagentTree],
        on_open_question: Callable[[], None],
        is_remote: bool,
    ) -> None:
        rules, agent = plan.rules, plan.target.agent.identity
        person = at_terminal(reporter) if rules.ask else None
        self.decisions = DecisionLog(policy_paths().audit, reporter, cwd=plan.roots[0])
        write_approve_mode("run", rules.approve, agent=agent)

        def requester_of(session_id: str) -> str:
            return find_subagents().requester(session_id)

        permissions = PermissionService(
            plan.policy(),
            asker=None if person is None else person.permissions,
            audit=self.decisions,
            remembered_rules=RememberedRules(policy_paths().remembered_file),
            agent=agent,
            roots=plan.roots,
            find_tool_call=calls.find_call,
            requester_of=requester_of,
        )
        questions = ElicitationReport(
            reporter,
            answers=rules.answers,
            forms=None if person is None else person.forms,
            agent=agent,
            on_open=on_open_question,
            requester_of=requester_of,
        )
        self._client = Client()
        self._client.request_permission(permissions.permission)
        self._client.elicit(questions.elicit)
        self.workspace = Workspace(
            guard=permissions.guard,
            terminals=TerminalSettings(shell_lines=rules.shell_lines),
            root_of=lambda session_id: find_subagents().root_of(session_id),
        )
        if is_remote:
            serve_decisions(self._client, permissions.guard)
        else:
            self.workspace.serve(self._client)
        self.decisions.watch(self._client)

    @property
    def methods(self) -> set[str]:
        """What it answers."""
        return {method for method, _ in self._client.handlers.items()}

    async def answer(self, method: str, request: object, agent: object) -> Any:
        """The result for a request of this method's type; raises what its handler raises."""
        handler = self._client.handlers.get(method)
        assert handler is not None
        return await handler.work(request, agent)
