"""Where an agent's questions are answered: from a file, by a person, or not at all.

    service = ElicitationService(answers=FormAnswers.load("answers.toml"), asker=forms, agent="claude")
    client.elicit(service.elicit)

Nothing is ever answered by default. A question that nobody answers is told to `on_open` as plain data and
kept in `service.open`, and the agent gets `cancel`: it learns that nothing was said, not that somebody
declined.

A file of answers is JSON or TOML. In its plain form its keys are names of fields:

    branch = "main"
    count = 3

With a table `fields`, it may also say which addresses may be opened, by host:

    [fields]
    branch = "main"
    [urls]
    "example.org" = "accept"

A form is answered only if every required field has an answer, at least one field has, and all values are
taken. Defaults of the form are not answers.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman_local.workspace.policy.forms import (
    BadFormValue,
    Matches,
    Value,
    check_value,
    fields_of,
    host_of,
    required_in,
)
from dragoman_local.workspace.policy.forms import matches as matches_in_time

_ACTIONS: Final = ("accept", "decline")


class AnswersError(LocalMistake):
    """A file of answers that cannot be used."""


class FormUnanswered(Exception):
    """There is no answer that the form takes; says why."""


class FormAnswers(Struct, frozen=True, kw_only=True):
    """What was written down."""

    fields: Mapping[str, Any] = {}
    urls: Mapping[str, Literal["accept", "decline"]] = {}

    @classmethod
    def load(cls, path: str) -> FormAnswers:
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError as error:
            raise AnswersError(f"cannot read {path}: {error.strerror}") from None
        return cls.parse(text, path)

    @classmethod
    def parse(cls, text: bytes, source: str) -> FormAnswers:
        try:
            data: Any = (
                tomllib.loads(text.decode("utf-8")) if source.endswith(".toml") else msgspec.json.decode(text)
            )
        except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise AnswersError(f"{source}: {error}") from None
        if not isinstance(data, dict):
            raise AnswersError(f"{source}: answers are an object of fields and values")
        if not isinstance(data.get("fields"), dict):
            return cls(fields=data)
        urls = data.get("urls", {})
        unknown = data.keys() - {"fields", "urls"}
        if unknown:
            raise AnswersError(f"{source}: unknown key {min(unknown)!r} beside fields and urls")
        if not isinstance(urls, dict) or any(action not in _ACTIONS for action in urls.values()):
            raise AnswersError(f"{source}: urls must say accept or decline for each host")
        return cls(fields=data["fields"], urls=urls)

    def fill(self, form: v1.ElicitationFormMode, *, matches: Matches = matches_in_time) -> dict[str, Value]:
        """The form, filled in; `FormUnanswered` if that is not possible."""
        fields = fields_of(form)
        lacking = sorted(required_in(form) - self.fields.keys())
        if lacking:
            raise FormUnanswered(f"there is no answer for the field {lacking[0]!r}")
        answers = {name: value for name, value in self.fields.items() if name in fields}
        if not answers:
            raise FormUnanswered("there is no answer for any of its fields")
        values: dict[str, Value] = {}
        for name, value in answers.items():
            try:
                values[name] = check_value(fields[name], value, matches=matches)
            except BadFormValue as error:
                raise FormUnanswered(f"the answer for the field {name!r} is not taken: {error}") from None
        return values

    def for_url(self, url: str) -> Literal["accept", "decline"] | None:
        return self.urls.get(host_of(url) or "")


class FormAsker(Protocol):
    """Somebody who can be asked."""

    async def fill(self, form: v1.ElicitationFormMode, *, agent: str) -> v1.CreateElicitationResponse: ...

    async def visit(self, request: v1.ElicitationUrlMode, *, agent: str) -> v1.CreateElicitationResponse: ...


OnAnswer: TypeAlias = Callable[[v1.CreateElicitationRequest, str], None]
"""Hears of a question and what became of it: `accept`, `decline`, `cancel`, or `open`."""


class ElicitationService:
    """Constructing one asks nothing."""

    def __init__(
        self,
        *,
        answers: FormAnswers | None = None,
        asker: FormAsker | None = None,
        agent: str = "",
        on_open: Callable[[dict[str, Any]], None] | None = None,
        on_answer: OnAnswer | None = None,
        requester_of: Callable[[str], str] | None = None,
    ) -> None:
        """`on_answer` hears of every question. `requester_of` names the subagent whose session asks, and
        nothing for any other session.
        """
        self.open: list[dict[str, Any]] = []
        """Questions that nobody answered: `agent`, `why`, and `request` as it came."""
        self._answers = answers
        self._asker = asker
        self._agent = agent
        self._on_open = on_open
        self._on_answer = on_answer
        self._requester_of = requester_of or (lambda _: "")

    async def elicit(
        self, request: v1.CreateElicitationRequest, agent: object = None
    ) -> v1.CreateElicitationResponse:
        """Answer `elicitation/create`."""
        response, why = await self._answer(request)
        if self._on_answer is not None:
            answer = {} if response is None else msgspec.json.decode(write(response))
            self._on_answer(request, str(answer.get("action", "open")))
        if response is not None:
            return response
        self._leave_open(request, why)
        return v1.ElicitationCancelAction()

    async def _answer(
        self, request: v1.CreateElicitationRequest
    ) -> tuple[v1.CreateElicitationResponse | None, str]:
        """The answer; if there is none, why."""
        why = "nobody is there to be asked"
        agent_name = self._name(request)
        if isinstance(request, v1.ElicitationFormMode):
            if self._answers is not None:
                try:
                    content = await asyncio.to_thread(self._answers.fill, request)
                    return v1.ElicitationAcceptAction(content=content), ""
                except FormUnanswered as error:
                    why = str(error)
            if self._asker is not None:
                return await self._asker.fill(request, agent=agent_name), ""
        elif isinstance(request, v1.ElicitationUrlMode):
            action = None if self._answers is None else self._answers.for_url(request.url)
            if action is not None:
                return (
                    v1.ElicitationAcceptAction() if action == "accept" else v1.ElicitationDeclineAction()
                ), ""
            if self._asker is not None:
                return await self._asker.visit(request, agent=agent_name), ""
        else:
            why = "the question is of a mode that is not known here"
        return None, why

    def _name(self, request: v1.CreateElicitationRequest) -> str:
        session_id = getattr(request, "session_id", None)
        requester = self._requester_of(session_id) if isinstance(session_id, str) else ""
        return f"{requester}: {self._agent}" if requester else self._agent

    def _leave_open(self, request: v1.CreateElicitationRequest, why: str) -> None:
        question = {"agent": self._name(request), "why": why, "request": msgspec.json.decode(write(request))}
        self.open.append(question)
        if self._on_open is not None:
            self._on_open(question)
