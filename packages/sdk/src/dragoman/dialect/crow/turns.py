"""Translates the end of turns, both ways.

Crow ends a turn that failed with a stop reason, v1 with an error. Errors about the request itself are errors
in both: the turn they belong to never began.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from dragoman.dialect.crow.errors import is_error, read_error, write_error
from dragoman.dialect.crow.ledger_notes import (
    ANSWER_ODD,
    ERROR_STOP,
    KEPT,
    STOP_ERROR,
    STOP_UNKNOWN,
    STOP_UNKNOWN_TO_CROW,
)
from dragoman.dialect.crow.names import NAME, fits, shallow, to_camel, to_snake, with_original
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Id, Message, Object, answer, as_object, refusal
from dragoman.dialect.originals import drop_original, original_of, restore, without_secrets
from dragoman.schema.v1.prompt import STOP_REASONS
from dragoman.wire.codes import (
    AUTH_REQUIRED,
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    PARSE_ERROR,
)

_CROWS = frozenset({"end_turn", "cancelled"})
_NEVER_BEGAN = frozenset(
    {PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, AUTH_REQUIRED, NOT_FOUND}
)


def read_end(message: Message, note: Note) -> Message:
    """Translate a crow agent's answer to a prompt into v1."""
    if message.error is not UNSET:
        return read_error(message, note)
    result = as_object(message.result)
    stop = result.get("stop_reason")
    if stop == "error":
        note(STOP_ERROR)
        return _failure(message.id, result)
    if type(stop) is str and stop in STOP_REASONS:
        fields = to_camel(result)
        if fits(fields, "PromptResponse"):
            return answer(message.id, fields)
        note(KEPT)
        return answer(message.id, with_original({"stopReason": stop}, result))
    note(STOP_UNKNOWN)
    return answer(message.id, with_original({"stopReason": "end_turn"}, result))


def _failure(request_id: Id | UnsetType, result: Object) -> Message:
    """With the error that was said once, if this was one before."""
    error = as_object(as_object(original_of(result, NAME)).get("error"))
    if is_error(error) and error["code"] not in _NEVER_BEGAN:
        return refusal(request_id, error["code"], error["message"], error.get("data", UNSET))
    data = without_secrets(drop_original(result)) if shallow(result) else {"stop_reason": "error"}
    return refusal(request_id, INTERNAL_ERROR, "Internal error: the agent ended the turn with an error", data)


def write_end(message: Message, note: Note) -> Message:
    """Translate a v1 agent's answer to a prompt into crow."""
    if message.error is not UNSET:
        return _write_failure(message, note)
    result = as_object(message.result)
    original = restore(result, NAME, lambda raw: as_object(read_end(answer(None, raw), ignore_note).result))
    if type(original) is dict:
        return answer(message.id, original)
    stop = result.get("stopReason")
    if type(stop) is not str:
        note(ANSWER_ODD)
        return refusal(message.id, INTERNAL_ERROR, "Internal error: the agent's answer makes no sense")
    if stop not in _CROWS:
        note(STOP_UNKNOWN_TO_CROW)
    return answer(message.id, to_snake(drop_original(result)))


def _write_failure(message: Message, note: Note) -> Message:
    error = as_object(message.error)
    code = error.get("code")
    if code == CANCELLED:  # what the request's own cancellation is called
        return answer(message.id, {"stop_reason": "cancelled"})
    if code in _NEVER_BEGAN if type(code) is int else False:
        return write_error(message, note)
    data = as_object(error.get("data"))
    if code == INTERNAL_ERROR and data.get("stop_reason") == "error":  # a crow agent said it
        return answer(message.id, data)
    note(ERROR_STOP)
    return answer(message.id, with_original({"stop_reason": "error"}, {"error": error}))
