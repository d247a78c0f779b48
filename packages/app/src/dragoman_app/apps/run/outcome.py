"""Decides the outcome of a run: a name of `exits`, with a text for the user."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from msgspec import Struct

from dragoman.errors import (
    CallFailed,
    DeadlineExceeded,
    DragomanError,
    HandshakeTimeout,
    LinkClosed,
    LocalMistake,
    LoginRequired,
    NotAdvertised,
    PeerDied,
    RemoteMistake,
    SpawnFailed,
)
from dragoman.sdk.client.prompt import TurnResult
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_app.apps.console import UsageMistake, counted
from dragoman_app.apps.run.disk_changes import ChangesReport
from dragoman_app.apps.run.exits import EXITS
from dragoman_app.apps.run.output import OutputClosed
from dragoman_local.known.hints import explain

AUTH_REQUIRED = -32000

LONGEST = 500
"""The most characters of an agent's own explanation; a longer one is in the history."""


NOT_ACP = "it printed text that is not ACP (shown above)"

TURN_ACP_ON = (
    "check the command: many programs need an option that turns ACP on, such as --acp; "
    "`dragoman doctor AGENT` shows more"
)


class RunOutcome(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    name: str
    message: str | None = None
    next_step: str | None = None
    result: TurnResult | None = None

    @property
    def status(self) -> int:
        return EXITS[self.name].status


def outcome_of_turn(
    result: TurnResult, *, last_was_denied: bool, last_refusal: str | None = None
) -> RunOutcome:
    """Return the outcome of an answered prompt."""
    reason = result.stop_reason
    if last_was_denied and reason in ("end_turn", "refusal", "cancelled"):
        return RunOutcome(
            name="permission_denied",
            message="the agent's last request for permission was denied",
            next_step="allow the request with --approve all or a rule (--policy FILE), then run again",
            result=result,
        )
    if last_refusal is not None and reason in ("end_turn", "refusal", "cancelled"):
        return RunOutcome(
            name="permission_denied",
            message=f"the last write or command of the agent was not done: {last_refusal}",
            next_step="fix the problem that the message names; `dragoman policy explain` shows what is "
            "allowed",
            result=result,
        )
    if reason in ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"):
        message = None if reason == "end_turn" else EXITS[reason].meaning
        return RunOutcome(name=reason, message=message, result=result)
    return RunOutcome(
        name="protocol_error",
        message=f"the turn ended for an unknown reason: {reason}",
        result=result,
    )


def outcome_of_changes(outcome: RunOutcome, changes: ChangesReport, *, is_strict: bool) -> RunOutcome:
    """Return the outcome after the changes: a good turn becomes a failure if files could not be reverted, or
    with `--strict`, if files changed without approval.
    """
    if outcome.name not in ("end_turn", "permission_denied"):
        return outcome
    if changes.stuck:
        return RunOutcome(
            name="failed",
            message="not everything was put back",
            next_step="read the messages above; `git status` shows what is left",
            result=outcome.result,
        )
    if not is_strict or changes.unasked == []:
        return outcome
    return RunOutcome(
        name="unasked_changes",
        message="can't tell what changed on disk"
        if changes.unasked is None
        else f"{counted(len(changes.unasked), 'file')} changed without approval",
        next_step="choose a mode of the agent that asks (--mode), or put the changes back (--changes revert)",
        result=outcome.result,
    )


def outcome_of_error(error: BaseException, *, start_option: str = "") -> RunOutcome:
    """Return the outcome of an early end. `start_option` is the option that gives an agent longer to start,
    if there is one.
    """
    match error:
        case UsageMistake():
            return RunOutcome(name="usage", message=str(error), next_step=error.next_step)
        case OutputClosed():
            return RunOutcome(name="output_closed")
        case SpawnFailed():
            return RunOutcome(name="not_started", message=str(error), next_step="dragoman doctor AGENT")
        case NotAdvertised():
            return RunOutcome(
                name="usage", message=str(error), next_step="use another agent; this one lacks the feature"
            )
        case CallFailed():
            return _outcome_of_refusal(error)
        case HandshakeTimeout(stray=stray) | PeerDied(stray=stray) if stray:
            return _not_acp(error)
        case DeadlineExceeded():
            return _outcome_of_deadline(error, start_option)
        case LinkClosed():
            return RunOutcome(name="agent_died", message=str(error), next_step="dragoman doctor AGENT")
        case RemoteMistake():
            return RunOutcome(name="protocol_error", message=str(error))
        case LocalMistake() | DragomanError():
            return RunOutcome(name="failed", message=str(error))
        case asyncio.CancelledError():
            return RunOutcome(name="cancelled", message="the run was cancelled")
    return RunOutcome(name="failed", message=f"this is a bug in Dragoman: {type(error).__name__}: {error}")


def _outcome_of_deadline(error: DeadlineExceeded, start_option: str) -> RunOutcome:
    if not isinstance(error, HandshakeTimeout):
        return RunOutcome(name="timeout", message=str(error))
    longer = f"if it is slow to start, give it more time with {start_option}; " if start_option else ""
    next_step = f"{longer}`dragoman doctor AGENT` shows more"
    return RunOutcome(name="timeout", message=str(error), next_step=next_step)


def _not_acp(error: HandshakeTimeout | PeerDied) -> RunOutcome:
    """It printed something else. The lines themselves were shown when they came."""
    meaning, advice = explain(error.stray)
    next_step = f"{meaning}: {advice}" if meaning else TURN_ACP_ON
    if isinstance(error, HandshakeTimeout):
        message = f"the agent did not answer initialize within {error.seconds:g} seconds; {NOT_ACP}"
        return RunOutcome(name="timeout", message=message, next_step=next_step)
    last_words = f"; its last output was:\n{error.stderr.rstrip()}" if error.stderr.strip() else ""
    message = f"{error.what} ended with {error.how}; {NOT_ACP}{last_words}"
    return RunOutcome(name="agent_died", message=message, next_step=next_step)


def _details(data: object) -> str:
    """Many agents say what went wrong beside the message, and nothing in it."""
    details = data
    if isinstance(data, Mapping):
        details = next(
            (data[name] for name in ("details", "message", "reason", "error") if name in data), None
        )
    return f" ({details[:LONGEST]})" if isinstance(details, str) and details else ""


def outcome_of_login(error: LoginRequired, hint: str) -> RunOutcome:
    """Return the outcome for a needed login that failed or can't be tried; `hint` is what a user can do."""
    attempt = f"; login with {error.tried_method} failed: {error.why}" if error.tried_method else ""
    return RunOutcome(
        name="auth_needed", message=f"the agent needs a login: {error.reason}{attempt}", next_step=hint
    )


def _outcome_of_refusal(error: CallFailed) -> RunOutcome:
    if error.code != AUTH_REQUIRED:
        details = _details(error.data)
        is_mute = error.code == INTERNAL_ERROR and not details
        return RunOutcome(
            name="agent_error",
            message=f"{error}{details}",
            next_step="add --verbose to see the agent's own message" if is_mute else None,
        )
    # Nobody knows of its methods: it refused before it had named them.
    return RunOutcome(
        name="auth_needed",
        message=f"the agent needs a login: {error.message}",
        next_step="log in with the agent's own program, or pass its key with --env NAME",
    )
