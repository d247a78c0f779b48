"""What was there before."""

from pathlib import Path

import pytest

from dragoman_review import BadBaseline, Baseline, Finding, Severity
from dragoman_review.baseline import fingerprint
from dragoman_review.text_edits import TextLines


def finding(lines: TextLines, start: int, end: int, *, is_secret: bool = False, path: str = "x") -> Finding:
    place = lines.place(path, start, end)
    return Finding(rule="a/b", severity=Severity.LOW, place=place, title="t", why="w", is_secret=is_secret)


def mark(text: str, start: int, end: int, *, is_secret: bool = False, path: str = "x") -> str:
    lines = TextLines(text)
    return fingerprint(finding(lines, start, end, is_secret=is_secret, path=path), lines)


def test_lines_above_and_blanks_do_not_change_a_fingerprint() -> None:
    assert mark("x = 1\n", 0, 1) == mark("\n\n   x =  1\n", 5, 6)


def test_another_line_or_file_is_another_finding() -> None:
    marks = {mark("x = 1\n", 0, 1), mark("y = 1\n", 0, 1), mark("x = 1\n", 0, 1, path="z")}
    assert len(marks) == 3


def test_a_secret_is_no_part_of_its_fingerprint() -> None:
    assert mark("k = aaaa\n", 4, 8, is_secret=True) == mark("k = bbbb\n", 4, 8, is_secret=True)
    assert mark("k = aaaa\n", 4, 8) != mark("k = bbbb\n", 4, 8)


def test_a_baseline_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    Baseline({"b": 2, "a": 1}).write(path)
    known = Baseline.read(path)
    assert known.counter() == {"a": 1, "b": 2}
    assert len(known) == 3
    assert path.read_text().index('"a"') < path.read_text().index('"b"')


def test_what_is_used_up_in_one_review_is_there_for_the_next() -> None:
    known = Baseline({"a": 1})
    known.counter()["a"] -= 1
    assert known.counter() == {"a": 1}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{}", "is not a baseline"),
        (b"x", "is not a baseline"),
        (b'{"version":9,"known":{}}', "of version 9"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "known.json").write_bytes(data)
    with pytest.raises(BadBaseline, match=said):
        Baseline.read(tmp_path / "known.json")
    with pytest.raises(BadBaseline, match="cannot be read"):
        Baseline.read(tmp_path / "none.json")
