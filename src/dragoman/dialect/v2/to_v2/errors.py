"""Errors: both versions share their codes. Whatever an agent sends as an error is made one."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_object
from dragoman.wire.codes import INTERNAL_ERROR, NAMES, NOT_FOUND


def error_in_v2(value: Json, session_id: str | None = None) -> Object:
    """`session_id` is the session that the failed request was about: v2 names it where it is unknown."""
    fields = as_object(value)
    code, said = fields.get("code"), fields.get("message")
    if type(code) is not int or not -(2**31) <= code < 2**31:
        code = INTERNAL_ERROR
    error: Object = {"code": code, "message": said if type(said) is str else NAMES.get(code, "Error")}
    if fields.get("data") is not None:
        error["data"] = fields["data"]
    if code == NOT_FOUND and session_id is not None and "data" not in error:
        error["data"] = {"sessionId": session_id}
    return error
