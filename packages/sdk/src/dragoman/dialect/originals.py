"""Keeps the unchanged original of converted content in `_meta`, so that the way back needs no guess.

On the way back the original is used only if it still means what stands beside it: whoever changed the message
in between is believed, not the original. Secrets never travel in it: values under names that hold them are
left out, and an original that lost something that way is never used for the way back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dragoman.dialect.message import Json, Object, as_object

KEY = "dragoman/dialect"

_SECRET_NAMES = re.compile(
    r"(?i)(pass(word|wd|phrase)?|secret|token|credential|authorization|cookie|api[_-]?key|private[_-]?key|^env$|^headers$)"
)


def keep(fields: Object, dialect: str, original: Json) -> Object:
    """Return `fields` with their original in `_meta`."""
    raw = without_secrets(original)
    entry: Object = {"name": dialect, "raw": raw}
    if raw != original:
        entry["partial"] = True
    return {**fields, "_meta": {**as_object(fields.get("_meta")), KEY: entry}}


def original_of(fields: Object, dialect: str) -> Json | None:
    """Return the original, if it belongs to this dialect and is complete."""
    entry = as_object(as_object(fields.get("_meta")).get(KEY))
    return None if entry.get("name") != dialect or entry.get("partial") else entry.get("raw")


def restore(fields: Object, dialect: str, convert: Callable[[Any], Object]) -> Json | None:
    """Return the original, if it is complete and converting it again gives the same `fields`."""
    original = original_of(fields, dialect)
    if original is None:
        return None
    return original if drop_original(convert(original)) == drop_original(fields) else None


def drop_original(fields: Object) -> Object:
    """Return `fields` without their original, and without `_meta` if it would be empty."""
    meta = as_object(fields.get("_meta"))
    if KEY not in meta:
        return fields
    rest = {name: value for name, value in meta.items() if name != KEY}
    bare = {name: value for name, value in fields.items() if name != "_meta"}
    return {**bare, "_meta": rest} if rest else bare


def without_secrets(value: Json) -> Json:
    if type(value) is dict:
        return {
            name: without_secrets(inner) for name, inner in value.items() if not _SECRET_NAMES.search(name)
        }
    if type(value) is list:
        return [without_secrets(inner) for inner in value]
    return value
