"""Redaction written plainly: decodes each frame, walks all of it, and tries every shape on it.

It has no shortcut, so it is the measure of the one that is used: `redact` must do the same to every frame.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.journal.redaction import REDACTED
from dragoman.journal.secret_patterns import AFTER, NAMED, PAIRS, SHAPES


def redact_plainly(frame: bytes) -> bytes:
    try:
        message = msgspec.json.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        hidden = frame
    else:
        changed = _hide_login(_hide(message))
        hidden = frame if changed == message else msgspec.json.encode(changed)
    for _, shape in SHAPES:
        hidden = shape.sub(REDACTED.encode(), hidden)
    for _, shape in AFTER:
        hidden = shape.sub(rb"\g<1>" + REDACTED.encode(), hidden)
    return hidden


def _hide(value: Any) -> Any:
    if isinstance(value, list):
        return [_hide(item) for item in value]
    if not isinstance(value, dict):
        return value
    hidden = {}
    for name, held in value.items():
        bare = "".join(letter for letter in name if letter.isalnum()).lower()
        if bare in NAMED and isinstance(held, str) and held:
            hidden[name] = REDACTED
        elif bare in PAIRS:
            hidden[name] = _hide_pairs(held)
        else:
            hidden[name] = _hide(held)
    return hidden


def _hide_pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: REDACTED if isinstance(held, str) else _hide(held) for name, held in value.items()}
    if isinstance(value, list):
        return [
            {**item, "value": REDACTED} if isinstance(item, dict) and "value" in item else _hide(item)
            for item in value
        ]
    return value


def _hide_login(message: Any) -> Any:
    if isinstance(message, dict) and message.get("method") == "authenticate":
        params = message.get("params")
        if isinstance(params, dict) and params.get("data"):
            return {**message, "params": {**params, "data": REDACTED}}
    return message
