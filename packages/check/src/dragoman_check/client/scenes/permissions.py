"""Scenes about permissions: one, several at once, for unknown calls and sessions, and withdrawn ones."""

from __future__ import annotations

from dragoman.wire.envelope import JsonObject
from dragoman_check.client.turn import StandInTurn

ASK = "session/request_permission"
NOBODY = "00000000-0000-4000-8000-000000000000"

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "yes, always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "never", "name": "Always reject", "kind": "reject_always"},
]


async def permissions(turn: StandInTurn) -> None:
    await turn.call(ASK, asking(announce_call(turn)), name="permission")
    finish(turn)
    await turn.call(ASK, asking("never-announced-either"), name="permission of an unknown tool call")
    odd = {"bogus": 1, "_meta": {"sessionId": NOBODY, "options": [], "outcome": "selected"}}
    await turn.call(
        ASK, {**asking(announce_call(turn)), **odd}, name="permission with bogus", request_id="p-1"
    )
    finish(turn)
    await _two(turn)
    stranger = {**asking("call-of-a-stranger"), "sessionId": NOBODY}
    await turn.call(ASK, stranger, name="permission for an unknown session")


async def _two(turn: StandInTurn) -> None:
    """Both open at once; they may be answered in any order."""
    first = turn.position
    try:
        request_ids = [turn.begin(ASK, asking(announce_call(turn))) for _ in range(2)]
        for request_id in reversed(request_ids):
            await turn.answer(ASK, request_id, since=first)
    finally:
        turn.mark("two permissions", first)


async def withdrawn(turn: StandInTurn) -> None:
    """Cancel a permission request."""
    first = turn.position
    try:
        request_id = turn.begin(ASK, asking(announce_call(turn)))
        turn.connection.notify("$/cancel_request", {"requestId": request_id})
        await turn.answer(ASK, request_id, since=first)
        finish(turn)
        turn.connection.notify("$/cancel_request", {"requestId": request_id})
        await turn.quiet()
    finally:
        turn.mark("permission withdrawn", first)


async def hold_permissions(turn: StandInTurn) -> None:
    """Send two permission requests that stay open until the client's user cancels the turn."""
    first = turn.position
    try:
        request_ids = [turn.begin(ASK, asking(announce_call(turn))) for _ in range(2)]
        turn.say("Please cancel this turn now, without answering my questions.")
        for request_id in request_ids:
            await turn.answer(ASK, request_id, since=first)
        turn.say("They were answered. Please cancel this turn now.")
        await turn.until(lambda frame: False, seconds=60, since=first)
    finally:
        turn.mark("held", first)


async def is_allowed(turn: StandInTurn, title: str, *, kind: str, path: str) -> bool:
    """Whether the client's user allows the action; also true without a user."""
    call = turn.call_id()
    locations = [{"path": path}]
    turn.update("tool_call", toolCallId=call, title=title, kind=kind, status="pending", locations=locations)
    tool_call = {"toolCallId": call, "title": title, "kind": kind, "locations": locations}
    answer = await turn.call(ASK, {"toolCall": tool_call, "options": OPTIONS}, name=f"permission to {kind}")
    result = answer.message.get("result")
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if not isinstance(outcome, dict):
        return True
    return outcome.get("outcome") == "selected" and str(outcome.get("optionId")).startswith("yes")


def announce_call(turn: StandInTurn) -> str:
    """Announce a tool call to the client."""
    call = turn.call_id()
    turn.update("tool_call", toolCallId=call, title="Look into it", kind="read", status="pending")
    return call


def finish(turn: StandInTurn) -> None:
    turn.update("tool_call_update", toolCallId=turn.last_call, status="completed")


def asking(call: str) -> JsonObject:
    return {"toolCall": {"toolCallId": call, "title": "Look into it", "kind": "read"}, "options": OPTIONS}
