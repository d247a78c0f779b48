"""JSON with comments."""

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dragoman.errors import LocalMistake
from dragoman_local.known.jsonc import parse_jsonc
from tests.every import every

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=12,
)


@given(values)
def test_plain_json_is_what_it_was(value: object) -> None:
    assert parse_jsonc(json.dumps(value).encode(), path="x") == value


def test_comments_and_last_commas_are_nothing() -> None:
    text = b"""\xef\xbb\xbf// first
    {
      "a": "http://x/* no */", // a comment, with "quotes"
      /* several
         lines, */ "b": [1, 2, /* three */ ],
      "c": "// no \\" ,]",
    } // last"""
    expected = {"a": "http://x/* no */", "b": [1, 2], "c": '// no " ,]'}
    assert parse_jsonc(text, path="x") == expected


@every("text", [b"", b"  \n", b"// nothing\n", b"/* open"])
def test_nothing_is_an_empty_object(text: bytes) -> None:
    assert parse_jsonc(text, path="x") == {}


@every(
    ("text", "line"),
    [
        (b'{\n  "a": 1\n  "b": 2\n}', 3),
        (b'{\n/* x\ny */ "a": sk-1\n}', 3),
        (b'{\n "a": {\n', 2),
        (b"[1,,2]", 1),
    ],
)
def test_a_mistake_is_told_with_its_line_and_without_its_text(text: bytes, line: int) -> None:
    with pytest.raises(LocalMistake) as caught:
        parse_jsonc(text, path="settings.json")
    assert str(caught.value) == f"settings.json:{line}: no valid JSON"


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(LocalMistake, match="not UTF-8"):
        parse_jsonc(b"\xff", path="x")
