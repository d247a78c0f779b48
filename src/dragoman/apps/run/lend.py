"""What a run lends its agent: files, terminals, and somebody who decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman import Client
from dragoman.apps.run.permissions import DecisionLog, make_desk
from dragoman.apps.run.plan import RunRules
from dragoman.apps.run.questions import ElicitationReport, at_terminal
from dragoman.apps.run.reporter import RunReporter
from dragoman.version import VERSION
from dragoman.workspace.policy.policy_files import policy_paths
from dragoman.workspace.policy.tool_calls import ToolCalls
from dragoman.workspace.settings import TerminalSettings
from dragoman.workspace.workspace import Workspace


class LentWorkspace:
    """The client of one run, with handlers for everything. Needs a running loop."""

    def __init__(
        self,
        rules: RunRules,
        reporter: RunReporter,
        *,
        agent: str,
        roots: Sequence[str],
        on_open_question: Callable[[], None],
    ) -> None:
        person = at_terminal() if rules.ask else None
        calls = ToolCalls()
        self.decisions = DecisionLog(policy_paths().audit, reporter)
        asker = None if person is None else person.permissions
        self.desk = make_desk(rules.policy, self.decisions, calls, asker=asker, agent=agent, roots=roots)
        questions = ElicitationReport(
            reporter,
            answers=rules.answers,
            forms=None if person is None else person.forms,
            agent=agent,
            on_open=on_open_question,
        )
        self.client = Client(
            "dragoman-run",
            version=VERSION,
            title="Dragoman",
            elicitation_modes=("form", "url"),
            auth_terminal=rules.ask,
        )
        self.client.update(calls.on_update)
        self.client.request_permission(self.desk.permission)
        self.client.elicit(questions.elicit)
        terminals = TerminalSettings(shell_lines=rules.shell_lines)
        self.workspace = Workspace(guard=self.desk.guard, terminals=terminals)
        self.workspace.serve(self.client)
        self.decisions.watch(self.client)
