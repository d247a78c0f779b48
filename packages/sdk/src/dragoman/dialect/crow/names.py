"""Names in crow's spelling and in v1's.

Only names that v1 has are spelled anew, at any depth; what anybody made up keeps its spelling. Values that
belong to a tool or to whoever agreed on `_meta` are not looked into.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialect.message import Json, Object
from dragoman.dialect.originals import keep
from dragoman.schema import SchemaError, examine, v1
from dragoman.schema.codec import strict_reader

NAME = "crow"

_CAMEL = (
    *("additionalDirectories", "availableCommands", "availableModes", "configOptions", "currentModeId"),
    *("cachedReadTokens", "cachedWriteTokens", "inputTokens", "outputTokens", "thoughtTokens", "totalTokens"),
    *("compactionId", "recipientMessageId", "recipientSessionId", "senderMessageId", "senderSessionId"),
    *("messageId", "planId", "sessionId", "terminalId", "toolCallId", "stopReason", "currentValue"),
    *("lastModified", "mimeType", "newText", "oldText", "rawInput", "rawOutput", "updatedAt"),
)

SNAKE_OF = {name: re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name) for name in _CAMEL}
CAMEL_OF = {snake: camel for camel, snake in SNAKE_OF.items()}

_OPAQUE = frozenset({"_meta", "rawInput", "rawOutput", "raw_input", "raw_output", "arguments"})
_DEPTH = 50
"""Nothing of v1 is nested deeper than a few levels; what is, is nobody's names."""


def to_camel(value: Json) -> Json:
    return _rename_members(value, CAMEL_OF, _DEPTH)


def to_snake(value: Json) -> Json:
    return _rename_members(value, SNAKE_OF, _DEPTH)


def _rename_members(value: Json, names: dict[str, str], depth: int) -> Json:
    if type(value) is list and depth:
        return [_rename_members(inner, names, depth - 1) for inner in value]
    if type(value) is not dict or not depth:
        return value
    result = {}
    for name, inner in value.items():
        new_name = names.get(name, name)
        if new_name == name or new_name not in value:  # a member that already has the new name wins
            result[new_name] = inner if name in _OPAQUE else _rename_members(inner, names, depth - 1)
    return result


def either(fields: Object, snake: str, camel: str) -> Json:
    """Return a field by crow's name or by v1's name."""
    return fields[snake] if snake in fields else fields.get(camel)


def fits(value: Json, kind: str) -> bool:
    """Whether the value is a valid v1 message of this type, without unknown fields."""
    try:
        strict_reader(getattr(v1, kind))(msgspec.json.encode(value))
    except (ValueError, TypeError, RecursionError):  # all that msgspec says about what does not fit
        return False
    return True


def readable(value: Json, kind: str) -> bool:
    """Whether the value is a valid v1 message of this type, apart from unknown fields."""
    if fits(value, kind):
        return True
    try:
        _, deviations = examine(msgspec.json.encode(value), getattr(v1, kind))
    except (SchemaError, ValueError, TypeError, RecursionError):
        return False
    return all(deviation.kind == "unknown field" for deviation in deviations)


def with_original(fields: Object, original: Object) -> Object:
    """`fields` with the original in `_meta`, unless the original is nested too deep to be read."""
    return keep(fields, NAME, original) if shallow(original) else fields


def shallow(value: Json) -> bool:
    """Whether a value is nested flat enough to walk through it safely."""
    level: list[Any] = [value]
    for _ in range(_DEPTH):
        level = [
            inner
            for node in level
            if type(node) in (dict, list)
            for inner in (node.values() if type(node) is dict else node)
        ]
        if not level:
            return True
    return False


def without_nulls(fields: Object) -> Object:
    """Remove nulls, which mean "absent" in v1, wherever they have no meaning in crow."""
    return {name: value for name, value in fields.items() if value is not None}
