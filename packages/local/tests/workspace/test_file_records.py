import os
import subprocess
from pathlib import Path

import pytest

from dragoman_local.workspace import file_records
from dragoman_local.workspace.file_records import RecordsIncomplete, take_records, touched_paths


def records(*roots: Path) -> dict[str, file_records.FileRecord]:
    return take_records([str(root) for root in roots], is_kept=lambda path: path.endswith(".kept"))


def test_every_way_to_touch_a_file_is_seen(tmp_path: Path) -> None:
    for name in ("same", "written", "gone", "moved", "private", "x.kept", "y.kept"):
        (tmp_path / name).write_text("text")
    before = records(tmp_path)
    (tmp_path / "written").write_text("TEXT")
    (tmp_path / "gone").unlink()
    (tmp_path / "moved").rename(tmp_path / "there")
    (tmp_path / "private").chmod(0o777)
    (tmp_path / "x.kept").write_text("other")
    (tmp_path / "y.kept").chmod(0o777)
    (tmp_path / "link").symlink_to("same")
    os.mkfifo(tmp_path / "pipe")
    names = [os.path.basename(path) for path in touched_paths(before, records(tmp_path))]
    assert names == ["gone", "link", "moved", "pipe", "private", "there", "written", "y.kept"]


def test_looking_at_a_repository_touches_nothing(tmp_path: Path) -> None:
    def git(*words: str, cwd: Path = tmp_path) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example"]
        subprocess.run(["git", *identity, *words], cwd=cwd, check=True, capture_output=True)

    git("init", "-q", "main")
    (tmp_path / "main" / "a").write_text("a")
    git("add", "a", cwd=tmp_path / "main")
    git("commit", "-qm", "one", cwd=tmp_path / "main")
    git("worktree", "add", "-q", "../tree", cwd=tmp_path / "main")
    tree = tmp_path / "tree"
    before = records(tree)
    git("status", cwd=tree)
    assert touched_paths(before, records(tree)) == []
    hook = tmp_path / "main" / ".git" / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh\n")
    assert touched_paths(before, records(tree)) == [str(hook)], "the hooks of a work tree lie elsewhere"


def test_more_files_than_can_be_looked_at_is_no_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_records, "MOST_FILES", 1)
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    with pytest.raises(RecordsIncomplete):
        records(tmp_path)
