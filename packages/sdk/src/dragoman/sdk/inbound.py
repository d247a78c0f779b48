"""Reads typed messages that the SDK receives, and gives a reason for each failure that is safe to show.

Requests that do not have their method's shape are answered `-32602` (or `-32700` if they were not text at
all); answers that do not are the peer's mistake and raise `BadAnswer`. Neither ever quotes the message.

An answer without a result arrives here as null. It is read as an empty object where the method's result has
no required member (`session/set_mode`, `session/close`, `authenticate`, `terminal/kill` …): agents whose
handler returns nothing write it so, and it can mean only success. That is logged once for each method.
Everywhere else it is a `BadAnswer`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from dragoman.errors import BadAnswer, ErrorAnswer
from dragoman.schema.codec import read, strict_reader
from dragoman.schema.errors import SchemaError
from dragoman.wire.codes import PARSE_ERROR, invalid_params

log = logging.getLogger(__name__)

T = TypeVar("T")

NO_RESULT = "has neither a result nor an error (or null as its result)"

_reported_methods: set[str] = set()  # methods; each deviation is reported once


def read_params(raw: Raw | None, type_: type[T]) -> T:
    try:
        return read(b"{}" if raw is None else raw, type_)
    except SchemaError as error:
        if error.not_json:
            raise ErrorAnswer(PARSE_ERROR, "Parse error: the text is not valid JSON") from None
        raise invalid_params(str(error)) from None


def read_plain(raw: Raw | None) -> Any:
    """Return the params of an extension as plain data."""
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        raise invalid_params("the params cannot be read") from None


def params_reader(type_: type[T]) -> Callable[[Raw | None], T]:
    """Return `read_params` for one type, for callers that read many messages of it."""
    strict = strict_reader(type_)

    def read_them(raw: Raw | None) -> T:
        try:
            return strict(raw)  # type: ignore[no-any-return]  # of this very type
        except (ValueError, RecursionError, TypeError):
            pass  # left out, or to be read leniently, or not at all
        return read_params(raw, type_)

    return read_them


def read_result(raw: Raw, type_: type[T], method: str) -> T:
    try:
        return strict_reader(type_)(raw)  # type: ignore[no-any-return]  # of this very type
    except (ValueError, RecursionError, TypeError):
        pass  # to be read leniently, or not at all
    is_null = bytes(raw) == b"null"
    try:
        result = read(raw, type_)
    except SchemaError as error:
        why = NO_RESULT if is_null else f"does not have its shape: {error}"
        raise BadAnswer(f"the answer to {method} {why}") from None
    if is_null and method not in _reported_methods:
        _reported_methods.add(method)
        log.info("the answer to %s %s; it is read as an empty result", method, NO_RESULT)
    return result
