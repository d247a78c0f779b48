"""Translates error codes, both ways. ACPex's overview has its own numbers, and two of them mean something
else in v1: -32002 is "permission denied" there and "not found" here, -32001 is "not found" and, in its
examples, "authentication failed". So codes are translated by their meaning, and the original code stays in
`data.acpexCode`. The code of ACPex also uses -32000 for any failure; v1 clients would ask their user to log
in.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.dialect.acpex.ledger_notes import DENIED, ERROR_CODE
from dragoman.dialect.ledger import Note
from dragoman.dialect.message import Json, Object, as_object
from dragoman.wire.codes import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NAMES,
    NOT_FOUND,
)

FAILED = -32000
MISSING = -32001
REFUSED = -32002
BAD_STATE = -32003
UNSUPPORTED = -32004

MEANINGS: dict[int, tuple[int, ...]] = {
    FAILED: (INTERNAL_ERROR, AUTH_REQUIRED),
    MISSING: (NOT_FOUND, AUTH_REQUIRED),
    REFUSED: (INTERNAL_ERROR,),
    BAD_STATE: (INVALID_REQUEST,),
    UNSUPPORTED: (METHOD_NOT_FOUND,),
}
"""The v1 meaning of each ACPex code; if there are two, the second is for failed logins."""

SPOKEN = {AUTH_REQUIRED: MISSING, NOT_FOUND: MISSING} | dict.fromkeys(
    (MISSING, BAD_STATE, UNSUPPORTED), INTERNAL_ERROR
)
"""The ACPex code for each v1 code. The last three have a meaning only in ACPex, so they must not pass
unchanged.
"""

_LOGIN = re.compile(r"(?i)\b(un)?auth(enticat\w+|oriz\w+)?\b|\bapi key\b|\bcredentials?\b")


def read_error(error: Json, method: str, note: Note) -> Object:
    """Translate an error of an ACPex peer into v1."""
    code, fields = _code_and_error(error)
    if code not in MEANINGS:
        return fields
    note(DENIED if code == REFUSED else ERROR_CODE)
    meaning = MEANINGS[code][-1 if _about_login(method, fields["message"]) else 0]
    return {**fields, "code": meaning, "data": _with("acpexCode", code, fields)}


def write_error(error: Json, note: Note) -> Object:
    """Translate an error of a v1 peer into ACPex."""
    code, fields = _code_and_error(error)
    acpex_code = as_object(fields.get("data")).get("acpexCode")
    if type(acpex_code) is int and code in MEANINGS.get(acpex_code, ()):
        return _restore_error(fields, acpex_code)
    if code not in SPOKEN:
        return fields
    note(ERROR_CODE)
    return {**fields, "code": SPOKEN[code], "data": _with("v1Code", code, fields)}


def _code_and_error(error: Json) -> tuple[int, Object]:
    """The error with a code and a message, whatever the peer left out."""
    fields = as_object(error)
    number, message = fields.get("code"), fields.get("message")
    code = number if type(number) is int else INTERNAL_ERROR
    text = message if type(message) is str else NAMES.get(code, "Error")
    return code, {**fields, "code": code, "message": text}


def _about_login(method: str, message: str) -> bool:
    """Texts count only where an agent speaks of itself: a file may be called anything."""
    return method == "authenticate" or (
        method in ("initialize", "session/new", "session/load", "session/prompt")
        and _LOGIN.search(message) is not None
    )


def _with(name: str, code: int, fields: Object) -> Object:
    if "data" not in fields:
        return {name: code}
    data: Any = fields["data"]
    return {**data, name: code} if type(data) is dict else {name: code, "acpexData": data}


def _restore_error(fields: Object, code: int) -> Object:
    rest = {name: value for name, value in fields["data"].items() if name != "acpexCode"}
    error = {**fields, "code": code}
    del error["data"]
    if "acpexData" in rest:
        return {**error, "data": rest["acpexData"]}
    return {**error, "data": rest} if rest else error
