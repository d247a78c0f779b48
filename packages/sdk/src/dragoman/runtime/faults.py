"""Turns exceptions into JSON-RPC errors; no other module does this.

What a handler raised is for our log. The peer learns only what was meant for it: an `ErrorAnswer` says so
itself, anything else is an internal error without a word, because exception texts hold paths, prompts and
keys.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from dragoman.decoders import decode_json
from dragoman.errors import ErrorAnswer, LinkClosed
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.wire import ErrorObject, error_object
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = DeferredModule("asyncio")

log = logging.getLogger(__name__)


def to_error(error: BaseException, method: str) -> ErrorObject:
    if isinstance(error, ErrorAnswer):
        return _as_given(error, method)
    if isinstance(error, asyncio.CancelledError):
        return error_object(CANCELLED)
    if _ended_with_the_link(error):
        log.info("the handler of %s ended with its connection", method)
    else:
        log.error("the handler of %s failed", method, exc_info=error)
    return error_object(INTERNAL_ERROR)


def _ended_with_the_link(error: BaseException) -> bool:
    """Also in groups: tasks of a handler that all lost their connection have not failed."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(LinkClosed)[1] is None
    return isinstance(error, LinkClosed)


def _as_given(error: ErrorAnswer, method: str) -> ErrorObject:
    chosen_error = error_object(error.code, error.message, error.data)
    try:
        decode_json(msgspec.json.encode(chosen_error), ErrorObject)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        # An object as data, half a surrogate pair in a path: a request without an answer would be worse.
        log.error("the handler of %s chose an error that cannot be written", method)
        return error_object(INTERNAL_ERROR)
    return chosen_error
