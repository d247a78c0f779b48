"""Questions of the agent to the user: answered from a file, by the person at the terminal, or left open.

A question that is left open ends the run. It is told as an event, and where standard output is not for
machines, as one line of JSON on standard error, so that whoever started the run can answer it in a file and
start again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from dragoman.cli.run import aside, events
from dragoman.cli.run.mistakes import Mistake
from dragoman.cli.run.narrate import now
from dragoman.cli.run.reporter import Reporter
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.text.sanitize import sanitize_json
from dragoman.workspace.policy.elicitation import ElicitationService, FormAsker
from dragoman.workspace.policy.form_answers import AnswersError, FormAnswers
from dragoman.workspace.policy.permission_prompt import Asker


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whoever sits at the terminal, for both kinds of questions."""

    permissions: Asker
    forms: FormAsker


def at_terminal() -> Person:
    """The person whose terminal is our standard input; what is asked goes to standard error."""
    from dragoman.workspace.policy.terminal_asker import TerminalAsker
    from dragoman.workspace.policy.terminal_forms import TerminalForms
    from dragoman.workspace.policy.terminal_lines import TerminalLines

    lines, lock = TerminalLines(0), asyncio.Lock()
    return Person(
        permissions=TerminalAsker(lines, write=aside.write, lock=lock),
        forms=TerminalForms(lines, write=aside.write, lock=lock),
    )


def load_answers(path: str | None) -> FormAnswers | None:
    """Raises `Mistake`."""
    try:
        return None if path is None else FormAnswers.load(path)
    except AnswersError as error:
        raise Mistake(str(error), "mend the file of answers") from error


class Questions:
    """The desk for questions of one run. `on_open` ends it."""

    def __init__(
        self,
        reporter: Reporter,
        *,
        answers: FormAnswers | None,
        forms: FormAsker | None,
        agent: str,
        on_open: Callable[[], None],
    ) -> None:
        self._reporter = reporter
        self._end = on_open
        self._desk = ElicitationService(answers=answers, asker=forms, agent=agent, on_open=self._left_open)

    async def elicit(
        self, request: v1.CreateElicitationRequest, agent: object = None
    ) -> v1.CreateElicitationResponse:
        open_before = len(self._desk.open)
        response = await self._desk.elicit(request, agent)
        if len(self._desk.open) == open_before:
            action = str(msgspec.json.decode(write(response)).get("action"))
            self._tell(msgspec.Raw(write(request)), action)
        return response

    def _left_open(self, question: dict[str, Any]) -> None:
        self._tell(question["request"], "open")
        self._reporter.tell_json(sanitize_json(msgspec.json.encode({"question": question})).decode())
        self._end()

    def _tell(self, request: Any, action: str) -> None:
        self._reporter.emit(events.Question(time=now(), request=request, action=action))
