"""A file is replaced as a whole, or left as it is, and nothing is left beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.system.replacement import replace_file, replace_private, replacement_of


def test_a_new_file_has_the_mode_that_was_asked_for_and_another_one_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    replace_file(path, b"one", mode=0o640)
    assert path.stat().st_mode & 0o777 == 0o640
    replace_file(path, b"two")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two", 0o640)
    assert os.listdir(tmp_path) == ["settings"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere", tmp_path / "settings"
    target.write_bytes(b"one")
    link.symlink_to(target)
    replace_file(link, b"two")
    assert link.is_symlink()
    assert target.read_bytes() == b"two"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_former_file_and_nothing_beside_it(
    error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "settings"
    path.write_bytes(b"one")

    def fail_in_the_middle() -> None:
        with replacement_of(path, mode=0o600) as copy:
            copy.write_bytes(b"half of")
            raise error

    with pytest.raises(error):
        fail_in_the_middle()
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["settings"]


def test_a_result_that_is_not_finished_costs_nobody_the_former_one(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_bytes(b"of yesterday")
    path.chmod(0o640)

    def fail_in_the_middle() -> None:
        with replace_private(path) as file:
            file.write(b"half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_in_the_middle()
    assert path.read_bytes() == b"of yesterday"
    with replace_private(path) as file:
        file.write(b"of today")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"of today", 0o640)
    with replace_private(tmp_path / "another") as file:
        file.write(b"new")
    assert (tmp_path / "another").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["another", "report"]


def test_what_is_no_file_is_written_in_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with replace_private(pipe) as file:
            file.write(b"words")
        assert os.read(reader, 100) == b"words"
    finally:
        os.close(reader)


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "report"
    with pytest.raises(FileNotFoundError) as caught, replace_private(path):
        pass
    assert caught.value.filename == str(path)
