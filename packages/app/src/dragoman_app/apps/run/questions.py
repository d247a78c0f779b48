"""Questions of the agent to the user: answered from a file, by the user at the terminal, or left open.

A question that is left open ends the run. It is told as an event, and where standard output is not for
machines, as one line of JSON on standard error, so that whoever started the run can answer it in a file and
start again.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.text.sanitize import sanitize_json
from dragoman_app.apps.run import events
from dragoman_app.apps.run.narrate import now
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.workspace.policy.permission_service import LocalUser
from dragoman_local.workspace.policy.terminal import TerminalAsker, TerminalForms, TerminalLines


def at_terminal(reporter: RunReporter) -> LocalUser:
    """The user at our standard input; questions go to standard error."""
    lines, lock = TerminalLines(0), reporter.question_lock
    return LocalUser(
        permissions=TerminalAsker(lines, write=reporter.write, lock=lock).ask,
        forms=TerminalForms(lines, write=reporter.write, lock=lock),
    )


def tell_answer(
    reporter: RunReporter,
    requester_of: Callable[[str], str],
    request: v1.CreateElicitationRequest,
    action: str,
) -> None:
    """Implements `OnAnswer`."""
    session_id = getattr(request, "session_id", None)
    requester = requester_of(session_id) if isinstance(session_id, str) else ""
    reporter.emit(
        events.QuestionEvent(
            time=now(), request=msgspec.Raw(write(request)), action=action, requester=requester or None
        )
    )


def tell_open(reporter: RunReporter, end: Callable[[], None], question: dict[str, object]) -> None:
    """Report an open question, which ends the run."""
    reporter.tell_json(sanitize_json(msgspec.json.encode({"question": question})).decode())
    end()
