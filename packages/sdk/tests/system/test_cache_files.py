"""Files that can be made anew, in folders that do not grow."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.system.cache_files import write_cache_file

MOST = 10


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_kept_for_its_owner_and_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "a"
    for data in (b"first", b"second"):
        write_cache_file(path, data, most=MOST)
        assert path.read_bytes() == data
    assert names(path.parent) == ["a"]
    assert path.parent.stat().st_mode & 0o077 == path.stat().st_mode & 0o077 == 0


def test_a_folder_with_too_many_files_loses_the_older_half(tmp_path: Path) -> None:
    for age in range(MOST):
        path = tmp_path / f"{age:02}"
        write_cache_file(path, b"", most=MOST)
        os.utime(path, ns=(MOST - age, MOST - age))  # the last one is the oldest
    assert len(names(tmp_path)) == MOST
    write_cache_file(tmp_path / "new", b"", most=MOST)
    assert names(tmp_path) == ["00", "01", "02", "03", "04", "new"]


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_cache_file(tmp_path / "file" / "a", b"", most=MOST)
    assert names(tmp_path) == ["file"]
