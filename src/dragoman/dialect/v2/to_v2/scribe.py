"""Who keeps account of what a conversion had to leave out or mend, and the cleaning that conversions share.

v1 reads leniently: a member of the wrong type counts as absent. v2's strict schema refuses or drops such
members, so they are dropped here, and said.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman.dialect.message import Json, Object
from dragoman.dialect.v2.to_v1.fields import Teller
from dragoman.dialect.v2.to_v2.remarks import NO_PLACE, RELATIVE, WRONG, Remark

Check: TypeAlias = Callable[[Any], bool]


class Scribe(Struct, frozen=True):
    """`cwd` is the folder of the session that is spoken of."""

    tell: Teller
    cwd: str = "/"

    def note(self, remark: Remark) -> None:
        if remark.outcome == "lost":
            self.tell.lost(remark.what, remark.done)
        else:
            self.tell.repaired(remark.what, remark.done)

    def absolute(self, path: str) -> str:
        """v2's paths are absolute. Windows has its own kind of those."""
        if path.startswith("/") or WINDOWS.match(path):
            return path
        self.note(RELATIVE)
        return posixpath.normpath(posixpath.join(self.cwd, path))

    def clean(self, fields: Object, checks: Mapping[str, Check]) -> Object:
        """`fields` without nulls, which say nothing in v1, and without what v2 would not take."""
        kept = {}
        for name, value in fields.items():
            check = checks.get(name)
            if value is None:
                continue
            if check is None:
                self.note(NO_PLACE)
            elif check(value):
                kept[name] = value
            else:
                self.note(WRONG)
        return kept


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
    """An unsigned number that a JSON reader elsewhere can hold."""
    return type(value) is int and 0 <= value < 2**63


def is_number(value: Json) -> bool:
    return type(value) in (int, float)


def is_texts(value: Json) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def anything(value: Json) -> bool:
    return True
