"""Translates a v2 agent's answers into v1: results, by the method of the request, and errors."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from dragoman.dialect.message import Id, Json, Message, Object, answer, as_list, as_object, refusal, without
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits, fitting
from dragoman.wire.codes import INTERNAL_ERROR, VERSION_UNSUPPORTED


def under_client_id(message: Message, client_id: Id | UnsetType, result: Json) -> Message:
    """Return an answer with the client's id; the same message if nothing changes."""
    if message.id == client_id and message.result is result:
        return message
    return answer(client_id, result)


def plain(method: str, result: Json, report: LossReporter) -> Json:
    """Translate results that differ only in details between the versions."""
    fields = as_object(result)
    if method == "session/list":
        return _convert_list(fields, report)
    if method == "session/status" and "state" in fields:
        report.note_loss("the state in a session's status", "left out: v1 has no place for it")
        return without(fields, "state")
    if result is None or type(result) is not dict:  # v1 answers with objects
        return {}
    return result


def convert_error(message: Message, client_id: Id | UnsetType, report: LossReporter) -> Message:
    """Convert an error. Codes mean the same in both versions, except one code about
    versions, which v1 lacks.
    """
    error = as_object(message.error)
    code, why = error.get("code"), error.get("message")
    if type(code) is not int or type(why) is not str:
        report.note_repair("a malformed error", "said as an internal error")
        return refusal(client_id, INTERNAL_ERROR, "Internal error: the agent failed")
    if code == VERSION_UNSUPPORTED:
        return refusal(client_id, INTERNAL_ERROR, why, error.get("data", UNSET))
    if message.id == client_id:
        return message
    return refusal(client_id, code, why, error.get("data", UNSET))


def _convert_list(result: Object, report: LossReporter) -> Object:
    sessions = [as_object(item) for item in as_list(result.get("sessions"))]
    valid_sessions = [
        item for item in sessions if fits(item.get("sessionId"), str) and fits(item.get("cwd"), str)
    ]
    if len(valid_sessions) < len(sessions):
        report.note_loss("a malformed session in the list", "left out")
    elif valid_sessions == result.get("sessions") and fits(result.get("nextCursor"), (str, type(None))):
        return result
    return {**fitting(result, {"nextCursor": str}, report), "sessions": valid_sessions}
