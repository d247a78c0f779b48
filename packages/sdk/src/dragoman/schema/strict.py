"""The strict writer: refuses to send a message that the published schema does not allow.

The types are lenient on purpose: msgspec does not look at the values that a struct is made with, and closed
lists of values (`ToolKind`, `PlanEntryStatus` …) are plain strings when they are read, because a later
version may have more of them. Most messages are surely valid, which `valid` says at once. Any other is read
back when it is written: natively, in one call, for kinds of values and their bounds; then the fields that the
schema restricts to a list. What a peer said, and is passed on with its unknown fields and members, is let
through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, MsgspecError, json

from .base import Bare
from .codec import examine, strict_reader, write
from .errors import SchemaError
from .valid import is_surely_valid, is_valid_at_first_sight

LARGE = 1024 * 1024
"""The size in bytes from which a message is checked in Python instead of being read back."""

_BYTES = (bytes, bytearray, memoryview)
_BASE64 = ("data", "blob")
"""Fields in which the protocol itself wants base64: there bytes become what they should."""

_PASSED_ON = ("unknown field", "unknown member")
NOT_OF_IT = "must be of the protocol"

# Not compiled here: they are for messages that are wrong, and every start would pay for it.
_PLACE = r" - at `([^`]*)`"
_MISSING = r"Object missing required field (`\w+`)"
_EXPECTED = r"Expected (.*?)(?:, got .*)?$"
_STEP = r"\.([^.\[\]]+)|\[(\d+)\]"


class WrongValue(SchemaError):
    """Our message must not be sent: the `value` at `path` is wrong, for `reason`.

    The text of the error does not hold the value, as with any `SchemaError`.
    """

    def __init__(self, path: str, value: object, reason: str) -> None:
        super().__init__(path, reason)
        self.value = value


def write_strictly(message: object, kind: object) -> bytes:
    """Write the message as JSON if it is valid for its type; otherwise raise `WrongValue` or another
    `SchemaError`.
    """
    if is_surely_valid(message, kind):
        return write(message)
    return write_and_read_back(message, kind)


def write_and_read_back(message: object, kind: object) -> bytes:
    """Write a message that may be invalid, and validate it by reading it back."""
    encoded = write(message)
    if len(encoded) >= LARGE and is_valid_at_first_sight(message, kind):
        return encoded  # to read it back would take as much memory again
    try:
        found = strict_reader(kind)(encoded)
    except RecursionError:  # Python 3.14 writes more levels than it reads
        raise SchemaError("$", "nested too deeply") from None
    except (ValueError, TypeError) as refused:
        found = _passed_on(encoded, kind, refused)
    _refuse_silent_changes(message, found, "")
    if isinstance(found, Bare) and found._checked and not _is_listed(found):
        raise next(_wrong_values(found, ""))
    return encoded


def _refuse_silent_changes(given: Any, found: object, place: str) -> None:
    """The encoder writes bytes as base64 and a number that is none as null. Where the protocol wants text, a
    file would then hold something else than its author wrote.
    """
    if isinstance(found, Bare):
        for name, wire_name in zip(found.__struct_fields__, found.__struct_encode_fields__, strict=True):
            value = given.get(wire_name) if isinstance(given, dict) else getattr(given, name, None)
            is_base64 = name in _BASE64 and isinstance(value, _BYTES)
            if value is not None and value is not UNSET and not is_base64:
                _refuse_silent_changes(value, getattr(found, name), f"{place}.{name}" if place else name)
    elif isinstance(found, list):
        if isinstance(given, list | tuple):
            for at, (value, item) in enumerate(zip(given, found, strict=False)):
                _refuse_silent_changes(value, item, f"{place}[{at}]")
    elif isinstance(given, _BYTES):
        raise WrongValue(place, bytes(given), "must be text; decode bytes first")
    elif found is None and isinstance(given, float):
        raise WrongValue(place, given, "must be a value that JSON has")


def _is_listed(message: Bare) -> bool:
    """Whether each value is one of those that the schema lists for its field. Asked for every message, so it
    does not say which.
    """
    for name, allowed in message._checked.items():
        value = getattr(message, name)
        if value is UNSET or value is None:
            continue
        kind = type(value)
        many = value if kind is list else value.values() if kind is dict else (value,)
        for one in many:
            if allowed:
                if one not in allowed:
                    return False
            elif isinstance(one, Bare) and one._checked and not _is_listed(one):
                return False
    return True


def _wrong_values(message: Bare, place: str) -> Iterator[WrongValue]:
    for name, allowed in message._checked.items():
        value = getattr(message, name)
        if value is UNSET or value is None:
            continue
        path = f"{place}.{name}" if place else name
        for where, one in _each(value, path):
            if allowed and one not in allowed:
                yield WrongValue(where, one, f"must be one of {', '.join(map(repr, allowed))}")
            elif isinstance(one, Bare) and one._checked:
                yield from _wrong_values(one, where)


def _each(value: object, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        yield from ((f"{path}[{at}]", one) for at, one in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", one) for key, one in value.items())
    else:
        yield path, value


def _passed_on(encoded: bytes, kind: object, refused: Exception) -> Any:
    """The message, if nothing is wrong with it but what only a peer could have put there."""
    try:
        found, deviations = examine(encoded, kind)
    except SchemaError as error:
        raise _explain(encoded, refused, error.path) from None
    for deviation in deviations:
        if deviation.kind not in _PASSED_ON:
            raise _explain(encoded, refused, deviation.path) from None
    return found


def _explain(encoded: bytes, refused: Exception, path: str) -> WrongValue:
    """The decoder says what it expected and where. A union that it leaves to us says less; then the lenient
    reader knows the place.
    """
    said = str(refused)
    place = re.search(_PLACE, said)
    expected = said[: place.start()] if place is not None and isinstance(refused, MsgspecError) else ""
    if place is not None and len(place[1]) >= len(path):
        path = place[1]
    return WrongValue(_python_path(path), _value_at(encoded, path), _allowed_values(expected))


def _allowed_values(expected: str) -> str:
    """What may stand there, from the words of the decoder."""
    if wanted := re.match(_EXPECTED, expected):
        return f"must be {wanted[1]}"
    if missing := re.match(_MISSING, expected):
        return f"must have the field {missing[1]}"
    return f"must be of the protocol: {expected[:1].lower()}{expected[1:]}" if expected else NOT_OF_IT


def _python_path(path: str) -> str:
    """A path in the names of Python: `$.entries[0].priority` is `entries[0].priority`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", path.lstrip("$").lstrip("."))


def _value_at(encoded: bytes, path: str) -> Any:
    value = json.decode(encoded)
    for name, index in re.findall(_STEP, path):
        try:
            value = value[int(index)] if index else value[name]
        except (LookupError, TypeError):
            return None  # it is missing
    return value
