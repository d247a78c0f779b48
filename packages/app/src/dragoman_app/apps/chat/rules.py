"""Who decides what the agent may do: the policy, and the person at the terminal where it says to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman_app.apps.chat.risk_notes import RiskNotes
from dragoman_app.apps.run.plan import load_chosen_policy
from dragoman_app.tui.ports import ChatUser, PermissionQuestion
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog, write_approve_mode
from dragoman_local.workspace.policy.permission_prompt import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import PermissionService
from dragoman_local.workspace.policy.policy import Approve
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.remembered_rules import RememberedRules
from dragoman_local.workspace.policy.tool_calls import ToolCalls

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRules:
    """What was said about permissions on the command line."""

    policy: str | None = None
    approve: Approve | None = None
    shell_lines: bool = False

    def check(self, roots: Sequence[str]) -> None:
        """Raises `UsageMistake` with the file and the line."""
        load_chosen_policy(roots, file=self.policy, approve=self.approve)

    def desk(
        self,
        person: ChatUser,
        calls: ToolCalls,
        *,
        agent: str,
        roots: Sequence[str],
        tell: Tell,
        risk_notes: RiskNotes,
        requester_of: Callable[[str], str],
    ) -> PermissionService:
        """Needs a running loop."""
        write_approve_mode("chat", self.approve, agent=agent)
        return PermissionService(
            load_chosen_policy(roots, file=self.policy, approve=self.approve),
            asker=_Asker(person, risk_notes),
            audit=_TellingLog(policy_paths().audit, tell),
            remembered_rules=RememberedRules(policy_paths().remembered_file),
            agent=agent,
            roots=roots,
            find_tool_call=calls.find_call,
            requester_of=requester_of,
        )


class _Asker:
    """An `Asker` of the policy, in front of the person."""

    def __init__(self, person: ChatUser, risk_notes: RiskNotes) -> None:
        self._person = person
        self._risk_notes = risk_notes

    async def ask(self, question: PermissionPrompt) -> str | None:
        return await self._person.ask(
            PermissionQuestion(
                text=question.text,
                why=question.decision.why,
                options=question.options,
                cautions=self._risk_notes.about(question),
            )
        )


class _TellingLog(AuditLog):
    """The audit log, which also tells the person what was denied without asking."""

    def __init__(self, path: str, tell: Tell) -> None:
        super().__init__(path)
        self._say = tell
        self._loop = asyncio.get_running_loop()
        self._has_complained = False

    def append(self, line: AuditEntry) -> None:
        try:
            super().append(line)
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                why = f"the audit log {self.path} cannot be written ({error.strerror or error})"
                self._tell(f"{why}, so nothing is permitted; set XDG_STATE_HOME to a folder where it can be")
            raise  # what is not written down is not permitted
        if line.outcome == "deny" and line.by == "policy":
            what = line.command or line.title or " ".join((line.kind, *line.paths))
            self._tell(f"Not allowed: {what} ({line.why})")

    def _tell(self, text: str) -> None:
        self._loop.call_soon_threadsafe(self._say, text)
