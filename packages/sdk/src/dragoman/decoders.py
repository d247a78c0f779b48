"""Decoders of message types, each built by one thread at a time.

msgspec builds its table of a type's fields when the type is first decoded, and stores the table before it is
complete, because a type may contain itself. A second thread that decodes the same type in that moment reads
a half-built table, and the interpreter crashes. So every decoder of the house is built here, under one lock.
A finished decoder may be used by any number of threads.
"""

from __future__ import annotations

from _thread import RLock  # `threading.RLock`, without what loading the rest of it takes
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, overload

import msgspec

__all__ = ["convert", "decode_json", "json_decoder", "msgpack_decoder"]

T = TypeVar("T")
Source: TypeAlias = bytes | bytearray | memoryview | msgspec.Raw
Hook: TypeAlias = Callable[[type, Any], Any]

_building = RLock()
_built: set[Any] = set()


@overload
def json_decoder(kind: type[T], *, dec_hook: Hook | None = None) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: object, *, dec_hook: Hook | None = None) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: object, *, dec_hook: Hook | None = None) -> Any:
    """`msgspec.json.Decoder(kind)`. Building a decoder is slow, so keep it."""
    with _building:
        return msgspec.json.Decoder(kind, dec_hook=dec_hook)


@overload
def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]: ...
@overload
def msgpack_decoder(kind: object) -> msgspec.msgpack.Decoder[Any]: ...
def msgpack_decoder(kind: object) -> Any:
    """`msgspec.msgpack.Decoder(kind)`."""
    with _building:
        return msgspec.msgpack.Decoder(kind)


@overload
def decode_json(raw: Source, kind: type[T]) -> T: ...
@overload
def decode_json(raw: Source, kind: object) -> Any: ...
def decode_json(raw: Source, kind: object) -> Any:
    """`msgspec.json.decode(raw, type=kind)`, for types that are decoded too seldom to keep a decoder."""
    _build_once(kind)
    return msgspec.json.decode(raw, type=kind)


@overload
def convert(value: object, kind: type[T], *, strict: bool = True, dec_hook: Hook | None = None) -> T: ...
@overload
def convert(value: object, kind: object, *, strict: bool = True, dec_hook: Hook | None = None) -> Any: ...
def convert(value: object, kind: object, *, strict: bool = True, dec_hook: Hook | None = None) -> Any:
    """`msgspec.convert(value, kind)`."""
    _build_once(kind)
    return msgspec.convert(value, kind, strict=strict, dec_hook=dec_hook)


def _build_once(kind: object) -> None:
    if kind not in _built:
        json_decoder(kind)
        _built.add(kind)
