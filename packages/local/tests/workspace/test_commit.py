"""Commits of chosen files in real repositories: what was looked at is committed, or nothing is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.commit import CommitResult, make_commit
from dragoman_local.workspace.commit_preview import CommitPreview, preview_commit
from dragoman_local.workspace.refusals import reason_of
from tests.system.hostile_repository import HostileRepository
from tests.workspace.command_agent import gone
from tests.workspace.turns import records

pytestmark = pytest.mark.bound(60)  # each starts git some twenty times


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, a person, a changed file, a removed one and a new one."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "--quiet", "-b", "main")
    for name in ("a.txt", "b.txt", "c.txt"):
        (tree / name).write_text("one\ntwo\n")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "-m", "first")
    (tree / "a.txt").write_text("one\nTWO\n")
    (tree / "b.txt").unlink()
    (tree / "new file.txt").write_text("new\n")
    return tree


def git(folder: Path, *words: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout


def hook(tree: Path, name: str, script: str) -> None:
    path = tree / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def refusal_of(folder: Path, *paths: str) -> ErrorAnswer:
    with pytest.raises(ErrorAnswer) as raised:
        preview_commit(str(folder), paths=paths or None)
    return raised.value


async def commit(
    tree: Path, preview: CommitPreview, message: str = "change it", seconds: float = 60.0
) -> CommitResult:
    paths = [file.path for file in preview.files if file.is_chosen]
    return await make_commit(
        str(tree), paths=paths, message=message, identity=preview.identity, seconds=seconds
    )


# Looking.


def test_a_preview_names_files_lines_author_and_branch_and_writes_nothing(tree: Path) -> None:
    before = records(tree / ".git")
    preview = preview_commit(str(tree), own_paths=["a.txt", "new file.txt", "gone.txt"])
    assert [(file.path, file.kind, file.is_chosen) for file in preview.files] == [
        ("a.txt", "modified", True),
        ("b.txt", "removed", False),
        ("new file.txt", "added", True),
    ]
    assert [(file.lines_added, file.lines_removed) for file in preview.files] == [
        (1, 1),
        (None, None),
        (1, 0),
    ]
    assert (preview.author, preview.branch, preview.hooks) == ("Ann <ann@example.org>", "main", ())
    assert "+TWO" in preview.diff
    assert "b.txt" not in preview.diff
    assert preview.subjects == ("first",)
    assert records(tree / ".git") == before


def test_a_preview_of_a_hostile_repository_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    hostile = HostileRepository(tmp_path)
    preview = preview_commit(str(hostile.folder), own_paths=["a.py", "new.py"])
    assert {file.path for file in preview.files if file.is_chosen} == {"a.py", "new.py"}
    assert "pre-commit" in {hook.name for hook in preview.hooks}
    assert hostile.canaries() == []


def test_ignored_files_nested_repositories_and_files_above_the_folder_are_not_offered(tree: Path) -> None:
    (tree / ".gitignore").write_text("*.log\n")
    inner = tree / "sub"
    (inner / "nested").mkdir(parents=True)
    git(inner / "nested", "init", "--quiet")
    (inner / "nested/x").write_text("x")
    (inner / "out.log").write_text("x")
    (inner / "own.txt").write_text("x")
    (inner / "link").symlink_to(tree)
    preview = preview_commit(str(inner))
    assert [file.path for file in preview.files] == ["link", "own.txt"]
    for path in ("../a.txt", str(tree / "a.txt"), "link/a.txt", "out.log"):
        assert reason_of(refusal_of(inner, path)) == "moved", path


def _stage(tree: Path) -> None:
    git(tree, "add", "a.txt")


def _merge(tree: Path) -> None:
    (tree / ".git/MERGE_HEAD").write_text(git(tree, "rev-parse", "HEAD"))


def _rebase(tree: Path) -> None:
    (tree / ".git/rebase-merge").mkdir()


def _forget_person(tree: Path) -> None:
    (tree.parent / ".gitconfig").write_text("")


def _clean(tree: Path) -> None:
    git(tree, "checkout", "--quiet", ".")
    (tree / "new file.txt").unlink()


def _leave_git(tree: Path) -> None:
    (tree / ".git").rename(tree.parent / "elsewhere")


@pytest.mark.parametrize(
    ("prepare", "reason", "advice"),
    [
        (_stage, "staged", "git restore --staged"),
        (_merge, "under_way", "a merge is under way"),
        (_rebase, "under_way", "abort it"),
        (_forget_person, "no_author", "git config --global user.email"),
        (_clean, "nothing", "nothing to commit"),
        (_leave_git, "no_repository", "git init"),
    ],
)
def test_what_stands_in_the_way_is_refused_with_what_to_do(
    tree: Path, prepare: Callable[[Path], None], reason: str, advice: str
) -> None:
    prepare(tree)
    answer = refusal_of(tree)
    assert reason_of(answer) == reason
    assert advice in answer.message


def test_a_detached_head_is_a_warning(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "--detach")
    preview = preview_commit(str(tree))
    assert preview.branch == ""
    assert "git switch -c" in preview.warnings[0]


# Committing.


async def test_the_chosen_files_are_committed_and_the_others_stay_as_they_were(tree: Path) -> None:
    preview = preview_commit(str(tree), paths=["a.txt", "new file.txt"])
    done = await commit(tree, preview, "tree: change it\n\nfor a reason\n# no comment")
    assert git(tree, "rev-parse", "HEAD").strip() == done.commit
    assert done.commit.startswith(done.short)
    assert (done.branch, done.subject) == ("main", "tree: change it")
    assert git(tree, "show", "--no-renames", "--name-status", "--format=%an %ae%n%B").split("\n") == [
        *("Ann ann@example.org", "tree: change it", "", "for a reason", "# no comment", "", ""),
        *("M\ta.txt", "A\tnew file.txt", ""),
    ]
    assert git(tree, "status", "--porcelain") == " D b.txt\n"
    assert not (tree / ".git/index.lock").exists()


async def test_a_removed_file_and_the_first_commit_of_a_repository(tree: Path) -> None:
    await commit(tree, preview_commit(str(tree), paths=["b.txt"]))
    assert git(tree, "ls-tree", "--name-only", "HEAD") == "a.txt\nc.txt\n"
    fresh = tree.parent / "fresh"
    fresh.mkdir()
    git(fresh, "init", "--quiet", "-b", "main")
    (fresh / "a").write_text("a")
    (fresh / "b").write_text("b")
    done = await commit(fresh, preview_commit(str(fresh), paths=["a"]))
    assert git(fresh, "log", "--format=%H").strip() == done.commit
    assert git(fresh, "status", "--porcelain") == "?? b\n"


async def test_what_changed_since_the_look_is_not_committed(tree: Path) -> None:
    preview = preview_commit(str(tree), paths=["a.txt"])
    head = git(tree, "rev-parse", "HEAD")
    (tree / "a.txt").write_text("another\n")
    with pytest.raises(ErrorAnswer, match="look at the changes again") as raised:
        await commit(tree, preview)
    assert reason_of(raised.value) == "moved"
    assert git(tree, "rev-parse", "HEAD") == head
    assert git(tree, "diff", "--cached", "--name-only") == ""
    (tree / "a.txt").write_text("one\nTWO\n")
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "somebody else's")
    with pytest.raises(ErrorAnswer, match="look at the changes again"):
        await commit(tree, preview)
    assert git(tree, "log", "-1", "--format=%s") == "somebody else's\n"


async def test_hooks_run_with_their_output_made_harmless_and_without_secrets_of_the_hub(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    hook(tree, "pre-commit", r"""printf '\033[31mno tabs, %s\n' "${SOME_API_KEY:-please}"; exit 1""")
    preview = preview_commit(str(tree), paths=["a.txt"])
    assert [hook.name for hook in preview.hooks] == ["pre-commit"]
    before = (tree / ".git/index").read_bytes()
    with pytest.raises(ErrorAnswer, match="pre-commit hook, refused") as raised:
        await commit(tree, preview)
    assert raised.value.data == {"reason": "refused", "output": "␛[31mno tabs, please"}
    assert (tree / ".git/index").read_bytes() == before
    assert git(tree, "log", "--format=%s") == "first\n"


async def test_what_a_hook_changes_is_in_the_commit_and_in_the_index(tree: Path) -> None:
    hook(tree, "pre-commit", "printf 'formatted\\n' >a.txt; git add a.txt")
    hook(tree, "commit-msg", 'echo "Checked: yes" >>"$1"')
    await commit(tree, preview_commit(str(tree), paths=["a.txt"]))
    assert git(tree, "show", "HEAD:a.txt") == "formatted\n"
    assert "Checked: yes" in git(tree, "log", "-1", "--format=%B")
    assert git(tree, "status", "--porcelain") == ' D b.txt\n?? "new file.txt"\n'


async def test_a_hook_that_does_not_end_is_stopped_with_what_it_started(tree: Path) -> None:
    hook(tree, "pre-commit", f"echo $$ >{tree.parent}/pid; sleep 1000 & sleep 1000")
    with pytest.raises(ErrorAnswer, match=r"took longer than 0\.3 s"):
        await commit(tree, preview_commit(str(tree), paths=["a.txt"]), seconds=0.3)
    assert not (tree / ".git/index.lock").exists()
    pid = tree.parent / "pid"
    if pid.exists() and pid.read_text().strip():  # on a busy machine the hook may not have begun
        await gone(int(pid.read_text()))


async def test_a_commit_that_is_made_counts_though_git_ends_badly_afterwards(tree: Path) -> None:
    hook(tree, "post-commit", "kill -9 $PPID")
    done = await commit(tree, preview_commit(str(tree), paths=["a.txt"]))
    assert git(tree, "rev-parse", "HEAD").strip() == done.commit
    assert git(tree, "diff", "--cached", "--name-only") == ""


async def test_filters_of_the_repository_are_used_for_the_commit(tree: Path) -> None:
    git(tree, "config", "filter.upper.clean", "tr a-z A-Z")
    (tree / ".gitattributes").write_text("a.txt filter=upper\n")
    await commit(tree, preview_commit(str(tree), paths=[".gitattributes", "a.txt"]))
    assert git(tree, "show", "HEAD:a.txt") == "ONE\nTWO\n"
    assert git(tree, "status", "--porcelain") == ' D b.txt\n?? "new file.txt"\n'


async def test_another_git_command_at_work_is_named(tree: Path) -> None:
    preview = preview_commit(str(tree), paths=["a.txt"])
    (tree / ".git/index.lock").touch()
    with pytest.raises(ErrorAnswer, match=r"remove .*index\.lock"):
        await commit(tree, preview)
    assert (tree / ".git/index.lock").exists()


async def test_an_empty_message_and_no_files_are_refused(tree: Path) -> None:
    preview = preview_commit(str(tree), paths=["a.txt"])
    for message, paths in ((" \n", ["a.txt"]), ("x\0", ["a.txt"]), ("x", [])):
        with pytest.raises(ErrorAnswer):
            await make_commit(str(tree), paths=paths, message=message, identity=preview.identity)


async def test_a_worktree_of_a_repository_has_commits_of_its_own(tree: Path) -> None:
    linked = tree.parent / "linked"
    git(tree, "worktree", "add", "--quiet", "-b", "side", str(linked))
    (linked / "c.txt").write_text("linked\n")
    done = await commit(linked, preview_commit(str(linked), paths=["c.txt"]))
    assert done.branch == "side"
    assert git(tree, "log", "-1", "--format=%s", "side") == "change it\n"
    assert git(linked, "status", "--porcelain") == ""
