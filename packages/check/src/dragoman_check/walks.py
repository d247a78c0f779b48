"""Walks through the protocol-defined contents of a frame.

What is free in form is left out: `_meta`, the input and output of tools, data of errors, what a user filled
into a form, and everything about methods that the protocol does not define. Frames may be nested as deeply as
they like.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

import msgspec

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import frames_from
from dragoman_check.shapes import exchanges_by_answer, method_of

FREE = frozenset({"_meta", "rawInput", "rawOutput", "data", "requestedSchema", "env", "headers", "values"})
"""Members with free contents."""

BOUNDS: dict[str, tuple[int, int]] = {
    "protocolVersion": (0, 2**16 - 1),
    "line": (0, 2**32 - 1),
    "limit": (0, 2**32 - 1),
    "exitCode": (0, 2**32 - 1),
    "used": (0, 2**64 - 1),
    "size": (0, 2**64 - 1),
    "outputByteLimit": (0, 2**64 - 1),
}
"""The least and the largest number under each name."""

PATHS = frozenset({"cwd", "path", "additionalDirectories"})
"""Members with a path, or a list of paths."""

KINDS = frozenset({"sessionUpdate", "stopReason", "outcome", "kind", "status"})
"""Members whose values are words of the protocol."""

NOTED = frozenset(BOUNDS) | PATHS | KINDS


class Member(NamedTuple):
    """One field of an object, with its path: `params.update.content`."""

    path: str
    name: str
    value: Json


def protocol_value(frame: Frame, conversation: Conversation) -> Json:
    """Return the params or the result, if the protocol defines its method; otherwise None."""
    if frame.is_answer:
        exchange = exchanges_by_answer(conversation).get(frame.number)
        if exchange is None or not exchange.has_result or method_of(exchange.request, conversation) is None:
            return None
        # What a user filled in has names that the form gave it.
        is_form = exchange.method == "elicitation/create"
        return None if is_form or exchange.method == "mcp/message" else frame.message.get("result")
    if method_of(frame, conversation) is None or frame.method == "mcp/message":
        return None
    return frame.message.get("params")


def members(value: object) -> Iterator[Member]:
    """Return all fields at any depth, except inside free-form values."""
    for path, fields in objects(value):
        for name, inner in fields.items():
            yield Member(path, name, inner)


def objects(value: object) -> Iterator[tuple[str, JsonObject]]:
    """Return all objects at any depth, the outermost first, except inside free-form values."""
    stack: list[tuple[str, Json]] = [("$", value)]
    while stack:
        path, node = stack.pop()
        if type(node) is list:
            stack += [(f"{path}[]", item) for item in reversed(node) if type(item) in (dict, list)]
        elif type(node) is dict:
            yield path, node
            inside = [
                name for name, inner in node.items() if type(inner) in (dict, list) and name not in FREE
            ]
            stack += [(f"{path}.{name}", node[name]) for name in reversed(inside)]


def noted_members(conversation: Conversation, side: Side) -> list[tuple[Frame, Member]]:
    """Return every member that a rule about single members reads, in a side's messages; computed once."""
    return conversation.compute_once(("noted_members", side), lambda: list(_find_members(conversation, side)))


def _find_members(conversation: Conversation, side: Side) -> Iterator[tuple[Frame, Member]]:
    for frame in frames_from(conversation, side):
        for member in members(protocol_value(frame, conversation)):
            if member.name in NOTED or "_" in member.name:
                yield frame, member


@cache
def names() -> frozenset[str]:
    """Return the names of all members in the schema, of both versions."""
    names: set[str] = set()
    for package in ("dragoman.schema.v1", "dragoman.schema.v2"):
        module = import_module(package)
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                names |= set(kind.__struct_encode_fields__)
    return frozenset(names)


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
