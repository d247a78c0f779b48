"""What a run lends its agent: files, terminals, and somebody who decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman import Client
from dragoman.agents import VERSION
from dragoman.cli.run.permissions import Decisions, ToolCalls, make_desk
from dragoman.cli.run.reporter import Reporter
from dragoman.workspace.policy.asking import Asker
from dragoman.workspace.policy.loading import places
from dragoman.workspace.policy.policy import Policy
from dragoman.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What was said about permissions on the command line."""

    policy: Policy
    asker: Asker | None = None
    """Whoever can be asked; None if nobody is there."""


class Lending:
    """The client of one run, with handlers for everything. Needs a running loop."""

    def __init__(self, rules: Rules, reporter: Reporter, *, agent: str, roots: Sequence[str]) -> None:
        calls = ToolCalls()
        self.decisions = Decisions(places().audit, reporter)
        self.desk = make_desk(
            rules.policy, self.decisions, calls, asker=rules.asker, agent=agent, roots=roots
        )
        self.client = Client("dragoman-run", version=VERSION, title="Dragoman")
        self.client.update(calls.hear)
        self.client.request_permission(self.desk.permission)
        self.workspace = Workspace(guard=self.desk.guard)
        self.workspace.serve(self.client)
