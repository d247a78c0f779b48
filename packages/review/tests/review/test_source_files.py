"""Texts from the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman_review import ReviewNote
from dragoman_review.source_files import (
    SourceText,
    StaleFile,
    decode,
    files_below,
    is_worth_it,
    read_text,
    write_fixed,
)


@pytest.mark.parametrize(
    "data", [b"plain\r\n", b"\xef\xbb\xbfmarked\n", "Ünï\n".encode(), b"\xff\xfea\0\n\0", b"\xfe\xff\0a", b""]
)
def test_a_text_is_written_back_as_it_was(data: bytes) -> None:
    text = decode(data)
    assert text is not None
    assert text.encode(text.text) == data
    assert "\ufeff" not in text.text


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xff", b"caf\xe9", b"\xff\xfea"])
def test_what_is_no_text_is_never_guessed(data: bytes) -> None:
    assert decode(data) is None


@pytest.mark.parametrize("name", ["package-lock.json", "a/Cargo.lock", "x.min.js", "logo.PNG", "api_pb2.py"])
def test_what_machines_made_is_not_worth_it(name: str) -> None:
    assert not is_worth_it(name)
    assert is_worth_it("a/lock.py")


def test_a_folder_is_walked_without_what_others_put_there(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "sub/c.js", "node_modules/x.js", ".git/config", "x.png", "__pycache__/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in files_below(tmp_path)] == ["a.py", "b.py", "sub/c.js"]


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert read_text(tmp_path / "pipe.py") == ReviewNote(
        str(tmp_path / "pipe.py"), "not reviewed: it is not a regular file"
    )


def test_what_is_too_large_or_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("12345")
    assert isinstance(read_text(path), SourceText)
    large = read_text(path, largest=4)
    gone = read_text(tmp_path / "no.py")
    assert isinstance(large, ReviewNote)
    assert "5 bytes are too many" in large.text
    assert isinstance(gone, ReviewNote)
    assert gone.is_failure


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
