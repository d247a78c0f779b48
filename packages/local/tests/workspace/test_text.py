"""Encodings, windows of lines and line endings, against simple models."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.refusals import NOT_TEXT, TOO_LARGE
from dragoman_local.workspace.text import (
    LATIN_1,
    UTF_8,
    Encoding,
    LineWindow,
    TextReader,
    encoding_of,
    is_crlf_throughout,
    lines_of,
    with_endings_of,
)
from tests.every import every

texts = st.text(st.sampled_from("ab\n\r é\u2028\U0001f600\ufeff\x85\x0b"), max_size=40)
MARKS = {
    "utf-8": b"",
    "utf-8 with a mark": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}


def model(text: str, first: int, limit: int | None) -> str:
    """Lines by the book: cut behind each newline, count from one."""
    lines: list[str] = []
    for character in text:
        if not lines or lines[-1].endswith("\n"):
            lines.append("")
        lines[-1] += character
    begin = max(first, 1) - 1
    return "".join(lines[begin:] if limit is None else lines[begin : begin + limit])


@given(texts, st.integers(0, 12), st.none() | st.integers(0, 12), st.data())
def test_a_window_keeps_the_lines_of_the_model_however_the_text_is_cut(
    text: str, first: int, limit: int | None, data: st.DataObject
) -> None:
    window, rest = LineWindow(first=first, limit=limit, most=1000), text
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        window.feed(rest[:cut])
        rest = rest[cut:]
    assert window.text == model(text, first, limit)


@given(texts, st.integers(1, 5))
def test_pages_put_together_are_the_text(text: str, size: int) -> None:
    pages = []
    for first in range(1, len(text) + 2, size):
        window = LineWindow(first=first, limit=size, most=1000)
        window.feed(text)
        pages.append(window.text)
    assert "".join(pages) == text


@given(texts)
def test_lines_put_together_are_the_text(text: str) -> None:
    assert "".join(lines_of(text)) == text
    assert all(line.count("\n") == line.endswith("\n") for line in lines_of(text))


def test_a_window_takes_no_more_than_it_may() -> None:
    window = LineWindow(most=6)
    window.feed("éé")
    with pytest.raises(ErrorAnswer) as caught:
        window.feed("éé")
    assert caught.value.code == TOO_LARGE


def test_a_window_does_not_count_what_it_skips() -> None:
    window = LineWindow(first=2, limit=1, most=3)
    window.feed("a long first line\nab\nand a long rest")
    assert window.text == "ab\n"
    assert window.is_full


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@given(text=texts, data=st.data())
def test_text_is_read_as_it_was_written_however_the_bytes_are_cut(
    mark: bytes, text: str, data: st.DataObject
) -> None:
    encoding = encoding_of(mark)
    written = encoding.encode(text)
    reader, said = TextReader(encoding), ""
    head = len(mark)
    said += reader.feed(written[:head])
    rest = written[head:]
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        said += reader.feed(rest[:cut])
        rest = rest[cut:]
    said += reader.end()
    # A mark that the text brings along is the file's mark.
    assert said == (text.removeprefix("\ufeff") if mark else text)
    assert encoding.encode(said).startswith(mark)


@every(
    "data",
    [
        "naïve".encode("latin-1"),
        b"cut off \xe2\x82",
        "half".encode("utf-16-le"),
        codecs.BOM_UTF16_LE + b"odd",
        codecs.BOM_UTF16_LE + b"\x00\xd8a\x00",
        codecs.BOM_UTF32_LE + "wide".encode("utf-32-le"),
        codecs.BOM_UTF32_BE + "wide".encode("utf-32-be"),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\xed\xa0\x80",
        b"\xc0\xaf",
    ],
)
def test_what_is_no_text_is_refused_and_never_garbled(data: bytes) -> None:
    with pytest.raises(ErrorAnswer) as caught:
        encoding_of(data).decode(data)
    assert caught.value.code == NOT_TEXT


def test_a_text_that_does_not_fit_its_encoding_is_refused() -> None:
    with pytest.raises(ErrorAnswer, match="latin-1") as caught:
        LATIN_1.encode("€")
    assert caught.value.code == NOT_TEXT
    with pytest.raises(ErrorAnswer):
        UTF_8.encode("\ud800")


@every(
    ("old", "new", "written"),
    [
        ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"),
        ("a\r\nb\r\n", "x\r\ny\r\n", "x\r\ny\r\n"),
        ("a\r\nb\r\n", "x\r\ny\n", "x\r\ny\n"),
        ("a\r\nb\n", "x\ny\n", "x\ny\n"),
        ("a\nb\n", "x\ny\n", "x\ny\n"),
        ("a\nb\n", "x\r\ny\r\n", "x\r\ny\r\n"),
        ("a\r\nb\rc\r\n", "x\n", "x\n"),
        ("no end", "x\n", "x\n"),
        ("a\r\nno end", "x\ny", "x\r\ny"),
        ("", "x\n", "x\n"),
    ],
)
def test_line_endings_are_kept_only_where_they_are_the_same_throughout(
    old: str, new: str, written: str
) -> None:
    assert with_endings_of(old, new) == written


@given(texts)
def test_a_text_keeps_its_own_endings(text: str) -> None:
    crlf = text.replace("\r", "").replace("\n", "\r\n")
    assert with_endings_of(crlf, crlf.replace("\r\n", "\n")) == crlf
    assert is_crlf_throughout(crlf) == ("\n" in crlf)


def test_the_mark_is_never_doubled() -> None:
    assert Encoding("utf-8", codecs.BOM_UTF8).encode("\ufeffx") == codecs.BOM_UTF8 + b"x"
