"""Finds where a recorded frame differs from v1, and tells its author what to write instead.

First the words that known dialects use in place of v1's, with the right one for each; where there is none of
those, what the published schema says. Places and names only, never values: a recording holds prompts and
secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Struct

from dragoman.dialect.clues_agent import KINDS
from dragoman.dialect.fixes import (
    METHOD_FIXES,
    PARAMS_FIXES,
    RESULT_FIXES,
    STOP_FIXES,
    TOOL_CALL_FIXES,
    UPDATE_FIXES,
)
from dragoman.dialect.message import Json, Message, Object, as_object
from dragoman.dialect.names import Position
from dragoman.schema.base import Unknown
from dragoman.schema.codec import examine
from dragoman.schema.errors import SchemaError
from dragoman.schema.method import Kind
from dragoman.schema.v1.methods import METHODS
from dragoman.schema.v1.update import SessionUpdate

FORGIVEN = ("unknown field", "null")
"""Deviations that are always allowed: unknown fields, and null for an absent field."""


LONGEST_NAME = 80
"""The longest shown name of an unknown method: the peer may write any name."""


class FoundDeviation(Struct, frozen=True):
    """One deviation in one frame."""

    what: str
    fix: str


def envelope_deviations(message: Message) -> Iterator[FoundDeviation]:
    if message.jsonrpc is UNSET:
        yield FoundDeviation("no jsonrpc in the envelope", 'begin every frame with "jsonrpc":"2.0"')
    if message.is_request and message.id is None:
        yield FoundDeviation("a request with the id null", "give requests a number or a text as id")


def request_deviations(message: Message, by: Position) -> Iterator[FoundDeviation]:
    """Find deviations in a request or a notification."""
    method = str(message.method)
    if method in METHOD_FIXES:
        yield FoundDeviation(f"the method {method}", METHOD_FIXES[method])
        return
    row = METHODS.get(method, kind=_kind(message), receiver="agent" if by == "client" else "client")
    if row is None:
        yield from _unknown_method(message, by)
        return
    params = as_object(message.params)
    deviations = list(_foreign_members(params, PARAMS_FIXES.get(method, {}), f"{method}: "))
    if method == "session/update":
        deviations += _update(params)
    elif method == "session/request_permission":
        call = as_object(params.get("toolCall"))
        deviations += _foreign_members(call, TOOL_CALL_FIXES, f"{method}: toolCall.", unless="toolCallId")
    yield from deviations or _by_schema(message.params, row.params, f"{method}: params")


def answer_deviations(message: Message, method: str, by: Position) -> Iterator[FoundDeviation]:
    """Find deviations in an answer to `method`."""
    row = METHODS.get(method, kind="request", receiver=by)
    if message.error is not UNSET or row is None:
        return
    result = as_object(message.result)
    deviations = list(_foreign_members(result, RESULT_FIXES.get(method, {}), f"the answer to {method}: "))
    reason = result.get("stopReason")
    if type(reason) is str and reason in STOP_FIXES:
        deviations.append(FoundDeviation(f"the answer to {method}: stopReason {reason}", STOP_FIXES[reason]))
    yield from deviations or _by_schema(message.result, row.result, f"the answer to {method}: result")


def _kind(message: Message) -> Kind:
    return "request" if message.is_request else "notification"


def _unknown_method(message: Message, by: Position) -> Iterator[FoundDeviation]:
    method = str(message.method)
    other_kind: Kind = "notification" if message.is_request else "request"
    if METHODS.get(method, kind=other_kind, receiver="agent" if by == "client" else "client"):
        fix = "leave out the id" if other_kind == "notification" else "give it an id, and wait for its answer"
        yield FoundDeviation(f"{method} as a {_kind(message)}", f"in v1 it is a {other_kind}: {fix}")
    elif not method.startswith(("_", "$/")):
        yield FoundDeviation(
            f"the method {method[:LONGEST_NAME]}", "v1 does not have it: begin names of your own with _"
        )


def _foreign_members(
    fields: Object, fixes: dict[str, str], place: str, unless: str = ""
) -> Iterator[FoundDeviation]:
    """Members that known dialects write, where `unless` is not there too."""
    if not unless or unless not in fields:
        for name, fix in fixes.items():
            if name in fields:
                yield FoundDeviation(f"{place}{name}", fix)


def _update(params: Object) -> Iterator[FoundDeviation]:
    place = "session/update: "
    if "update" not in params:
        yield FoundDeviation(f"{place}no update", "put the update's members into params.update")
        return
    update = as_object(params.get("update"))
    kind = update.get("sessionUpdate")
    for name in ("@type", "kind", "type"):
        if name in update and kind not in KINDS and (name != "kind" or kind is None):
            yield FoundDeviation(
                f"{place}{name} tells the kind of the update", "name the kind in update.sessionUpdate"
            )
            kind = update[name]
            break
    if type(kind) is str and kind in UPDATE_FIXES:
        yield FoundDeviation(f"{place}an update {kind}", UPDATE_FIXES[kind])
    if kind in ("tool_call", "tool_call_update"):
        yield from _foreign_members(update, TOOL_CALL_FIXES, f"{place}{kind}: ", unless="toolCallId")


def _by_schema(value: Json, kind: object, place: str) -> Iterator[FoundDeviation]:
    fix = "write what the schema of v1 says at this place"
    raw = None if value is UNSET else msgspec.json.encode(value)
    try:
        _, forgiven = examine(raw, kind)
    except SchemaError as error:
        yield FoundDeviation(f"{place}{_place(error.path)} {error.reason}", fix)
        return
    for deviation in forgiven:
        if deviation.kind not in FORGIVEN:
            yield FoundDeviation(f"{place}{_place(deviation.path)}: {deviation.kind}", fix)


def _place(path: str) -> str:
    """The same for every item of a list."""
    return re.sub(r"\[\d+\]", "[]", path.removeprefix("$"))


def is_update(fields: Object) -> bool:
    """Whether v1 has this kind of update, and this one is complete."""
    try:
        update, deviations = examine(msgspec.json.encode(fields), SessionUpdate)
    except SchemaError:
        return False
    return not deviations and not isinstance(update, Unknown)
