"""Decides what the agent may do: by the policy, or by the user at the terminal where the
policy says "ask".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from dragoman.schema import v1
from dragoman_app.apps.chat.risk_notes import RiskNotes
from dragoman_app.tui import ports
from dragoman_app.tui.ports import ChatUser, FieldRefused, FormAnswer, FormPrompt, PermissionQuestion, Value
from dragoman_local.workspace.policy.audit import AuditEntry
from dragoman_local.workspace.policy.elicitation import (
    BadFormValue,
    Field,
    cautions,
    check_value,
    choices_of,
    default_of,
    description_of,
    fields_of,
    looks_secret,
    matches,
    parse_line,
    required_in,
    title_of,
)
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import LocalUser, ReportedAuditLog


def at_screen(person: ChatUser, risk_notes: RiskNotes) -> LocalUser:
    """The user at the terminal client."""
    return LocalUser(permissions=partial(_ask, person, risk_notes), forms=ScreenForms(person))


def make_audit_log(tell: Callable[[str], None]) -> ReportedAuditLog:
    """Return the audit log, which also tells the user about requests denied without asking. Needs a running
    loop.
    """

    def on_entry(line: AuditEntry) -> None:
        if line.outcome == "deny" and line.by == "policy":
            what = line.command or line.title or " ".join((line.kind, *line.paths))
            remedy = " To allow it after all, write /allow" if line.remedy else ""
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


# Forms of an agent for the person at the screen, check_value by the rules that hold for every form.

Kind = Literal["text", "number", "yes_no", "one", "several", "unknown"]


class ScreenForms:
    """Implements `FormAsker` of the policy for the user at the terminal."""

    def __init__(self, person: ChatUser) -> None:
        self._person = person

    async def fill(self, form: v1.ElicitationFormMode, *, agent: str) -> v1.CreateElicitationResponse:
        fields, required_names = fields_of(form), required_in(form)

        async def check(name: str, value: Value) -> Value:
            field = fields[name]
            answer: Any = parse_line(field, value) if isinstance(value, str) else value
            try:
                return await asyncio.to_thread(check_value, field, answer, matches=matches)
            except BadFormValue as error:
                raise FieldRefused(str(error)) from None

        form_fields = [
            _field(name, field, is_required=name in required_names) for name, field in fields.items()
        ]
        return _answer(
            await self._person.fill(
                FormPrompt(agent=agent, message=form.message, fields=form_fields, check=check)
            )
        )

    async def visit(self, request: v1.ElicitationUrlMode, *, agent: str) -> v1.CreateElicitationResponse:
        form = FormPrompt(
            agent=agent,
            message=request.message,
            url=request.url,
            cautions=cautions(request.url),
            check=_nothing_to_check,
        )
        return _answer(await self._person.fill(form))


def _field(name: str, field: Field, *, is_required: bool) -> ports.FormField:
    return ports.FormField(
        name=name,
        title=title_of(name, field),
        description=description_of(field),
        kind=_kind(field),
        choices=choices_of(field),
        default=default_of(field),
        is_required=is_required,
        is_secret=looks_secret(name, field),
    )


def _kind(field: Field) -> Kind:
    match field:
        case v1.BooleanPropertySchema():
            return "yes_no"
        case v1.IntegerPropertySchema() | v1.NumberPropertySchema():
            return "number"
        case v1.MultiSelectPropertySchema():
            return "several"
        case v1.StringPropertySchema():
            return "one" if choices_of(field) else "text"
    return "unknown"


def _answer(answer: FormAnswer) -> v1.CreateElicitationResponse:
    if answer.action == "accept":
        return (
            v1.ElicitationAcceptAction(content=answer.values)
            if answer.values
            else v1.ElicitationAcceptAction()
        )
    return v1.ElicitationDeclineAction() if answer.action == "decline" else v1.ElicitationCancelAction()


async def _nothing_to_check(name: str, value: Value) -> Value:
    return value
