"""The files that a review was asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_app.cli.review_files import NothingThere, ReviewFile, read_files
from dragoman_review.source import ReviewNote


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def named(*names: str) -> dict[str, ReviewFile]:
    return {file.name: file for file in read_files(names, stdin_name="-")}


def test_each_file_is_read_once_and_named_from_here(here: Path) -> None:
    Path("sub").mkdir()
    for name in ("a.py", "sub/b.py", "package-lock.json"):
        Path(name).write_text("x = 1\n")
    Path("link.py").symlink_to("a.py")
    (here.parent / "c.py").write_text("x = 2\n")
    files = named("./a.py", str(here / "a.py"), "sub/../a.py", ".", "../c.py")
    assert list(files) == ["a.py", "sub/b.py", "../c.py"]
    assert {name: file.path and file.path.resolve() for name, file in files.items()} == {
        "a.py": here / "a.py",
        "sub/b.py": here / "sub/b.py",
        "../c.py": here.parent / "c.py",
    }
    assert list(named("package-lock.json")) == ["package-lock.json"], "somebody named it"


def test_what_is_no_text_is_a_note_and_what_is_not_there_a_mistake() -> None:
    Path("a.bin").write_bytes(b"\0\1")
    assert isinstance(named("a.bin")["a.bin"].content, ReviewNote)
    with pytest.raises(NothingThere, match=r"no file or folder b\.py"):
        named("b.py")
