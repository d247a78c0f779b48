"""Fixes on the disk."""

import os
from pathlib import Path

import pytest

from dragoman.review.fixing import StaleFile, write_fixed
from dragoman.review.source_files import SourceText, read_text


def text_of(path: Path) -> SourceText:
    text = read_text(path)
    assert isinstance(text, SourceText)
    return text


def test_a_file_keeps_its_mode_and_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    path.write_bytes(b"\xef\xbb\xbfa\r\n")
    path.chmod(0o754)
    write_fixed(path, text_of(path), "b\r\n")
    assert path.read_bytes() == b"\xef\xbb\xbfb\r\n"
    assert path.stat().st_mode & 0o777 == 0o754
    assert os.listdir(tmp_path) == ["run.py"]


def test_a_file_that_changed_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("reviewed\n")
    was = text_of(path)
    path.write_text("changed\n")
    with pytest.raises(StaleFile, match=r"x\.py was changed"):
        write_fixed(path, was, "fixed\n")
    assert path.read_text() == "changed\n"
    assert os.listdir(tmp_path) == ["x.py"]


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("reviewed\n")
    was = text_of(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        write_fixed(path, was, "fixed\n")
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "x.py", tmp_path / "link.py"
    path.write_text("a\n")
    link.symlink_to(path)
    write_fixed(link, text_of(link), "b\n")
    assert link.is_symlink()
    assert path.read_text() == "b\n"
