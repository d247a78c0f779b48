"""Who answers what an agent asks for: the policy of its folders, then its user; and a log that has all of it.

    desk = LocalDesk(rules, door="run", agent="claude", roots=["/project"], user=LocalUser(permissions=asker))

A desk is for one agent, or for one session of it. `LocalClient` brings what the agent asks for to its desk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import Struct

from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, write_approve_mode
from dragoman_local.workspace.policy.elicitation import ElicitationService, FormAnswers, FormAsker, OnAnswer
from dragoman_local.workspace.policy.permission_prompt import Asker
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy_files import load_policy
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.remembered_rules import RememberedRules
from dragoman_local.workspace.policy.tool_calls import ToolCalls
from dragoman_local.workspace.settings import LocalRules, Place


class AgentMemory(Protocol):
    """What was heard of the agent: `LocalClient` is one."""

    @property
    def place(self) -> Place: ...
    @property
    def calls(self) -> ToolCalls: ...
    def requester_of(self, session_id: str) -> str: ...


class LocalUser(Struct, frozen=True, kw_only=True):
    """Who answers an agent's questions; nobody, where there is None, and then the policy decides alone."""

    permissions: Asker | None = None
    forms: FormAsker | None = None


NOBODY = LocalUser()


class LocalDesk:
    """Constructing one asks nothing; it writes down which questions the command line has answered."""

    def __init__(
        self,
        rules: LocalRules,
        *,
        agent: str,
        door: str = "",
        roots: Sequence[str] = (),
        user: LocalUser = NOBODY,
        audit: AuditLog | None = None,
        answers: FormAnswers | None = None,
        on_answer: OnAnswer | None = None,
        on_open: Callable[[dict[str, Any]], None] | None = None,
        client: AgentMemory | None = None,
    ) -> None:
        """`agent` is how rules know it, `door` the command whose options are written down. `client` knows
        what the agent has said of its tool calls and subagents; without one, its files are lent there. Then
        no answer is kept for good: it would hold for an agent of the same name here.
        """
        self.roots = roots
        if door:
            write_approve_mode(door, rules.approve, agent=agent)
        is_elsewhere = client is None or client.place == "there"
        requester_of = None if client is None else client.requester_of
        self.permissions = PermissionService(
            partial(load_policy, roots=roots, file=rules.policy, approve=rules.approve),
            asker=user.permissions,
            audit=audit or AuditLog(policy_paths().audit),
            remembered_rules=None if is_elsewhere else RememberedRules(policy_paths().remembered_file),
            agent=agent,
            roots=roots,
            find_tool_call=None if client is None else client.calls.find_call,
            requester_of=requester_of,
            is_elsewhere=is_elsewhere,
        )
        self.questions = ElicitationService(
            answers=answers,
            asker=user.forms,
            agent=agent,
            on_answer=on_answer,
            on_open=on_open,
            requester_of=requester_of,
        )


class ReportedAuditLog(AuditLog):
    """Also tells the loop in which it was made of every line, and when lines cannot be written any more."""

    def __init__(self, *, on_entry: Callable[[AuditEntry], None], on_failure: Callable[[str], None]) -> None:
        super().__init__(policy_paths().audit)
        self._loop = asyncio.get_running_loop()
        self._on_entry = on_entry
        self._on_failure = on_failure
        self._has_failed = False

    def append(self, line: AuditEntry) -> None:
        try:
            super().append(line)
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                why = f"the audit log {self.path} cannot be written ({error.strerror or error})"
                remedy = "set XDG_STATE_HOME to a folder where it can be"
                self._loop.call_soon_threadsafe(self._on_failure, f"{why}, so nothing is permitted; {remedy}")
            raise  # what is not written down is not permitted
        self._has_failed = False
        self._loop.call_soon_threadsafe(self._on_entry, line)
