"""A tool call is the sum of what was said about it, whatever came first."""

from __future__ import annotations

from dragoman.schema.v1 import Content, TextContent, ToolCall, ToolCallLocation, ToolCallProgress
from dragoman.sdk.client.tool_state import ToolState


def test_the_first_mention_creates_it_whichever_it_is() -> None:
    announced = ToolState.of(ToolCall(tool_call_id="t", title="Read", kind="read"))
    assert (announced.id, announced.title, announced.kind, announced.status) == (
        "t",
        "Read",
        "read",
        "pending",
    )
    mentioned = ToolState.of(ToolCallProgress(tool_call_id="t", status="in_progress"))
    assert (mentioned.title, mentioned.status) == ("", "in_progress")


def test_later_mentions_change_only_what_they_carry() -> None:
    state = ToolState.of(ToolCall(tool_call_id="t", title="Read", kind="read", raw_input={"a": 1}))
    state = state.after(ToolCallProgress(tool_call_id="t", status="in_progress"))
    state = state.after(ToolCallProgress(tool_call_id="t", title="Read x", raw_output=[1]))
    state = state.after(ToolCallProgress(tool_call_id="t", status="completed"))
    assert (state.title, state.kind, state.status) == ("Read x", "read", "completed")
    assert (state.raw_input, state.raw_output) == ({"a": 1}, [1])


def test_lists_are_replaced_as_a_whole_and_null_changes_nothing() -> None:
    one, two = (Content(content=TextContent(text=text)) for text in ("one", "two"))
    where = [ToolCallLocation(path="/x")]
    state = ToolState.of(ToolCall(tool_call_id="t", title="T", content=[one], locations=where))
    state = state.after(ToolCallProgress(tool_call_id="t", content=[two]))
    assert (state.content, state.locations) == ([two], where)
    state = state.after(ToolCallProgress(tool_call_id="t", content=None, title=None, status=None))
    assert (state.content, state.title, state.status) == ([two], "T", "pending")
    assert state.after(ToolCallProgress(tool_call_id="t", content=[])).content == []


def test_announced_twice_is_announced_once() -> None:
    state = ToolState.of(ToolCall(tool_call_id="t", title="One"))
    state = state.after(ToolCall(tool_call_id="t", title="Two", status="in_progress"))
    assert (state.title, state.status) == ("Two", "in_progress")
