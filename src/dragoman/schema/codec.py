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

from msgspec import Raw
from msgspec.json import Decoder, Encoder

from .base import Unknown, UnknownFields
from .choice import decode_choice
from .errors import SchemaError

if TYPE_CHECKING:
    from .lenient import Deviation

__all__ = ["Source", "examine", "read", "reader", "write", "write_into"]

T = TypeVar("T")
Source = bytes | bytearray | memoryview | Raw
Decode = Callable[[Any], Any]


class _Decoders(dict[Any, Decode]):
    """The native decoder of each type, made when first asked for."""

    def __missing__(self, kind: Any) -> Decode:
        decode = self[kind] = Decoder(kind, dec_hook=decode_choice).decode
        return decode


_decoders = _Decoders()


@overload
def read(raw: Source | None, kind: type[T]) -> T: ...
@overload
def read(raw: Source | None, kind: Any) -> Any: ...
def read(raw: Source | None, kind: Any) -> Any:
    """The message in `raw`; None and empty bytes are params that were left out."""
    try:
        return _decoders[kind](raw)
    except (ValueError, RecursionError, TypeError):
        pass  # left behind: its text may hold values of the message, and must not hang on a SchemaError
    return _read_leniently(raw, kind)


@overload
def reader(kind: type[T]) -> Callable[[Source | None], T]: ...
@overload
def reader(kind: Any) -> Callable[[Source | None], Any]: ...
def reader(kind: Any) -> Callable[[Source | None], Any]:
    """`read` for one type, for those who read many of them."""
    decode = _decoders[kind]

    def read_one(raw: Source | None) -> Any:
        try:
            return decode(raw)
        except (ValueError, RecursionError, TypeError):
            pass  # as in `read`
        return _read_leniently(raw, kind)

    return read_one


def examine(raw: Source | None, kind: Any) -> tuple[Any, list[Deviation]]:
    """The message, and everything that had to be forgiven to read it."""
    deviations: list[Deviation] = []
    try:
        return _decoders[kind](raw), deviations
    except (ValueError, RecursionError, TypeError):
        pass  # as in `read`
    return _read_leniently(raw, kind, deviations), deviations


def _read_leniently(raw: Source | None, kind: Any, deviations: list[Deviation] | None = None) -> Any:
    # Imported when first needed: most conversations never are.
    from .lenient import read_leniently

    return read_leniently(raw, kind, _decoders, deviations)


class _HasUnknownFields(Exception):
    """Raised inside the encoder to stop it: an object holds fields that belong one level higher."""


def _encode_unknown(value: Any) -> Any:
    if isinstance(value, Unknown):
        return value.raw
    if isinstance(value, UnknownFields):
        raise _HasUnknownFields
    raise SchemaError("$", f"cannot be written: {type(value).__name__}")


_encoder = Encoder(enc_hook=_encode_unknown)
_encode = _encoder.encode
_encode_into = _encoder.encode_into


def write(message: Any) -> bytes:
    """The message as JSON."""
    try:
        return _encode(message)
    except _HasUnknownFields:
        return _encode(_hoisted(message))
    except (UnicodeEncodeError, RecursionError) as problem:
        raise _unwritable(problem) from None


def write_into(buffer: bytearray, message: Any) -> None:
    """The message as JSON, at the end of `buffer`, which is left as it was if that fails."""
    start = len(buffer)
    try:
        _encode_into(message, buffer, -1)
    except _HasUnknownFields:
        del buffer[start:]
        _encode_into(_hoisted(message), buffer, -1)
    except (ValueError, TypeError, RecursionError) as problem:
        del buffer[start:]
        raise _unwritable(problem) from None


def _hoisted(message: Any) -> Any:
    from .hoist import hoisted

    return hoisted(message)


def _unwritable(problem: Exception) -> Exception:
    """Lone surrogates come from file names and broken decoders; no JSON text can hold them."""
    if isinstance(problem, UnicodeEncodeError):
        return SchemaError("$", "a string holds a lone surrogate, which is not text")
    if isinstance(problem, RecursionError):
        return SchemaError("$", "nested too deeply")
    return problem
