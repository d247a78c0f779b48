"""Going through what a frame says in the words of the protocol.

What is free in form is left out: `_meta`, the input and output of tools, data of errors, what a user filled
into a form, and everything about methods that the protocol does not define. Frames may be nested as deeply as
they like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from dragoman.check.recording import Frame
from dragoman.check.rule import Seen
from dragoman.check.shapes import answered, method_of
from dragoman.check.story import Story

FREE = frozenset({"_meta", "rawInput", "rawOutput", "data", "requestedSchema", "env", "headers", "values"})
"""Members whose insides are nobody's business."""

KEPT = Seen(True)
"""Of thousands of frames that are right, none needs to be named."""


class Member(NamedTuple):
    """One member of an object, and where it stands: `params.update.content`."""

    path: str
    name: str
    value: Any
    owner: dict[str, Any]


def judged(frames: Iterable[Frame], why: Callable[[Frame], str]) -> Iterator[Seen]:
    """For each frame, an empty text if it is right."""
    for frame in frames:
        text = why(frame)
        yield Seen(False, (frame.number,), text) if text else KEPT


def words(frame: Frame, story: Story) -> Any:
    """The params or the result, if the protocol defines its method; else None."""
    if frame.is_answer:
        exchange = answered(story).get(frame.number)
        if exchange is None or not exchange.has_result or method_of(exchange.request, story) is None:
            return None
        # What a user filled in has names that the form gave it.
        is_form = exchange.method == "elicitation/create"
        return None if is_form or exchange.method == "mcp/message" else frame.message.get("result")
    if method_of(frame, story) is None or frame.method == "mcp/message":
        return None
    return frame.message.get("params")


def members(value: Any) -> Iterator[Member]:
    """All members at any depth, but not inside of what is free in form."""
    stack: list[tuple[str, Any]] = [("$", value)]
    while stack:
        path, one = stack.pop()
        if type(one) is list:
            stack.extend((f"{path}[]", item) for item in reversed(one) if type(item) in (dict, list))
        elif type(one) is dict:
            for name, inner in one.items():
                yield Member(path, name, inner, one)
            inside = [(f"{path}.{name}", inner) for name, inner in one.items() if name not in FREE]
            stack.extend(part for part in reversed(inside) if type(part[1]) in (dict, list))


def objects(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """All objects at any depth, the outermost first, but not inside of what is free in form."""
    stack: list[tuple[str, Any]] = [("$", value)]
    while stack:
        path, one = stack.pop()
        if type(one) is list:
            stack.extend((f"{path}[]", item) for item in reversed(one) if type(item) in (dict, list))
        elif type(one) is dict:
            yield path, one
            inside = [(f"{path}.{name}", inner) for name, inner in one.items() if name not in FREE]
            stack.extend(part for part in reversed(inside) if type(part[1]) in (dict, list))


@cache
def names() -> frozenset[str]:
    """The names of all members that the schema knows, of both versions."""
    found: set[str] = set()
    for package in ("dragoman.schema.v1", "dragoman.schema.v2"):
        module = import_module(package)
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                found |= set(kind.__struct_encode_fields__)
    return frozenset(found)


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
