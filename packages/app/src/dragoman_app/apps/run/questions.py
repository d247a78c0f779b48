"""Questions of the agent to the user: answered from a file, by the person at the terminal, or left open.

A question that is left open ends the run. It is told as an event, and where standard output is not for
machines, as one line of JSON on standard error, so that whoever started the run can answer it in a file and
start again.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.text.sanitize import sanitize_json
from dragoman_app.apps.run import events
from dragoman_app.apps.run.narrate import now
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.workspace.policy.elicitation import ElicitationService, FormAnswers, FormAsker
from dragoman_local.workspace.policy.permission_prompt import Asker
from dragoman_local.workspace.policy.terminal import TerminalAsker, TerminalForms, TerminalLines


class TerminalUser(Struct, frozen=True, kw_only=True):
    """Whoever sits at the terminal, for both kinds of questions."""

    permissions: Asker
    forms: FormAsker


def at_terminal(reporter: RunReporter) -> TerminalUser:
    """The person whose terminal is our standard input; what is asked goes to standard error."""
    lines, lock = TerminalLines(0), reporter.question_lock
    return TerminalUser(
        permissions=TerminalAsker(lines, write=reporter.write, lock=lock),
        forms=TerminalForms(lines, write=reporter.write, lock=lock),
    )


class ElicitationReport:
    """The desk for questions of one run. `on_open` ends it."""

    def __init__(
        self,
        reporter: RunReporter,
        *,
        answers: FormAnswers | None,
        forms: FormAsker | None,
        agent: str,
        on_open: Callable[[], None],
        requester_of: Callable[[str], str],
    ) -> None:
        self._reporter = reporter
        self._end = on_open
        self._requester_of = requester_of
        self._desk = ElicitationService(
            answers=answers, asker=forms, agent=agent, on_open=self._left_open, requester_of=requester_of
        )

    async def elicit(
        self, request: v1.CreateElicitationRequest, agent: object = None
    ) -> v1.CreateElicitationResponse:
        open_before = len(self._desk.open)
        response = await self._desk.elicit(request, agent)
        if len(self._desk.open) == open_before:
            action = str(msgspec.json.decode(write(response)).get("action"))
            self._tell(msgspec.Raw(write(request)), action, getattr(request, "session_id", None))
        return response

    def _left_open(self, question: dict[str, object]) -> None:
        request = question["request"]
        self._tell(request, "open", request.get("sessionId") if isinstance(request, dict) else None)
        self._reporter.tell_json(sanitize_json(msgspec.json.encode({"question": question})).decode())
        self._end()

    def _tell(self, request: object, action: str, session_id: object) -> None:
        requester = self._requester_of(session_id) if isinstance(session_id, str) else ""
        self._reporter.emit(
            events.QuestionEvent(time=now(), request=request, action=action, requester=requester or None)
        )
