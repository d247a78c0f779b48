"""QR codes: the same modules as those that a reader of another maker has read."""

from __future__ import annotations

import hashlib

import pytest

from dragoman.errors import LocalMistake
from dragoman.text.qr import QUIET, qr_code, qr_lines

READ = {
    "http://127.0.0.1:8765/#pair=0123abcd.AAAAAAAAAAAAAAAAAAAAAA": (33, "b537b383db574806"),
    "x": (21, "80041b6bf2045e0b"),
    "x" * 271: (57, "7426a9e8f08e418d"),
}
"""Texts, the width of their codes, and a hash of their modules, which zxing-cpp has read as these texts."""


@pytest.mark.parametrize("text", READ)
def test_a_code_is_as_it_was_when_a_reader_read_it(text: str) -> None:
    square = qr_code(text)
    modules = bytes(module for row in square for module in row)
    assert (len(square), hashlib.sha256(modules).hexdigest()[:16]) == READ[text]


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(LocalMistake, match="272 bytes"):
        qr_code("x" * 272)


def test_lines_hold_two_rows_each_and_a_light_border() -> None:
    square = qr_code("x")
    lines = list(qr_lines(square))
    assert {len(line) for line in lines} == {len(square) + 2 * QUIET}
    assert len(lines) == (len(square) + 2 * QUIET + 1) // 2
    assert set("".join(lines)) <= set(" ▀▄█")
    drawn = [[half in character_rows(character) for character in line] for line in lines for half in (0, 1)]
    inner = [row[QUIET:-QUIET] for row in drawn[QUIET : QUIET + len(square)]]
    assert inner == [[not module for module in row] for row in square]
    assert all(all(row) for row in drawn[:QUIET])


def character_rows(character: str) -> tuple[int, ...]:
    """Which halves of a character are light."""
    return {" ": (), "▀": (0,), "▄": (1,), "█": (0, 1)}[character]
