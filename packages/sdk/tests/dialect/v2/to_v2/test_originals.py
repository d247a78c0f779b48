"""What was kept of v2 is believed only where it still means what stands beside it, and only if it is v2."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.v2.to_v1.fields import with_originals
from dragoman.dialect.v2.to_v2 import originals
from tests.every import every

CALL = {"toolCallId": "t", "kind": "other", "status": "failed"}


def test_a_kind_and_a_status_come_back() -> None:
    assert originals.call(with_originals(CALL, {"kind": "_dream", "status": "cancelled"})) == {
        **CALL,
        "kind": "_dream",
        "status": "cancelled",
    }


@every("kept", [{"status": "paused"}, {"status": "completed"}, {"status": 3}, {"title": "x"}, [3]])
def test_a_status_that_means_something_else_does_not(kept: Any) -> None:
    assert originals.call(with_originals(CALL, kept)) == CALL


def test_a_stop_reason_comes_back() -> None:
    assert originals.ending(with_originals({"stopReason": "end_turn"}, {"stopReason": "_bored"})) == {
        "stopReason": "_bored"
    }
    assert originals.ending(with_originals({"stopReason": "refusal"}, {"stopReason": "_bored"})) == {
        "stopReason": "refusal"
    }
    assert originals.ending({"stopReason": "end_turn", "_meta": {"a": 1}}) == {
        "stopReason": "end_turn",
        "_meta": {"a": 1},
    }


def test_a_question_comes_back_and_leaves_nothing() -> None:
    meta = {"a": 1, "dragoman/question": {"title": "Really?", "description": 3}}
    assert originals.question(meta) == ({"title": "Really?"}, {"a": 1})
    assert originals.question({"dragoman/question": "Really?"}) == ({}, {})


@every("kept", [{"type": "diff"}, {"type": "diff", "changes": 3}, {"type": "_chart"}, None])
def test_an_item_that_is_no_diff_stays_text(kept: Any) -> None:
    item = {"type": "content", "content": {"type": "text", "text": "Changes that nothing is said about."}}
    assert originals.item(with_originals(item, kept)) == item
