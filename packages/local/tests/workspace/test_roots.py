"""The folders of a session: how they are opened, and what happens when they do not stay."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_local.workspace.refusals import FORBIDDEN
from dragoman_local.workspace.roots import Roots
from tests.workspace.ground import BOTH_WAYS, files_in, refused

both_ways = pytest.mark.parametrize("use_kernel", BOTH_WAYS)


@both_ways
def test_a_root_that_is_a_link_is_resolved_once(use_kernel: bool, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text(name)
    (tmp_path / "link").symlink_to("first")
    with files_in(tmp_path / "link", use_kernel=use_kernel) as files:
        assert files.read(str(tmp_path / "link/file.txt")).text == "first"
        assert files.read(str(tmp_path / "first/file.txt")).text == "first"
        assert files.locate(str(tmp_path / "link/new")) == str(tmp_path / "first/new")
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("second")
        assert files.read(str(tmp_path / "link/file.txt")).text == "first"
        assert refused(files.read, str(tmp_path / "second/file.txt")) == (FORBIDDEN, "outside")


@both_ways
@pytest.mark.parametrize("call", ["read", "stat", "search"])
def test_under_a_root_that_was_replaced_nothing_is_served(
    use_kernel: bool, call: str, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "file.txt").write_text("old")
    with files_in(root, use_kernel=use_kernel) as files:
        root.rename(tmp_path / "moved")
        argument = "*" if call == "search" else str(root / "file.txt")
        assert refused(getattr(files, call), argument) == (FORBIDDEN, "root_gone")
        root.mkdir()
        (root / "file.txt").write_text("new")
        assert refused(getattr(files, call), argument) == (FORBIDDEN, "root_gone")


def test_the_refusal_says_whether_the_root_was_removed_or_replaced(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with Roots(str(root)) as roots:
        root.rmdir()
        with pytest.raises(ErrorAnswer, match="removed"):
            roots.locate(str(root / "x"))
        root.mkdir()  # it cannot get the number of the old one, which we hold open
        with pytest.raises(ErrorAnswer, match="replaced"):
            roots.locate(str(root / "x"))


@both_ways
def test_a_file_of_the_kernel_is_not_lent_even_below_the_root_of_everything(use_kernel: bool) -> None:
    with files_in(Path("/"), use_kernel=use_kernel) as files:
        assert refused(files.read, "/proc/self/environ") == (FORBIDDEN, "special")
        assert refused(files.stat, "/proc/self/environ") == (FORBIDDEN, "special")
        assert refused(files.search, "/proc/self/*") == (FORBIDDEN, "special")
        assert refused(files.search, "/proc/*") == (FORBIDDEN, "special")
        assert files.search("/pro[c]/versio[n]").matches == []


@both_ways
def test_a_root_within_a_root_is_fine(use_kernel: bool, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "file.txt").write_text("outer")
    (tmp_path / "inner/file.txt").write_text("inner")
    with files_in(tmp_path, tmp_path / "inner", use_kernel=use_kernel) as files:
        assert files.read(str(tmp_path / "inner/../file.txt")).text == "outer"
        assert files.read(str(tmp_path / "inner/file.txt")).text == "inner"


def test_duplicates_count_once_and_the_first_root_is_where_the_session_works(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    paths = [str(tmp_path / "more"), str(tmp_path), str(tmp_path / "more"), f"{tmp_path}/"]
    with Roots(str(tmp_path), paths) as roots:
        assert roots.folders == (str(tmp_path), str(tmp_path / "more"))
        assert roots.cwd == str(tmp_path)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("relative", "absolute"),
        ("{base}/none", "No such file"),
        ("{base}/file", "Not a directory"),
        ("{base}/a\0b", "NUL"),
        ("{base}/loop", "symbolic links"),
    ],
)
def test_what_is_no_folder_is_no_root(path: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(LocalMistake, match=why):
        Roots(str(tmp_path), [path.replace("{base}", str(tmp_path))])
    assert len(os.listdir("/dev/fd")) == before


def test_roots_that_are_closed_while_in_use_are_let_go_afterwards(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("text")
    before = len(os.listdir("/dev/fd"))
    roots = Roots(str(tmp_path))
    inside, closed = threading.Event(), threading.Event()

    def close() -> None:
        inside.wait()
        roots.close()
        closed.set()

    thread = threading.Thread(target=close)
    thread.start()
    with roots.place(str(tmp_path / "file.txt")) as place:
        inside.set()
        closed.wait()
        assert place.status() is not None
        with pytest.raises(ErrorAnswer, match="closed"):
            roots.locate(str(tmp_path / "file.txt"))
    thread.join()
    assert len(os.listdir("/dev/fd")) == before


@both_ways
def test_a_place_that_is_missing_is_located_all_the_same(use_kernel: bool, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    with Roots(str(tmp_path), use_kernel=use_kernel) as roots:
        assert roots.locate(str(tmp_path / "link/new.txt")) == str(tmp_path / "sub/new.txt")
        assert roots.locate(str(tmp_path / "link/a/b/new.txt")) == str(tmp_path / "sub/a/b/new.txt")
        assert refused(roots.locate, str(tmp_path / "none/../new.txt")) == (-32002, "missing")
