"""What acts of recordings have in common is looked up once, and is what the disk says."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from dragoman_local.workspace.proof.known_acts import DEEPEST, KnownActs


def test_a_real_path_is_that_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "folder/inner").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    for name, target in {
        "link": "folder",
        "folder/up": "../link/inner",
        "folder/inner/top": str(tmp_path),
        "loop": "loop",
        "ring": "gnir",
        "gnir": "ring/x",
        "nowhere": "missing/away",
        "of file": "file",
    }.items():
        (tmp_path / name).symlink_to(target)
    names = (
        "folder",
        "inner",
        "up",
        "top",
        "link",
        "loop",
        "ring",
        "nowhere",
        "of file",
        "new",
        "..",
        ".",
        "",
    )
    known = KnownActs()
    for parts in product(names, repeat=3):
        for path in (os.path.join(tmp_path, *parts), f"{tmp_path}/{'/'.join(parts)}"):
            assert known.real_path(path) == os.path.realpath(path), path
    deep = str(tmp_path / "link") + "/a" * 2 * DEEPEST
    for path in (
        "/",
        "//",
        "//x/y",
        "///x/y",
        "//x",
        "/./x",
        "/../x",
        "/x",
        "",
        ".",
        "x/y",
        "~",
        deep,
        deep * 20,
        f"/{'n' * 300}/x",
    ):
        assert known.real_path(path) == os.path.realpath(path), path


def test_a_folder_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    lstat = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: (looks.append(str(path)), lstat(path))[1])
    known = KnownActs()
    place = os.path.realpath(tmp_path)
    known.real_path(f"{place}/one")
    looks.clear()
    assert known.real_path(f"{place}/two") == f"{place}/two"
    assert known.real_path(f"{place}/one") == f"{place}/one"
    assert looks == [f"{place}/two"]
