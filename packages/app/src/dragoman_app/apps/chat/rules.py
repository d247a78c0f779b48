"""Who decides what the agent may do: the policy, and the person at the terminal where it says to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from dragoman_app.apps.chat.forms import ScreenForms
from dragoman_app.apps.chat.risk_notes import RiskNotes
from dragoman_app.tui.ports import ChatUser, PermissionQuestion
from dragoman_local.workspace.policy.audit import AuditEntry
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import LocalUser, ReportedAuditLog


def at_screen(person: ChatUser, risk_notes: RiskNotes) -> LocalUser:
    """The person in front of the terminal client."""
    return LocalUser(permissions=partial(_ask, person, risk_notes), forms=ScreenForms(person))


def make_audit_log(tell: Callable[[str], None]) -> ReportedAuditLog:
    """The audit log, which also tells the person what was denied without asking. Needs a running loop."""

    def on_entry(line: AuditEntry) -> None:
        if line.outcome == "deny" and line.by == "policy":
            what = line.command or line.title or " ".join((line.kind, *line.paths))
            remedy = f" To allow this: {line.remedy}" if line.remedy else ""
            tell(f"Not allowed: {what} ({line.why}){remedy}")

    return ReportedAuditLog(on_entry=on_entry, on_failure=tell)


async def _ask(person: ChatUser, risk_notes: RiskNotes, question: PermissionPrompt) -> str | None:
    return await person.ask(
        PermissionQuestion(
            text=await asyncio.to_thread(lambda: question.text),
            why=question.decision.why,
            options=question.options,
            cautions=risk_notes.about(question),
        )
    )
