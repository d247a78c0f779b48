"""Where an agent's questions are answered: from a file, by a person, or not at all.

    service = ElicitationService(answers=FormAnswers.load("answers.toml"), asker=forms, agent="claude")
    client.elicit(service.elicit)

Nothing is ever answered by default. A question that nobody answers is told to `on_open` as plain data and
kept in `service.open`, and the agent gets `cancel`: it learns that nothing was said, not that somebody
declined.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.workspace.policy.form_answers import FormAnswers, FormUnanswered


class FormAsker(Protocol):
    """Somebody who can be asked."""

    async def fill(self, form: v1.ElicitationFormMode, *, agent: str) -> v1.CreateElicitationResponse: ...

    async def visit(self, request: v1.ElicitationUrlMode, *, agent: str) -> v1.CreateElicitationResponse: ...


class ElicitationService:
    """Constructing one asks nothing."""

    def __init__(
        self,
        *,
        answers: FormAnswers | None = None,
        asker: FormAsker | None = None,
        agent: str = "",
        on_open: Callable[[dict[str, Any]], None] | None = None,
        requester_of: Callable[[str], str] | None = None,
    ) -> None:
        """`requester_of` names the subagent whose session asks, and nothing for any other session."""
        self.open: list[dict[str, Any]] = []
        """Questions that nobody answered: `agent`, `why`, and `request` as it came."""
        self._answers = answers
        self._asker = asker
        self._agent = agent
        self._on_open = on_open
        self._requester_of = requester_of or (lambda _: "")

    async def elicit(
        self, request: v1.CreateElicitationRequest, agent: object = None
    ) -> v1.CreateElicitationResponse:
        """Answer `elicitation/create`."""
        why = "nobody is there to be asked"
        agent_name = self._name(request)
        if isinstance(request, v1.ElicitationFormMode):
            if self._answers is not None:
                try:
                    content = await asyncio.to_thread(self._answers.fill, request)
                    return v1.ElicitationAcceptAction(content=content)
                except FormUnanswered as error:
                    why = str(error)
            if self._asker is not None:
                return await self._asker.fill(request, agent=agent_name)
        elif isinstance(request, v1.ElicitationUrlMode):
            action = None if self._answers is None else self._answers.for_url(request.url)
            if action is not None:
                return v1.ElicitationAcceptAction() if action == "accept" else v1.ElicitationDeclineAction()
            if self._asker is not None:
                return await self._asker.visit(request, agent=agent_name)
        else:
            why = "the question is of a mode that is not known here"
        self._leave_open(request, why)
        return v1.ElicitationCancelAction()

    def _name(self, request: v1.CreateElicitationRequest) -> str:
        session_id = getattr(request, "session_id", None)
        requester = self._requester_of(session_id) if isinstance(session_id, str) else ""
        return f"{requester}: {self._agent}" if requester else self._agent

    def _leave_open(self, request: v1.CreateElicitationRequest, why: str) -> None:
        question = {"agent": self._name(request), "why": why, "request": msgspec.json.decode(write(request))}
        self.open.append(question)
        if self._on_open is not None:
            self._on_open(question)
