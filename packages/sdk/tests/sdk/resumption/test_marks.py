"""Marks come out as they went in, and leave everything else as it was."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.sdk.resumption.marks import NO_MARK, MessageMark, look, put, remove_mark
from tests.every import every

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
params = st.dictionaries(st.sampled_from(["sessionId", "update", "a"]), values, max_size=3)
foreign = st.dictionaries(st.sampled_from(["dragoman", "other"]), params, max_size=2)


@given(params, st.none() | foreign, st.text(min_size=1, max_size=5), st.text(max_size=3))
def test_what_is_put_in_is_found_and_taken_out_again(
    said: dict[str, Any], meta: dict[str, Any] | None, cursor: str, request: str
) -> None:
    if meta is not None:
        said = {**said, "_meta": meta}
    ours = {"cursor": cursor, **({"request": request} if request else {})}
    marked = put(json.dumps(said).encode(), ours)
    session, mark = look(marked)
    assert mark == MessageMark(cursor=cursor, request=request)
    assert session == (said.get("sessionId") if isinstance(said.get("sessionId"), str) else "")
    left = json.loads(remove_mark(marked, mark))
    if meta is not None and not any(meta.values()):
        left.setdefault("_meta", meta)  # a member that says nothing may go
        left["_meta"] = {**meta, **left["_meta"]}
    if meta is not None and not meta.get("dragoman", True):
        left["_meta"].setdefault("dragoman", {})
    assert left == said


def test_a_mark_is_found_wherever_the_hub_writes_it() -> None:
    first = b'{"_meta":{"dragoman":{"cursor":"7"}},"sessionId":"s","update":{}}'
    last = b'{"sessionId":"s","update":{},"_meta":{"dragoman":{"cursor":"7"}}}'
    for marked in (first, last):
        session, mark = look(marked)
        assert (session, mark.cursor) == ("s", "7")
        assert remove_mark(marked, mark) == b'{"sessionId":"s","update":{}}'


@every("odd", [b"[1]", b'"text"', b"17", b"not json"])
def test_what_is_no_object_has_no_mark_and_gets_none(odd: bytes) -> None:
    assert look(odd) == ("", NO_MARK)
    assert put(odd, {"key": "k"}) == odd


def test_one_member_of_a_wrong_type_does_not_hide_the_others() -> None:
    assert look(b'{"sessionId":5,"_meta":{"dragoman":{"cursor":"3"}}}') == ("", MessageMark(cursor="3"))
    assert look(b'{"sessionId":"s","_meta":{"dragoman":{"cursor":3,"key":"k"}}}') == (
        "s",
        MessageMark(key="k"),
    )
    assert look(b'{"sessionId":"s","_meta":7}') == ("s", NO_MARK)


def test_what_somebody_else_has_said_stays() -> None:
    assert json.loads(put(b'{"_meta":{"dragoman":{"key":"mine"}}}', {"key": "ours"})) == {
        "_meta": {"dragoman": {"key": "mine"}}
    }
    assert json.loads(put(None, {"key": "ours"})) == {"_meta": {"dragoman": {"key": "ours"}}}
