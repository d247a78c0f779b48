"""Half characters become replacement characters; whole ones and backslashes stay."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema import examine, read, v1
from dragoman.schema.surrogates import mend_surrogates
from tests.every import every

REPLACED = "\ufffd"


@every(
    ("sent", "meant"),
    [
        (r'"\ud83d"', REPLACED),
        (r'"\ude00"', REPLACED),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\uD83D\uDE00\uD83D"', "😀" + REPLACED),
        (r'"\ud83d\ud83d\ude00"', REPLACED + "😀"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\\\ud83d"', "\\" + REPLACED),
        (r'"\ud83d\n"', REPLACED + "\n"),
        (r'"\ud83dude00"', REPLACED + "ude00"),
    ],
)
def test_lone_surrogates_are_replaced(sent: str, meant: str) -> None:
    assert json.loads(mend_surrogates(sent.encode())) == meant


@given(st.text(st.characters(codec=None, categories=None, min_codepoint=0xD700, max_codepoint=0xE100)))
def test_any_text_with_surrogates_becomes_text_without(text: str) -> None:
    result = json.loads(mend_surrogates(json.dumps(text).encode()))
    assert (
        result == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        or REPLACED in result
    )
    result.encode()


def test_a_message_with_half_a_character_is_read() -> None:
    raw = rb'{"type":"text","text":"cut \ud83d","\udc00":1,"_meta":{"\ud800":"\udfff"}}'
    message, deviations = examine(raw, v1.ContentBlock)
    assert message.text == f"cut {REPLACED}"
    assert message.meta == {REPLACED: REPLACED}
    assert message.unknown_fields == {REPLACED: 1}
    assert deviations[0] == ("$", "surrogate", "")


def test_a_message_whose_only_fault_is_half_a_character_is_read_whole() -> None:
    raw = rb'{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[],"_meta":{"a":"\ud800"}}}'
    assert read(raw, v1.SessionNotification).update == v1.Plan(entries=[], meta={"a": REPLACED})
