"""Checks whether a frame has the shape that the schema requires of its method, strictly, as for a writer.

What a lenient reader would forgive is an error here: a missing member, a wrong type, a value that an
enumeration does not know. Members that the schema does not know are allowed, as it allows them. Nothing that
a peer said is repeated, only where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

import msgspec

from dragoman.schema.codec import examine
from dragoman.schema.errors import SchemaError
from dragoman.schema.lenient import Deviation
from dragoman.schema.method import Kind, Method, MethodTable, Receiver
from dragoman.schema.v1.methods import METHODS as FIRST
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.recording import Frame

DEVIATIONS: dict[str, str] = {
    "unknown field": "",
    "null": "",  # every reader is told to take it for absent
    "unknown member": "is not in the schema",
    "bad value": "is of the wrong type",
    "bad item": "is of the wrong type, and would be left out of its list",
    "other name": "has another name than in the schema",
    "surrogate": "contains half of a surrogate pair, which is not text",
}
"""The deviations that a lenient reader accepts, with their texts; empty for allowed ones."""


class Shape(msgspec.Struct, frozen=True):
    """The mistake at one place of a frame."""

    path: str
    """The path within params or result: `$.update.status`."""
    why: str

    def __str__(self) -> str:
        return f"{self.path} {self.why}"


class FrameReading(msgspec.Struct, frozen=True):
    """The result of reading a frame."""

    refusal: Shape | None = None
    """The reason why no reader accepts it, however lenient."""
    forgiven: tuple[Deviation, ...] = ()
    """The deviations that a lenient reader accepts, including allowed ones."""


def shape_errors(frame: Frame, conversation: Conversation) -> list[Shape]:
    """Return mistakes in the params of a request or notification, or in the result of an answer. Empty for
    valid ones, for errors, and for messages outside the protocol.
    """
    reading = read_frame(frame, conversation)
    return [reading.refusal] if reading.refusal else list(_serious(reading.forgiven))


def read_frame(frame: Frame, conversation: Conversation) -> FrameReading:
    """Read a frame, once for each."""
    return conversation.compute_once(("reading", frame.number), lambda: _read_frame(frame, conversation))


def _read_frame(frame: Frame, conversation: Conversation) -> FrameReading:
    if frame.is_answer:
        exchange = exchanges_by_answer(conversation).get(frame.number)
        if exchange is None or not exchange.has_result:
            return FrameReading()
        method = method_of(exchange.request, conversation)
        return FrameReading() if method is None else _read_value(frame.message["result"], method.result)
    method = method_of(frame, conversation)
    return FrameReading() if method is None else _read_value(frame.message.get("params"), method.params)


def method_of(frame: Frame, conversation: Conversation) -> Method | None:
    """Return the row of the method table for a request or notification, if the protocol has it in this
    direction.
    """
    receiver: Receiver = "agent" if frame.direction == "to_agent" else "client"
    kind: Kind = "request" if frame.is_request else "notification"
    return table_of(conversation).get(frame.method, kind=kind, receiver=receiver)


def table_of(conversation: Conversation) -> MethodTable:
    """Return the table of a version; an unknown version uses the first one."""
    return table(2 if conversation.version == 2 else 1)


def exchanges_by_answer(conversation: Conversation) -> dict[int, Exchange]:
    """Return exchanges by the number of their answer."""
    return conversation.compute_once(
        "exchanges by answer",
        lambda: {
            exchange.answer.number: exchange
            for exchange in conversation.exchanges
            if exchange.answer is not None
        },
    )


@cache
def table(version: Literal[1, 2]) -> MethodTable:
    """Return the methods of a version."""
    if version == 2:
        from dragoman.schema.v2.methods import METHODS as SECOND

        return SECOND
    return FIRST


def _read_value(value: object, kind: object) -> FrameReading:
    raw = b"{}" if value is None else msgspec.json.encode(value)
    try:
        _, deviations = examine(raw, kind)
    except SchemaError as error:
        return FrameReading(refusal=Shape(error.path, error.reason))
    return FrameReading(forgiven=tuple(deviations))


def _serious(deviations: Iterable[Deviation]) -> Iterator[Shape]:
    for deviation in deviations:
        why = DEVIATIONS[deviation.kind]
        if why:
            yield Shape(deviation.path, why)
