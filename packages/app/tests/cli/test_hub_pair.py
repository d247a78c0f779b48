"""The code that `hub pair` draws, as a reader sees it."""

from __future__ import annotations

import sys

import pytest
import segno

from dragoman_app.cli import hub_pair
from dragoman_app.cli.hub_pair import QUIET, qr_lines

ADDRESS = "http://127.0.0.1:8765/#pair=0123abcd.AAAAAAAAAAAAAAAAAAAAAA"


def light_halves(line: str) -> list[list[bool]]:
    """The two rows of modules in a line; True is light."""
    return [[character in light for character in line] for light in ("▀█", "▄█")]


def test_lines_hold_two_rows_of_the_code_each_and_a_light_border() -> None:
    lines = list(qr_lines(ADDRESS))
    drawn = [row for line in lines for row in light_halves(line)]
    code = [
        [not module for module in row] for row in segno.make_qr(ADDRESS, error="l", boost_error=False).matrix
    ]
    inner = [row[QUIET:-QUIET] for row in drawn[QUIET : QUIET + len(code)]]
    assert inner == code
    assert all(all(row) for row in drawn[:QUIET])
    finder = [code[row][:7] for row in range(7)]
    assert finder[0] == [False] * 7, "a dark frame in the corner"
    assert finder[1] == [False, *[True] * 5, False]


def test_without_the_library_the_address_alone_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "segno", None)
    hub_pair._draw(ADDRESS)
    assert capsys.readouterr().out == ""
    monkeypatch.delitem(sys.modules, "segno")
    hub_pair._draw(ADDRESS)
    assert "█" in capsys.readouterr().out
