"""Finds secrets in JSON frames: in their strings by `search`, and by their structure. Pure.

A frame is decoded, each of its strings is redacted, and it is encoded again: so it stays JSON, and nothing
but strings differs. Values under a telling name go whatever they look like, and so do environments, headers
of requests, and the data of a login. What is not JSON is redacted as text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import msgspec

from dragoman_local.secrets.names import REDACTED, is_telling
from dragoman_local.secrets.search import hint_places, redact
from dragoman_local.secrets.words import places_of

PAIRS = frozenset({"env", "headers", "environment", "httpheaders", "dragomancredentials"})
"""Names of lists or tables whose values are never stored, under any name."""

_PAIR_ENDS = (b'env"', b'headers"', b'environment"', b'credentials"', b'"value"')


has_quote = re.compile(rb'"(?<!\\")').search
"""Finds a quote that ends a string of JSON, behind which a value may begin; the sign first, so that it is
found quickly.
"""


def has_frame_hint(frame: bytes) -> bool:
    """Whether a frame may contain a secret."""
    return next(frame_hint_places(frame), None) is not None


def frame_hint_places(frames: bytes) -> Iterator[int]:
    """Return the places in a frame, or in several with a zero byte between them, that need a full search.
    They are read as Latin-1: all signs of a secret are ASCII.
    """
    low = frames.lower()
    ends = _PAIR_ENDS if has_quote(low, len(b'\0\n"')) else ()
    yield from (at + len(end) - 1 for end in ends for at in places_of(low, end))
    if b"authenticate" in frames:
        yield from (match.start() for match in re.finditer(b'"data"', frames))
    yield from hint_places(frames.decode("latin-1"), low)


def redact_frame(frame: bytes) -> bytes:
    """Return the frame without known secrets; the same object if there are none."""
    return redact_suspect(frame) if has_frame_hint(frame) else frame


def redact_suspect(frame: bytes) -> bytes:
    """Do the same without checking first for a sign."""
    try:
        message = msgspec.json.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = frame.decode(errors="surrogateescape")
        redacted_text = redact(text)
        return frame if redacted_text == text else redacted_text.encode(errors="surrogateescape")
    hidden = _hide_login(_hide(message))
    return frame if hidden == message else msgspec.json.encode(hidden)


_redact_name = functools.lru_cache(4096)(redact)
"""The same names come again and again."""


def _hide(value: object) -> object:
    """The value with its secrets hidden."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        fields = {_redact_name(name): _hide_named(name, field) for name, field in value.items()}
        # A pair: the one field is the name of the other.
        if "value" in value and any(is_telling(str(value.get(name, ""))) for name in ("name", "key")):
            fields["value"] = REDACTED if isinstance(value["value"], str) else fields["value"]
        return fields
    return _hide_options([_hide(item) for item in value]) if isinstance(value, list) else value


def _hide_options(items: list[object]) -> list[object]:
    """The arguments of a command: what follows `--token` is a secret."""
    for at, option in enumerate(items[:-1]):
        if isinstance(option, str) and option.startswith("--") and is_telling(option) and "=" not in option:
            value = items[at + 1]
            if isinstance(value, str) and not value.startswith("-"):
                items[at + 1] = REDACTED
    return items


def _hide_login(message: object) -> object:
    """Some dialects log in with `data` in `authenticate`, under any names."""
    if isinstance(message, dict) and message.get("method") == "authenticate":
        params = message.get("params")
        if isinstance(params, dict) and params.get("data"):
            return {**message, "params": {**params, "data": REDACTED}}
    return message


def _hide_named(name: str, value: object) -> object:
    if isinstance(value, str) and value and is_telling(name):
        return REDACTED
    is_pairs = "".join(filter(str.isalnum, name)).lower() in PAIRS
    return _hide_pairs(value) if is_pairs else _hide(value)


def _hide_pairs(value: object) -> object:
    if isinstance(value, dict):
        return {name: REDACTED if isinstance(field, str) else _hide(field) for name, field in value.items()}
    if isinstance(value, list):
        return [
            {**item, "value": REDACTED} if isinstance(item, dict) and "value" in item else _hide(item)
            for item in value
        ]
    return _hide(value)
