"""A place is used as it is, not as it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragoman_local.workspace.places import FilePlace, open_listing
from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS, NOT_FOUND
from tests.workspace.ground import refused


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FilePlace]:
    with FilePlace(os.open(tmp_path, os.O_RDONLY), "name", str(tmp_path / "name")) as made:
        yield made


def test_a_file_is_opened_for_what_was_asked(place: FilePlace, tmp_path: Path) -> None:
    (tmp_path / "name").write_text("text")
    fd = place.open_file()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(fd, b"x")
    os.close(fd)
    fd = place.open_file(writable=True)
    assert os.read(fd, 10) == b"text"
    assert os.write(fd, b"x") == 1
    os.close(fd)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, (NOT_FOUND, "missing")),
        (lambda path: path.mkdir(), (INVALID_PARAMS, "not_a_file")),
        (os.mkfifo, (FORBIDDEN, "special")),
        (lambda path: path.symlink_to("elsewhere"), (FORBIDDEN, "changed")),
    ],
    ids=["nothing", "a folder", "a FIFO", "a link"],
)
def test_what_is_no_file_is_refused(
    make: Callable[[Path], None], reason: tuple[int, str], place: FilePlace, tmp_path: Path
) -> None:
    make(tmp_path / "name")
    assert refused(place.open_file) == reason


@pytest.mark.parametrize(
    ("make", "reason"),
    [(lambda path: path.symlink_to("/etc/passwd"), "changed"), (os.mkfifo, "special")],
    ids=["a link", "a FIFO"],
)
def test_what_was_a_file_a_moment_ago_is_refused(
    make: Callable[[Path], None],
    reason: str,
    place: FilePlace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "other").write_text("")
    was = (tmp_path / "other").stat()
    make(tmp_path / "name")
    monkeypatch.setattr(FilePlace, "status", lambda _: was)
    assert refused(place.open_file) == (FORBIDDEN, reason)


def test_a_link_is_not_listed(place: FilePlace, tmp_path: Path) -> None:
    (tmp_path / "name").symlink_to("/etc")
    with pytest.raises(OSError, match=r"directory|symbolic"):
        open_listing("name", dir_fd=place.folder)


def test_a_place_can_be_closed_twice(place: FilePlace) -> None:
    place.close()
    place.close()
