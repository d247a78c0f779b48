"""Reading and writing typed messages: one C call each, unless something is unusual.

`read` decodes strictly and natively. Only what msgspec refuses goes to the lenient reader, which keeps what
is unknown, heals what the published schema marks as healable, and raises `SchemaError` for the rest; reading
raises nothing else. `write` encodes natively. Only a message that carries unknown fields is taken apart
first, to put them back where they were. What was read and not changed is written with the same meaning, byte
for byte where we did not understand it.

This module does not know JSON-RPC: params and results come and go as the bytes between its braces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import UNSET, Raw
from msgspec.json import Encoder

from dragoman.decoders import json_decoder
from dragoman.schema.base import Bare

from .base import Unknown, UnknownFields
from .choice import decode_choice
from .errors import SchemaError

if TYPE_CHECKING:
    from .lenient import Deviation


T = TypeVar("T")
Source = bytes | bytearray | memoryview | Raw
Decode = Callable[[Any], Any]


class _Decoders(dict[Any, Decode]):
    """The native decoder of each type, made when first asked for."""

    def __missing__(self, kind: object) -> Decode:
        decode = self[kind] = json_decoder(kind, dec_hook=decode_choice).decode
        return decode


_decoders = _Decoders()


@overload
def read(raw: Source | None, kind: type[T]) -> T: ...
@overload
def read(raw: Source | None, kind: object) -> Any: ...
def read(raw: Source | None, kind: object) -> Any:
    """Read the message in `raw`; None and empty bytes mean that the params are absent."""
    try:
        return _decoders[kind](raw)
    except (ValueError, RecursionError, TypeError):
        pass  # left behind: its text may hold values of the message, and must not hang on a SchemaError
    return _read_leniently(raw, kind)


@overload
def reader(kind: type[T]) -> Callable[[Source | None], T]: ...
@overload
def reader(kind: object) -> Callable[[Source | None], Any]: ...
def reader(kind: object) -> Callable[[Source | None], Any]:
    """Return `read` for one type, for callers that read many messages of it."""

    def read_one(raw: Source | None) -> Any:
        try:
            return _decoders[kind](raw)
        except (ValueError, RecursionError, TypeError):
            pass  # as in `read`
        return _read_leniently(raw, kind)

    return read_one


strict_reader: Callable[[Any], Decode] = _decoders.__getitem__
"""The native decoder of a type alone, for callers that handle its errors themselves."""


def examine(raw: Source | None, kind: object) -> tuple[Any, list[Deviation]]:
    """Return the message, and every deviation that was tolerated to read it."""
    deviations: list[Deviation] = []
    try:
        return _decoders[kind](raw), deviations
    except (ValueError, RecursionError, TypeError):
        pass  # as in `read`
    return _read_leniently(raw, kind, deviations), deviations


def _read_leniently(raw: Source | None, kind: object, deviations: list[Deviation] | None = None) -> Any:
    # Imported when first needed: most conversations never are.
    from .lenient import read_leniently

    return read_leniently(raw, kind, _decoders, deviations)


class _HasUnknownFields(Exception):
    """Raised inside the encoder to stop it: an object holds fields that belong one level higher."""


def _encode_unknown(value: object) -> Any:
    if isinstance(value, Unknown):
        return value.raw
    if isinstance(value, UnknownFields):
        raise _HasUnknownFields
    raise SchemaError("$", f"cannot be written: {type(value).__name__}")


_encoder = Encoder(enc_hook=_encode_unknown)

strict_write: Callable[[object], bytes] = _encoder.encode
"""The native encoder alone, for callers that handle the errors in `UNUSUAL` themselves."""

UNUSUAL = (_HasUnknownFields, ValueError, TypeError, RecursionError)


def write(message: object) -> bytes:
    """Write the message as JSON."""
    try:
        return strict_write(message)
    except UNUSUAL as found:
        problem = _told(found)
    return _write_slowly(message, problem)


def _write_slowly(message: object, problem: SchemaError | None) -> bytes:
    if problem is None:
        try:
            return strict_write(hoist(message))
        except UNUSUAL as found:
            problem = _told(found)
    raise problem or SchemaError("$", "unknown fields where they cannot be put back")


def _told(error: Exception) -> SchemaError | None:
    """What the encoder's exception says, without its value; None if only unknown fields stopped it."""
    match error:
        case _HasUnknownFields():
            return None
        case SchemaError():
            return error
        case UnicodeEncodeError():  # from file names and broken decoders; no JSON text can hold them
            return SchemaError("$", "a string holds a lone surrogate, which is not text")
        case RecursionError():
            return SchemaError("$", "nested too deeply")
    return SchemaError("$", "holds something that JSON cannot")


def hoist(value: object) -> Any:
    """Return the value with dictionaries in place of structs, for messages whose unknown fields msgspec can't
    write.
    """
    if isinstance(value, Bare):
        return _object(value)
    if isinstance(value, list | tuple):
        return [hoist(item) for item in value]
    if isinstance(value, dict):
        return {key: hoist(item) for key, item in value.items()}
    return value


def _object(message: Bare) -> dict[str, Any]:
    config = message.__struct_config__
    found: dict[str, Any] = {}
    if config.tag_field is not None:
        found[config.tag_field] = config.tag
    for name, wire in zip(message.__struct_fields__, message.__struct_encode_fields__, strict=True):
        value = getattr(message, name)
        if value is not UNSET and not isinstance(value, UnknownFields):
            found[wire] = hoist(value)
    if message.unknown_fields is not UNSET:
        for wire, raw in message.unknown_fields.raw.items():
            found.setdefault(wire, raw)
    return found
