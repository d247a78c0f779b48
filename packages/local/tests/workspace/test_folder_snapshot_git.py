"""Snapshots in git work trees: the user's repository is read and never written, and nothing of it is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_local.workspace.snapshots import take_snapshot
from tests.workspace.turns import commit_all, git, records, told


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "text.txt").write_text("1\n2\n")
    (tree / ".gitignore").write_text("build/\n.env\n")
    commit_all(tree)
    return tree


async def test_the_users_repository_is_not_touched(tree: Path) -> None:
    (tree / "staged").write_text("staged")
    git(tree, "add", "staged")
    (tree / "staged").write_text("not staged")
    before = records(tree / ".git")
    async with await take_snapshot([str(tree)]) as snapshot:
        (tree / "text.txt").write_text("changed\n")
        (tree / "staged").write_text("staged")  # a content that the repository knows
        changes = await snapshot.compare()
        for change in changes.files:
            await changes.revert(change.path)
        assert (tree / "staged").read_text() == "not staged"
    assert records(tree / ".git") == before


async def test_a_commit_during_the_turn_hides_nothing(tree: Path) -> None:
    async with await take_snapshot([str(tree)]) as snapshot:
        (tree / "text.txt").write_text("changed\n")
        (tree / "new").write_text("new\n")
        commit_all(tree)
        assert told(await snapshot.compare(), tree) == {"new": "added", "text.txt": "modified"}


async def test_what_git_ignores_is_covered_file_by_file_but_not_by_the_folder(tree: Path) -> None:
    (tree / ".env").write_text("A=1\n")
    (tree / "build").mkdir()
    (tree / "build/out").write_text("1")
    async with await take_snapshot([str(tree)]) as snapshot:
        assert any("build/" in note for note in snapshot.notes)
        (tree / ".env").write_text("A=2\n")
        (tree / "build/out").write_text("2")
        changes = await snapshot.compare()
        assert told(changes, tree) == {".env": "modified"}
        await changes.revert(str(tree / ".env"))
        assert (tree / ".env").read_text() == "A=1\n"


async def test_a_folder_of_a_work_tree_is_a_root_of_its_own(tree: Path) -> None:
    (tree / "sub").mkdir()
    (tree / "sub/file").write_text("1")
    (tree / "sub/.env").write_text("1")
    async with await take_snapshot([str(tree / "sub")]) as snapshot:
        (tree / "text.txt").write_text("outside the root")
        (tree / "sub/file").write_text("2")
        changes = await snapshot.compare()
        assert told(changes, tree) == {"sub/file": "modified"}
        await changes.revert(str(tree / "sub/file"))
        assert (tree / "sub/file").read_text() == "1"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_an_entry_that_git_does_not_look_at_is_looked_at(flag: str, tree: Path) -> None:
    git(tree, "update-index", flag, "text.txt")
    async with await take_snapshot([str(tree)]) as snapshot:
        (tree / "text.txt").write_text("changed\n")
        changes = await snapshot.compare()
        assert told(changes, tree) == {"text.txt": "modified"}
        await changes.revert(str(tree / "text.txt"))
        assert (tree / "text.txt").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("config", "attributes"),
    [(("core.autocrlf", "true"), ""), ((), "* text=auto\n"), ((), "*.txt eol=crlf\n")],
)
async def test_contents_come_back_as_they_were_on_disk(
    config: tuple[str, ...], attributes: str, tree: Path
) -> None:
    if config:
        git(tree, "config", *config)
    (tree / ".gitattributes").write_text(attributes)
    (tree / "dos.txt").write_bytes(b"1\r\n2\r\n")
    commit_all(tree)
    assert git(tree, "status", "--porcelain") == ""
    async with await take_snapshot([str(tree)]) as snapshot:
        (tree / "dos.txt").write_bytes(b"agent\n")
        changes = await snapshot.compare()
        assert told(changes, tree) == {"dos.txt": "modified"}
        await changes.revert(str(tree / "dos.txt"))
        assert (tree / "dos.txt").read_bytes() == b"1\r\n2\r\n"
        assert (await snapshot.compare()).files == []


async def test_nothing_that_a_repository_configures_is_run(tree: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\necho ran >> {witness}\ncat\n")
    script.chmod(0o755)
    hooks = tree / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"):
        (hooks / hook).write_text(script.read_text())
        (hooks / hook).chmod(0o755)
    (tree / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv"):
        git(tree, "config", name, str(script))
    for name in ("core.pager", "core.editor", "core.sshCommand", "diff.external", "core.askPass"):
        git(tree, "config", name, str(script))
    git(tree, "config", "alias.ls-files", f"!{script}")
    witness.unlink(missing_ok=True)  # setting things up ran it already
    async with await take_snapshot([str(tree)]) as snapshot:
        (tree / "text.txt").write_text("changed\n")
        changes = await snapshot.compare()
        assert told(changes, tree) == {"text.txt": "modified"}
        await changes.revert(str(tree / "text.txt"))
    assert not witness.exists()


async def test_a_repository_in_the_work_tree_is_looked_into_with_what_its_own_git_ignores(tree: Path) -> None:
    inner = tree / "inner"
    inner.mkdir()
    (inner / "file").write_text("1")
    (inner / ".gitignore").write_text("made/\n")
    commit_all(inner)
    (inner / "made").mkdir()
    for is_submodule in (False, True):
        before = records(inner / ".git")
        async with await take_snapshot([str(tree)]) as snapshot:
            (inner / "file").write_text(f"{is_submodule}")
            (inner / "made" / "out").write_text(f"{is_submodule}")
            changes = await snapshot.compare()
            assert told(changes, tree) == {"inner/file": "modified"}
            await changes.revert(str(inner / "file"))
        assert records(inner / ".git") == before
        commit_all(tree)


async def test_of_very_many_repositories_some_are_noted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman_local.workspace.folder_snapshot._MOST_REPOSITORIES", 0)
    (tree / "inner").mkdir()
    (tree / "inner/file").write_text("1")
    commit_all(tree / "inner")
    async with await take_snapshot([str(tree)]) as snapshot:
        assert any("submodules" in note and "inner/" in note for note in snapshot.notes)
        (tree / "inner/file").write_text("2")
        assert (await snapshot.compare()).files == []


async def test_a_linked_work_tree_is_one_too(tree: Path, tmp_path: Path) -> None:
    git(tree, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked = tmp_path / "linked"
    async with await take_snapshot([str(linked)]) as snapshot:
        (linked / "text.txt").write_text("changed\n")
        changes = await snapshot.compare()
        assert told(changes, linked) == {"text.txt": "modified"}
        await changes.revert(str(linked / "text.txt"))
        assert (linked / "text.txt").read_text() == "1\n2\n"


async def test_a_broken_repository_is_a_plain_folder(tree: Path) -> None:
    (tree / ".git/HEAD").write_text("nonsense")
    async with await take_snapshot([str(tree)]) as snapshot:
        (tree / "text.txt").write_text("changed\n")
        assert told(await snapshot.compare(), tree) == {"text.txt": "modified"}
