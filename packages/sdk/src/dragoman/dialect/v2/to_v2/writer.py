"""Writes v1 values in v2: content, updates, tool calls, diffs, options, questions.

Each function takes a value as a peer may have sent it, and gives what v2's strict schema accepts, or None if
nothing of it can be said. What is left out or mended on the way is told to the `V2Writer`. Nothing here
remembers anything.

Who keeps account of what a conversion had to leave out or mend, and the cleaning that conversions share.

v1 reads leniently: a member of the wrong type counts as absent. v2's strict schema refuses or drops such
members, so they are dropped here, and said.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.message import Json, Object, as_object
from dragoman.dialect.v2.to_v1.fields import LossReporter
from dragoman.dialect.v2.to_v2.ledger_notes import NO_PLACE, RELATIVE, WRONG
from dragoman.wire.codes import INTERNAL_ERROR, NAMES, NOT_FOUND

Check: TypeAlias = Callable[[Any], bool]


class V2Writer(Struct, frozen=True):
    """Writes v1 values in v2. `cwd` is the folder of the session in question."""

    report: LossReporter
    cwd: str = "/"

    def note(self, note: LedgerNote) -> None:
        if note.outcome == "lost":
            self.report.note_loss(note.what, note.action)
        else:
            self.report.note_repair(note.what, note.action)

    def absolute(self, path: str) -> str:
        """Return an absolute path, as v2 requires. Absolute paths of Windows count too."""
        if path.startswith("/") or WINDOWS.match(path):
            return path
        self.note(RELATIVE)
        return posixpath.normpath(posixpath.join(self.cwd, path))

    def clean(self, fields: Object, checks: Mapping[str, Check]) -> Object:
        """Return `fields` without nulls, which have no meaning in v1, and without values that v2 does not
        accept.
        """
        members = {}
        for name, value in fields.items():
            check = checks.get(name)
            if value is None:
                continue
            if check is None:
                self.note(NO_PLACE)
            elif check(value):
                members[name] = value
            else:
                self.note(WRONG)
        return members


WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def is_text(value: Json) -> bool:
    return type(value) is str


def is_flag(value: Json) -> bool:
    return type(value) is bool


def is_object(value: Json) -> bool:
    return type(value) is dict


def is_list(value: Json) -> bool:
    return type(value) is list


def is_count(value: Json) -> bool:
    """Whether a value is an unsigned integer that every JSON reader supports."""
    return type(value) is int and 0 <= value < 2**63


def is_number(value: Json) -> bool:
    return type(value) in (int, float)


def is_texts(value: Json) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def anything(value: Json) -> bool:
    return True


def error_in_v2(value: Json, session_id: str | None = None) -> Object:
    """Translate an error into v2. `session_id` is the session of the failed request: v2 names an unknown
    session.
    """
    fields = as_object(value)
    code, message = fields.get("code"), fields.get("message")
    if type(code) is not int or not -(2**31) <= code < 2**31:
        code = INTERNAL_ERROR
    error: Object = {"code": code, "message": message if type(message) is str else NAMES.get(code, "Error")}
    if fields.get("data") is not None:
        error["data"] = fields["data"]
    if code == NOT_FOUND and session_id is not None and "data" not in error:
        error["data"] = {"sessionId": session_id}
    return error
