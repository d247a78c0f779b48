"""Checks typed messages before the SDK sends them, and refuses those that the official schema does not allow.

Whoever wrote the wrong value gets an `InvalidValue` from the very call in which they wrote it. It names the
argument, the value and what is allowed; nothing has been sent then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from dragoman.errors import InvalidValue
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.schema.codec import UNUSUAL, strict_reader, strict_write, write
from dragoman.schema.errors import SchemaError
from dragoman.schema.strict import WrongValue, write_strictly
from dragoman.schema.valid import Check, checks
from dragoman.wire.encode import one_line

T = TypeVar("T")

BLOCK = "must be a string or a content block"

_update_checks: dict[type, Check] = {}  # of `checks`, those whose types are updates


def write_out(message: object, kind: object, what: str) -> bytes:
    """Write the message as JSON, if the protocol allows it; `what` is the method or the message."""
    # What `write_strictly` does with most messages, without asking it: every call and answer comes here.
    check = checks.get(kind) if type(message) is kind else None
    if check is not None and check(message):
        try:
            return strict_write(message)
        except UNUSUAL:
            pass  # below, the error says what is wrong
    try:
        return write_strictly(message, kind)
    except WrongValue as wrong:
        raise InvalidValue(wrong.path or what, wrong.value, f"{wrong.reason} (in {what})") from None
    except SchemaError as error:
        raise InvalidValue(what, message, f"cannot be written: {error.reason}") from None


def write_answer(answer: object, kind: Any, method: str) -> bytes:
    """Write a handler's return value as the result of its request. None means an empty result: if the method
    needs fields, the handler gets the error here, not from a peer that can't read the answer.
    """
    if answer is None and _may_be_empty(kind):
        return b"{}"
    if not isinstance(answer, kind):
        name = getattr(kind, "__name__", str(kind))
        raise TypeError(f"the handler of {method} returned {type(answer).__name__}, not {name}")
    return write_out(answer, kind, method)


@cache
def _may_be_empty(kind: Any) -> bool:
    try:
        strict_reader(kind)(b"{}")
    except ValueError:
        return False
    return True


def write_update(update: object) -> bytes:
    """Write an update of a session."""
    kind = type(update)
    check = _update_checks.get(kind)
    if check is not None and check(update):
        try:
            return strict_write(update)
        except UNUSUAL:
            pass  # a string that is not text: below, the error says where
    config = getattr(kind, "__struct_config__", None)
    if config is None or config.tag_field != "sessionUpdate":
        if type(update) is not Unknown:  # one that a peer sent, and is passed on
            raise InvalidValue("update", update, "must be an update, such as v1.AgentMessageChunk")
        return write(update)
    if kind in checks:
        _update_checks[kind] = checks[kind]
    return write_out(update, kind, config.tag)


def write_plain(params: object, what: str) -> bytes | None:
    """Write params of an extension: any JSON value; None means no params. Encoded ones are checked too."""
    if params is None:
        return None
    if isinstance(params, Raw):
        try:
            msgspec.json.decode(params, type=Raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise InvalidValue("params", bytes(params), f"must be JSON (in {what})") from None
        return one_line(bytes(params))
    try:
        return write(params)
    except SchemaError as error:
        raise InvalidValue("params", params, f"must be JSON: {error.reason} (in {what})") from None


def write_params(params: object, method: str, methods: Mapping[str, Any]) -> bytes | None:
    """Write params of any message as plain data. Params of a method in the protocol must follow the schema,
    also if a notification is sent as a request.
    """
    if method not in methods:
        return write_plain(params, method)
    return write_out({} if params is None else params, methods[method].params, method)


def as_block(content: object, argument: str = "text") -> Any:
    """Return a content block; a string becomes a text block."""
    if isinstance(content, str):
        return v1.TextContent(text=str(content))
    if isinstance(content, _blocks()):
        return content
    raise InvalidValue(argument, content, BLOCK)


def as_list(items: Iterable[T], argument: str) -> list[T]:
    """Return a new list; a string is refused, because its letters would be the items."""
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InvalidValue(argument, items, "must be a list")
    return list(items)


def check_text(value: object, argument: str) -> None:
    if not isinstance(value, str):
        raise InvalidValue(argument, value, "must be a string")
    try:
        value.encode()
    except UnicodeEncodeError:  # from file names and broken decoders; no JSON text can hold it
        raise InvalidValue(argument, value, "must be Unicode text, without lone surrogates") from None


def check_one_of(value: object, options: Sequence[str], argument: str) -> None:
    if value not in options:
        raise InvalidValue(argument, value, f"must be one of {', '.join(map(repr, options))}")


def _blocks() -> tuple[type, ...]:
    return (
        v1.TextContent,
        v1.ImageContent,
        v1.AudioContent,
        v1.ResourceLink,
        v1.EmbeddedResource,
        Unknown,
    )
