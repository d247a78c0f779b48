"""The user of an MCP client, who answers permission requests and forms by elicitation.

A permission is a choice among the agent's options; their labels are sanitized and made different from each
other. To decline is to reject. Nothing is permitted by anything but a choice of an option that permits: not
by an answer that makes no sense, an error of the client, or its end.

Specification: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.errors import ErrorAnswer, LinkClosed
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.text.sanitize import sanitize
from dragoman.wire import Id
from dragoman_app.apps.mcp.connection import McpConnection
from dragoman_local.workspace.policy.decision import choose_option, option_name
from dragoman_local.workspace.policy.elicitation import (
    BadFormValue,
    check_value,
    fields_of,
    matches,
    required_in,
)
from dragoman_local.workspace.policy.judge import PermissionPrompt
from dragoman_local.workspace.policy.permission_service import NOBODY, LocalUser

FIELD = "decision"


class McpUser:
    """The user in one session. `request_id` is the client's call whose turn runs."""

    def __init__(self, connection: McpConnection, *, request_id: Id, has_urls: bool) -> None:
        self.request_id = request_id
        self._connection = connection
        self._has_urls = has_urls

    async def ask(self, question: PermissionPrompt) -> str | None:
        """Ask the user; return the chosen option, or None."""
        labels = _labels(question.options)
        choice = {"type": "string", "title": "What may the agent do?", "enum": list(labels)}
        answer = await self._elicit(
            {
                "message": await asyncio.to_thread(lambda: question.text),
                "requestedSchema": {
                    "type": "object",
                    "properties": {FIELD: choice},
                    "required": [FIELD],
                },
            }
        )
        match answer:
            case {"action": "accept", "content": {"decision": str(label)}}:
                return labels.get(label)
            case {"action": "decline"}:
                return choose_option("deny", question.options)
        return None

    async def fill(self, form: v1.ElicitationFormMode, *, agent: str) -> v1.CreateElicitationResponse:
        """Show a form of the agent to the user; return the answer."""
        answer = await self._elicit(
            {
                "message": sanitize(f"{agent} asks: {form.message}"),
                # MCP demands the type, which ACP lets an agent leave out.
                "requestedSchema": {"type": "object", **msgspec.json.decode(write(form.requested_schema))},
            }
        )
        match answer:
            case {"action": "accept", "content": dict(content)}:
                return await _check_form(form, content)
            case {"action": "decline"}:
                return v1.ElicitationDeclineAction()
        return v1.ElicitationCancelAction()

    async def visit(self, request: v1.ElicitationUrlMode, *, agent: str) -> v1.CreateElicitationResponse:
        """Show an address to the user, if the client supports addresses."""
        if not self._has_urls:
            return v1.ElicitationCancelAction()
        answer = await self._elicit(
            {
                "mode": "url",
                "message": sanitize(f"{agent} asks: {request.message}"),
                "url": request.url,
                "elicitationId": request.elicitation_id,
            }
        )
        match answer:
            case {"action": "accept"}:
                return v1.ElicitationAcceptAction()
            case {"action": "decline"}:
                return v1.ElicitationDeclineAction()
        return v1.ElicitationCancelAction()

    async def _elicit(self, params: dict[str, Any]) -> Any:
        try:
            return await self._connection.call("elicitation/create", params, related_to=self.request_id)
        except (ErrorAnswer, LinkClosed):
            return None  # nobody was asked, so nothing was chosen


def user_of(capabilities: object, connection: McpConnection, request_id: Id) -> LocalUser:
    """Return the user behind a client with these capabilities; None without elicitation."""
    match capabilities:
        case {"elicitation": dict(modes)}:
            user = McpUser(connection, request_id=request_id, has_urls="url" in modes)
            has_forms = "form" in modes or "url" not in modes
            return LocalUser(permissions=user.ask if has_forms else None, forms=user)
    return NOBODY


def _labels(options: Sequence[v1.PermissionOption]) -> dict[str, str]:
    """A label for each option, and the option's id."""
    labels: dict[str, str] = {}
    for option in options:
        label = f"{option_name(option.name)} ({option.kind.replace('_', ' ')})"
        while label in labels:
            label += " "
        labels[label] = option.option_id
    return labels


async def _check_form(form: v1.ElicitationFormMode, content: dict[str, Any]) -> v1.CreateElicitationResponse:
    """What was filled in, if the form takes it; a form that is filled in wrongly counts as not filled in."""
    fields = fields_of(form)
    try:
        values = {
            name: await asyncio.to_thread(check_value, fields[name], value, matches=matches)
            for name, value in content.items()
            if name in fields
        }
    except BadFormValue:
        return v1.ElicitationCancelAction()
    if required_in(form) - values.keys():
        return v1.ElicitationCancelAction()
    return v1.ElicitationAcceptAction(content=values)
