"""What is surely valid is valid: whatever the quick check lets through, the reader lets through as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec import inspect as types

from dragoman.schema import strict, v1, valid
from dragoman.schema.base import Bare, Unknown, UnknownFields
from dragoman.schema.codec import write
from dragoman.schema.errors import SchemaError
from dragoman.schema.strict import write_and_read_back, write_strictly

CHUNK = v1.AgentMessageChunk(content=v1.TextContent(text="hello"))

# Constructors check nothing: what is wrong in these is found when they are written.
TextContent: Any = v1.TextContent
PlanEntry: Any = v1.PlanEntry
EmbeddedResource: Any = v1.EmbeddedResource
AgentMessageChunk: Any = v1.AgentMessageChunk

ODD: list[Any] = [
    *(None, UNSET, True, 0, -1, 2**16, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 0.5, 2.0, 1e308),
    *(float("nan"), float("inf"), "", "x", "pending", "read", "\ud800", b"x", [], [1], ["x"], [None], (), {}),
    *({"a": 1}, {1: 2}, {"a": {"b": [1, None, "x", float("nan")]}}, {"a": object}, object(), {"x"}, [[[[]]]]),
    *(CHUNK, CHUNK.content, TextContent(text=5), [CHUNK.content], v1.ToolCallLocation(path="/x", line=-3)),
    *(PlanEntry(content="a", priority="low", status="pending"), EmbeddedResource(resource="text")),
    *(PlanEntry(content="a", priority="urgent", status="pending"), Unknown("x", b"{}"), UnknownFields({})),
]


def types_of(root: type[Bare]) -> Iterator[type[Bare]]:
    for kind in root.__subclasses__():
        yield kind
        yield from types_of(kind)


def all_types() -> list[type[Bare]]:
    for name in v1.__all__:
        getattr(v1, name)  # made when it is first used
    found = {kind for kind in types_of(Bare) if kind.__module__.startswith("dragoman.schema.v1")}
    return sorted(found, key=lambda kind: kind.__name__)


TYPES = all_types()


fields_of = cache(lambda kind: types.type_info(kind).fields)  # type: ignore[attr-defined]  # of a struct


@st.composite
def messages(draw: st.DrawFn, kind: Any, depth: int = 0) -> Any:
    """One of this type: most of its fields are right, some are anything."""
    fields = {}
    for field in fields_of(kind):
        right = right_value(draw, field.type, kind._checked.get(field.name, ()), depth)
        choice = draw(st.integers(0, 9))
        if choice == 0:
            fields[field.name] = draw(st.sampled_from(ODD))
        elif field.required or choice > 6:
            fields[field.name] = right
    try:
        return kind(**fields)
    except ValueError:  # it has rules of its own
        return None


def right_value(draw: st.DrawFn, kind: types.Type, allowed: tuple[str, ...], depth: int) -> Any:
    match kind:
        case types.Metadata():
            return right_value(draw, kind.type, allowed, depth)
        case types.UnionType():
            return right_value(draw, draw(st.sampled_from(kind.types)), allowed, depth)
        case types.StrType():
            return draw(st.sampled_from(allowed or ("a", "zwölf", "日本語", "😀")))
        case types.IntType():
            return draw(st.sampled_from((kind.ge or 0, 1, kind.le or 5)))
        case types.FloatType():
            return draw(st.sampled_from((0.0, 0.5, 1.0)))
        case types.BoolType():
            return draw(st.booleans())
        case types.ListType():
            return [right_value(draw, kind.item_type, allowed, depth) for _ in range(draw(st.integers(0, 2)))]
        case types.StructType() if depth < 3:
            return draw(messages(kind.cls, depth + 1))
        case types.DictType() | types.AnyType():
            return draw(st.sampled_from(({}, {"a": [1, "b", None, {"c": 0.5}]})))
    return None


@given(st.data())
def test_what_the_quick_check_lets_through_the_reader_lets_through(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(TYPES))
    message = data.draw(messages(kind))
    if message is not None and valid._nested[kind](message):
        assert outcome(write_and_read_back, message, kind) == outcome(write, message)


def outcome(function: Callable[..., bytes], *arguments: object) -> object:
    try:
        return function(*arguments)
    except SchemaError as error:
        return str(error)


@pytest.mark.parametrize("kind", [v1.ToolCall, v1.Plan, v1.AgentMessageChunk, v1.ToolCallProgress])
@given(data=st.data())
def test_the_same_for_the_commonest_updates(kind: type[Bare], data: st.DataObject) -> None:
    message = data.draw(messages(kind))
    if message is not None and valid._nested[kind](message):
        assert outcome(write_and_read_back, message, kind) == outcome(write, message)


@pytest.mark.parametrize("kind", [v1.ToolCall, v1.Plan, v1.AgentMessageChunk])
@settings(max_examples=20)  # each makes a function
@given(data=st.data())
def test_whatever_message_a_check_was_made_with_it_says_the_same(
    kind: type[Bare], data: st.DataObject
) -> None:
    sample, message = data.draw(messages(kind)), data.draw(messages(kind))
    if message is not None:
        assert valid._make_check(kind, sample)(message) == valid._nested[kind](message)


def test_most_types_have_a_check_and_ordinary_messages_pass_it() -> None:
    without = [kind.__name__ for kind in TYPES if valid._nested[kind] is valid._never]
    assert len(without) < len(TYPES) / 10
    call = v1.ToolCall(
        tool_call_id="1",
        title="Read",
        kind="read",
        status="pending",
        content=[v1.Content(content=CHUNK.content)],
        locations=[v1.ToolCallLocation(path="/a", line=3)],
        raw_input={"path": "/a", "limit": 10},
        meta={"a": None},
    )
    for message in (CHUNK, call, v1.UsageUpdate(used=5, size=100), v1.CurrentModeUpdate(current_mode_id="x")):
        assert valid._nested[type(message)](message)


def test_every_item_of_a_list_is_looked_at() -> None:
    entry = v1.PlanEntry(content="read", priority="high", status="pending")
    check = valid._make_check(v1.Plan, v1.Plan(entries=[entry]))
    assert check(v1.Plan(entries=[]))
    assert check(v1.Plan(entries=[entry, entry]))
    unlisted: Any = "urgent"
    wrong: Any
    for wrong in (v1.PlanEntry(content="read", priority=unlisted, status="pending"), CHUNK, None):
        assert not check(v1.Plan(entries=[entry, wrong, entry]))
    assert not check(v1.Plan(entries=(entry,)))  # type: ignore[arg-type]


def test_a_check_is_made_when_a_type_is_used_often_and_refuses_what_was_refused_before() -> None:
    for _ in range(valid.WORTHWHILE + 1):
        assert write_strictly(CHUNK, v1.AgentMessageChunk) == write(CHUNK)
    assert v1.AgentMessageChunk in valid.checks
    for wrong in (AgentMessageChunk(content=TextContent(text=5)), AgentMessageChunk(content=None)):
        with pytest.raises(SchemaError):
            write_strictly(wrong, v1.AgentMessageChunk)
    surrogate = v1.AgentMessageChunk(content=v1.TextContent(text="\ud800"))
    with pytest.raises(SchemaError, match="surrogate"):
        write_strictly(surrogate, v1.AgentMessageChunk)


def test_a_large_message_is_checked_without_reading_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "strict_reader", None)
    request = v1.ReadTextFileResponse(content="x" * strict.LARGE)
    assert write_strictly(request, v1.ReadTextFileResponse) == write(request)


def test_a_large_message_that_is_wrong_is_refused() -> None:
    wrong = AgentMessageChunk(content=TextContent(text="x" * strict.LARGE, annotations=5))
    with pytest.raises(SchemaError):
        write_strictly(wrong, v1.AgentMessageChunk)
