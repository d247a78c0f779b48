"""The files that git lists for us."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dragoman.system.git import find_git
from dragoman.system.git_files import list_git_files
from dragoman.testing.pace import patience


def listed(folder: Path) -> list[str] | None:
    program = find_git()
    assert program is not None
    return list_git_files(program, str(folder), seconds=patience(30))


def test_files_are_listed_in_order_and_ignored_ones_are_not(tmp_path: Path) -> None:
    assert listed(tmp_path) is None, "it is in no repository"
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert listed(tmp_path) == []
    for name in ("b.py", "a.py", "sub/c.py", "x.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    subprocess.run(["git", "-C", str(tmp_path), "add", "a.py"], check=True)
    assert listed(tmp_path) == [".gitignore", "a.py", "b.py", "sub/c.py"]
    assert listed(tmp_path / "sub") == ["c.py"]
    (tmp_path / "a.py").unlink()
    assert "a.py" in (listed(tmp_path) or ()), "git knows it until that is added, too"


def test_a_program_that_is_no_git_lists_nothing(tmp_path: Path) -> None:
    assert list_git_files("/no/such/program", str(tmp_path), seconds=patience(30)) is None
    assert list_git_files("/bin/false", str(tmp_path), seconds=patience(30)) is None
