"""Writes values as JSON that any program can read and any terminal can show.

A name of a file, an argument and a variable are bytes to the system; what of them is not text is a lone
surrogate in Python, which no JSON can hold. It is written as U+FFFD: a report about a thousand files is not
lost because of the name of one.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.text.sanitize import sanitize_json

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")


def encode_json(value: object, *, indent: int = 0) -> bytes:
    """Return the value as sanitized JSON, on one line unless `indent` is set."""
    data = encode_with_names(value)
    return sanitize_json(msgspec.json.format(data, indent=indent) if indent else data)


def encode_with_names(value: object) -> bytes:
    """Return the value as JSON; it may hold system names that are not valid text."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(value))


def as_text(name: str) -> str:
    """Return a system name as text."""
    return _SURROGATE.sub("\ufffd", name)


def in_ascii(text: str) -> str:
    """Return the same JSON for an output whose encoding lacks some of its characters."""
    return _NOT_ASCII.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _without_surrogates(value: object) -> Any:
    def clean(item: object) -> object:
        match item:
            case str():
                return as_text(item)
            case dict():
                return {clean(key): clean(each) for key, each in item.items()}
            case list() | tuple():
                return [clean(each) for each in item]
        return item

    return clean(msgspec.to_builtins(value, builtin_types=(msgspec.Raw,)))
