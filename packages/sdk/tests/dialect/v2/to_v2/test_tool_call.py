"""Tool calls of v1 in v2."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v2.tool_call import content, terminals, tool_call
from dragoman.schema.v2 import ToolCallProgress
from tests.dialect.v2.to_v2.judge import is_v2, make_writer
from tests.every import every


def test_a_call_keeps_what_both_versions_know() -> None:
    call = {
        "toolCallId": "t",
        "title": "T",
        "name": "read_file",
        "kind": "read",
        "status": "in_progress",
        "content": [{"type": "content", "content": {"type": "text", "text": "x"}}],
        "locations": [{"path": "/a", "line": 1}],
        "rawInput": {"a": 1},
        "rawOutput": "text",
        "_meta": {"b": 2},
    }
    writer, noted = make_writer()
    assert tool_call({"sessionUpdate": "tool_call", **call}, writer) == call
    assert noted == set()
    assert is_v2({"sessionUpdate": "tool_call_update", **call}, ToolCallProgress)


@every(
    ("given", "made", "remark"),
    [
        (
            {"locations": [{"path": "/a", "line": 0}]},
            {"locations": [{"path": "/a"}]},
            "a number outside of v2's bounds",
        ),
        (
            {"locations": [{"path": "a", "line": None}]},
            {"locations": [{"path": "/home/ann/a"}]},
            "a relative path",
        ),
        ({"locations": [{"line": 3}, None]}, {"locations": []}, "a value that breaks v1's own rules"),
        ({"kind": 3, "status": None}, {}, "a value that breaks v1's own rules"),
        ({"kind": "dream", "status": "paused"}, {"kind": "dream", "status": "paused"}, None),
        ({"content": "text"}, {}, "a value that breaks v1's own rules"),
        ({"serverName": "x"}, {}, "a member that v2 has no place for"),
    ],
)
def test_what_v2_would_not_take_is_left_out_or_mended(given: Any, made: Any, remark: str | None) -> None:
    writer, noted = make_writer()
    assert tool_call({"toolCallId": "t", **given}, writer) == {"toolCallId": "t", **made}
    assert (remark in noted) if remark else not noted


def test_a_call_without_an_id_is_none() -> None:
    assert tool_call({"title": "T"}, make_writer()[0]) is None
    assert tool_call({"toolCallId": 3}, make_writer()[0]) is None


@every("value", [None, {}, {"type": "content"}, {"type": "terminal"}, {"type": "diff"}, {"type": 3}])
def test_content_that_is_none_is_left_out(value: Any) -> None:
    writer, noted = make_writer()
    assert content(value, writer) is None
    assert noted


def test_content_of_a_type_that_nobody_knows_is_passed_on() -> None:
    assert content({"type": "_chart", "bars": 3}, make_writer()[0]) == {"type": "_chart", "bars": 3}


def test_terminals_are_told_of_without_believing_anything() -> None:
    items = [{"type": "terminal", "terminalId": 3}, {"type": "terminal", "terminalId": "x"}]
    assert terminals({"content": items}, make_writer()[0]) == [
        {"sessionUpdate": "terminal_update", "terminalId": "x"}
    ]
    assert terminals({"content": 3, "_meta": []}, make_writer()[0]) == []
