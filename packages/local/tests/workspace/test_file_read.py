"""Reads of real files: windows, encodings, sizes, ranges, and how much memory they take."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman_local.workspace import file_read
from dragoman_local.workspace.file_read import read_contents, read_range, read_text
from dragoman_local.workspace.refusals import NOT_TEXT, TOO_LARGE
from dragoman_local.workspace.settings import FileSettings
from dragoman_local.workspace.text import encoding_of
from dragoman_local.workspace.versions import version_of
from tests.workspace.ground import files_in, refused
from tests.workspace.test_text import MARKS, model

texts = st.text(st.sampled_from("ab\n\r é\U0001f600"), max_size=60)
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=[7, file_read.CHUNK], ids=["small chunks", "usual chunks"])
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_read, "CHUNK", request.param)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@same_folder
@given(text=texts, first=st.integers(0, 9), limit=st.none() | st.integers(0, 9), keep=st.booleans())
def test_lines_of_a_file_are_those_of_the_model(
    mark: bytes, text: str, first: int, limit: int | None, keep: bool, tmp_path: Path
) -> None:
    data = encoding_of(mark).encode(text)
    path = tmp_path / "file.txt"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        read = read_text(fd, FileSettings(), first=first, limit=limit, keep_whole=keep)
    finally:
        os.close(fd)
    assert read.text == model(text, first, limit)
    assert read.version == version_of(data)
    assert read.whole == (text if keep else None)


@pytest.mark.usefixtures("chunks")
@same_folder
@given(data=st.binary(max_size=60), offset=st.integers(0, 70), limit=st.integers(0, 70), hashes=st.booleans())
def test_a_range_is_a_slice(data: bytes, offset: int, limit: int, hashes: bool, tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        read = read_range(fd, FileSettings(hash_bytes=1000 if hashes else -1), offset=offset, limit=limit)
    finally:
        os.close(fd)
    assert read.data == data[offset : offset + limit]
    assert read.size == len(data)
    assert (read.version == version_of(data)) == hashes


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        ("ü\r\n".encode(), "utf-8", "ü\r\n"),
        (codecs.BOM_UTF8 + b"a", "utf-8", "a"),
        (codecs.BOM_UTF16_BE + "ü".encode("utf-16-be"), "utf-16-be", "ü"),
        (b"\xff\xff", "utf-8", None),
        (b"\x89PNG\0", "utf-8", None),
        (codecs.BOM_UTF16_LE + b"a", "utf-8", None),  # looked like UTF-16, and is not
    ],
)
def test_what_a_write_must_know_is_found_out(
    data: bytes, encoding: str, text: str | None, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(data)
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        contents = read_contents(fd, FileSettings())
        foreign = read_contents(fd, FileSettings(foreign_text="latin-1"))
        large = read_contents(fd, FileSettings(hash_bytes=-1))
    finally:
        os.close(fd)
    assert (contents.encoding.codec, contents.text) == (encoding, text)
    assert contents.version == version_of(data)
    assert large.text is None
    if data == b"\xff\xff":
        assert (foreign.encoding.codec, foreign.text) == ("latin-1", "ÿÿ")


def test_latin_1_is_read_only_where_it_was_chosen(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes("naïve\ncafé\n".encode("latin-1"))
    with files_in(tmp_path) as files:
        assert refused(files.read, str(path)) == (NOT_TEXT, "not_text")
    with files_in(tmp_path, settings=FileSettings(foreign_text="latin-1")) as files:
        assert files.read(str(path), first=2).text == "café\n"


def test_lines_before_the_first_bad_byte_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"good\n" * 100_000 + b"\xff\n")
    with files_in(tmp_path) as files:
        assert files.read(str(path), limit=1).text == "good\n"
        assert refused(files.read, str(path)) == (NOT_TEXT, "not_text")


def test_too_much_text_is_refused_and_fewer_lines_are_answered(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("12345\n" * 10)
    with files_in(tmp_path, settings=FileSettings(read_bytes=20)) as files:
        assert refused(files.read, str(path)) == (TOO_LARGE, "too_large")
        assert files.read(str(path), first=4, limit=3).text == "12345\n" * 3
        assert len(files.read_range(str(path)).data) == 20


def test_lines_are_not_looked_for_without_end(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("1\n" * 1_000_000)
    with files_in(tmp_path, settings=FileSettings(scan_bytes=1_100_000, hash_bytes=0)) as files:
        assert files.read(str(path), first=400_000, limit=1).text == "1\n"
        assert refused(files.read, str(path), first=900_000, limit=1) == (TOO_LARGE, "too_large")


def test_a_large_file_has_a_version_too(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("1\n" * 10)
    with files_in(tmp_path, settings=FileSettings(hash_bytes=10)) as files:
        first = files.read(str(path), limit=1).version
        assert files.read(str(path), limit=1).version == first
        path.write_text("2\n" * 11)
        assert files.read(str(path), limit=1).version != first


MEBIBYTE = 1024 * 1024
GROWTH = 24 * MEBIBYTE
"""Far below the size of the file, with room for what the interpreter does on its own."""


@pytest.mark.parametrize("lines", [True, False], ids=["many lines", "one line"])
def test_a_line_of_a_file_of_300_mebibytes_takes_little_memory(lines: bool, tmp_path: Path) -> None:
    program = Path(__file__).with_name("read_big.py")
    block = ((b"x" * 127 + b"\n") if lines else b"x" * 128) * (8 * 1024)
    with (tmp_path / "big.txt").open("wb") as big:
        for _ in range(300):
            big.write(block)
    done = subprocess.run(
        [sys.executable, program, tmp_path / "big.txt", "many" if lines else "one"],
        capture_output=True,
        text=True,
        check=False,
    )
    (tmp_path / "big.txt").unlink()
    assert done.returncode == 0, done.stderr
    allowed = GROWTH if lines else GROWTH + 2 * FileSettings().read_bytes
    assert int(done.stdout) < allowed
