import os
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_app.apps.chat.files import AROUND, read_file_text


def test_a_small_file_is_whole_and_a_large_one_is_shown_around_the_line(tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_bytes(b"one\ntwo \xff\n")
    small = read_file_text(str(tmp_path), "small.txt", 2)
    assert (small.text, small.first, small.is_whole) == ("one\ntwo \ufffd\n", 1, True)
    (tmp_path / "large.txt").write_text("".join(f"line {number}\n" for number in range(1, 200_001)))
    large = read_file_text("/", str(tmp_path / "large.txt"), 150_000)
    lines = large.text.splitlines()
    assert (large.first, large.is_whole, len(lines)) == (149_000, False, 2 * AROUND)
    assert lines[0] == "line 149000"


def test_what_is_no_text_file_is_refused_with_the_reason_and_nothing_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\0\1")
    for name, why in (
        ("pipe", "not a regular file"),
        (".", "not a regular file"),
        ("binary", "is not text"),
        ("gone", "No such file"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(LocalMistake, match=why):
            read_file_text(str(tmp_path), name)
