"""A frame as a translator reads it: its envelope, with all contents as plain JSON values.

Plain values, not the typed messages of `schema`: a dialect is exactly what those types cannot hold. Nobody
changes a message that was given to them; who wants another one makes another one, so that a message that
comes out as it went in can go on as the bytes that it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.decoders import json_decoder
from dragoman.wire.decode import UNREADABLE_TEXT, count_objects

Id: TypeAlias = int | str | None
Json: TypeAlias = Any  # whatever a peer may send
Object: TypeAlias = dict[str, Any]


class Message(Struct, frozen=True, gc=False):
    """A request has `id` and `method`, a notification only `method`, an answer only `id`."""

    jsonrpc: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Json | UnsetType = UNSET
    result: Json | UnsetType = UNSET
    error: Json | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not UNSET and self.id is not UNSET

    @property
    def is_notification(self) -> bool:
        return self.method is not UNSET and self.id is UNSET

    @property
    def is_answer(self) -> bool:
        return self.method is UNSET


_decoder = json_decoder(Message)
_encoder = msgspec.json.Encoder()


def decode(frame: bytes) -> Message | None:
    """Decode one frame; None if it is not a JSON-RPC message: such a frame passes unchanged."""
    try:
        message = _decoder.decode(frame)
    except UNREADABLE_TEXT:
        return None
    return message if message.method is not UNSET else _read_answer(message)


def decode_block(block: bytes) -> tuple[list[bytes], list[Message | None]]:
    """Decode the frames of a block, by one call into C if they are ordinary."""
    lines = block.split(b"\n")
    if count_objects(block):
        lines.pop()  # behind the last newline is nothing
    else:  # a message may have several lines
        lines = [line for line in lines if line and not line.isspace()]
        return lines, [decode(line) for line in lines]
    try:
        messages = _decoder.decode_lines(block)
    except UNREADABLE_TEXT:
        messages = []
    if len(messages) != len(lines):  # something is unreadable, or a line has two messages
        return lines, [decode(line) for line in lines]
    return lines, [message if message.method is not UNSET else _read_answer(message) for message in messages]


def _read_answer(message: Message) -> Message | None:
    """An answer as `wire.decode` would read it: a null error is none, and where there is no result either,
    the result is null. Who asked must hear of it under the id by which it asked.
    """
    if message.error is not UNSET and message.error is not None:
        return message
    if message.error is UNSET and message.result is not UNSET:
        return message
    if message.id is UNSET:
        return None
    return Message(message.jsonrpc, message.id, result=None if message.result is UNSET else message.result)


def encode(message: Message) -> bytes:
    return _encoder.encode(message) + b"\n"


def encode_all(messages: Sequence[Message | Raw]) -> bytes:
    """Encode many messages, some of which may be frames already, by one call into C."""
    return _encoder.encode_lines(messages) if messages else b""


def request(request_id: Id | UnsetType, method: str, params: Json | UnsetType = UNSET) -> Message:
    return Message("2.0", request_id, method, params)


def notification(method: str, params: Json | UnsetType = UNSET) -> Message:
    return Message("2.0", UNSET, method, params)


def answer(request_id: Id | UnsetType, result: Json) -> Message:
    return Message("2.0", request_id, UNSET, UNSET, result)


def refusal(request_id: Id | UnsetType, code: int, why: str, data: Json | UnsetType = UNSET) -> Message:
    error: Object = {"code": code, "message": why}
    if data is not UNSET:
        error["data"] = data
    return Message("2.0", request_id, UNSET, UNSET, UNSET, error)


def with_params(message: Message, params: Json | UnsetType) -> Message:
    """Return the same request or notification with other params."""
    return Message("2.0", message.id, message.method, params)


def update_of(message: Message) -> Object:
    """Return the update in a `session/update`; empty if there is none."""
    return as_object(as_object(message.params).get("update"))


# Peers send anything. These give the value if it is of the kind that is wanted, and an empty one if not.


def as_object(value: Json) -> Object:
    return value if type(value) is dict else {}


def as_list(value: Json) -> list[Any]:
    return value if type(value) is list else []


def as_text(value: Json) -> str:
    return value if type(value) is str else ""


def without(fields: Object, *names: str) -> Object:
    return {name: value for name, value in fields.items() if name not in names}


def rename_members(fields: Object, names: dict[str, str]) -> Object:
    """The same object with some fields renamed, in the same order. A field that already has the new name
    wins.
    """
    return {
        names.get(name, name): value
        for name, value in fields.items()
        if name not in names or names[name] not in fields
    }
