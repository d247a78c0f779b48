"""What git says of a repository, asked of real ones."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_review.git import (
    GitChangedFile,
    GitRefused,
    blame,
    changed_lines,
    changes,
    find_top,
    list_files,
    moved_lines,
    read_diff,
    text_at,
)


def git(folder: Path, *words: str) -> None:
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@x.x", "-c", "init.defaultBranch=main", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=env)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def found(files: tuple[GitChangedFile, ...]) -> dict[str, frozenset[int] | None]:
    return {file.path: file.lines for file in files}


async def test_changed_lines_and_new_files_are_found(project: Path) -> None:
    (project / "a.py").write_text("one\nTWO\nthree\nfour\n")
    (project / "new.py").write_text("x\n")
    (project / "ignored.py").write_text("x\n")
    assert found((await changes(project)).files) == {"a.py": frozenset({2, 4}), "new.py": None}


async def test_only_what_is_in_the_index_is_staged(project: Path) -> None:
    (project / "a.py").write_text("one\nTWO\nthree\n")
    git(project, "add", "a.py")
    (project / "a.py").write_text("one\nTWO\nTHREE\n")
    (project / "new.py").write_text("x\n")
    staged = await changes(project, is_staged=True)
    assert found(staged.files) == {"a.py": frozenset({2})}
    assert await text_at(staged.top, ":0", "a.py") == b"one\nTWO\nthree\n"


async def test_against_a_branch_only_our_own_changes_count(project: Path) -> None:
    git(project, "checkout", "-b", "ours")
    (project / "b.py").write_text("ours\n")
    git(project, "add", ".")
    git(project, "commit", "-m", "ours")
    git(project, "checkout", "main")
    (project / "a.py").write_text("theirs\n")
    git(project, "commit", "-am", "theirs")
    git(project, "checkout", "ours")
    assert found((await changes(project, against="main")).files) == {"b.py": None}


async def test_paths_narrow_what_is_looked_at(project: Path) -> None:
    (project / "sub").mkdir()
    for name in ("x.py", "sub/y.py", "sub/*.py"):
        (project / name).write_text("x\n")
    assert found((await changes(project, paths=["sub"])).files).keys() == {"sub/y.py", "sub/*.py"}
    # A name is a name, not a pattern.
    assert found((await changes(project, paths=["sub/*.py"])).files).keys() == {"sub/*.py"}
    assert found((await changes(project / "sub", paths=["y.py"])).files).keys() == {"sub/y.py"}


async def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "a.py").write_text("x\n")
    git(tmp_path, "add", "a.py")
    (tmp_path / "b.py").write_text("x\n")
    made = await changes(tmp_path)
    assert made.base is None
    assert found(made.files) == {"a.py": None, "b.py": None}


@pytest.mark.parametrize("name", ["a b.py", 'q"uote.py', "tab\t.py", "é😀.py", "new\nline.py", "b/+++ b"])
async def test_a_name_may_be_anything(project: Path, name: str) -> None:
    path = project / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("one\n")
    git(project, "add", ".")
    git(project, "commit", "-m", "odd")
    path.write_text("one\ntwo\n")
    assert found((await changes(project)).files) == {name: frozenset({2})}


async def test_text_that_looks_like_a_diff_is_text(project: Path) -> None:
    (project / "a.py").write_text("one\n++ b/evil.py\n@@ -1 +1,99 @@\ndiff --git a/x b/x\nthree")
    assert found((await changes(project)).files) == {"a.py": frozenset({2, 3, 4, 5})}


async def test_a_deleted_file_is_no_changed_text_and_whoever_reads_tells_what_is_binary(
    project: Path,
) -> None:
    (project / "a.py").unlink()
    (project / ".gitignore").write_bytes(b"\0\1")
    assert found((await changes(project)).files) == {".gitignore": None}


async def test_a_renamed_file_has_only_its_changed_lines(project: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(50))
    (project / "a.py").write_text(text)
    git(project, "commit", "-am", "long")
    git(project, "mv", "a.py", "b.py")
    (project / "b.py").write_text(text + "more\n")
    assert found((await changes(project)).files) == {"b.py": frozenset({51})}


@pytest.mark.parametrize("revision", ["no-such", "--output=x", "-x", "HEAD:a.py"])
async def test_what_is_no_revision_is_refused(project: Path, revision: str) -> None:
    with pytest.raises(GitRefused, match="revision"):
        await changes(project, against=revision)
    assert not (project / "x").exists()


async def test_without_a_repository_there_are_no_changes(tmp_path: Path) -> None:
    assert await find_top(tmp_path) is None
    assert await list_files(tmp_path) is None
    with pytest.raises(GitRefused, match="not in a git repository"):
        await changes(tmp_path)


async def test_no_program_of_the_repository_is_run(project: Path) -> None:
    trap = project / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {project}/ran\n")
    trap.chmod(0o755)
    for key in ("diff.external", "core.fsmonitor", "diff.x.textconv", "core.pager"):
        git(project, "config", key, str(trap))
    (project / ".gitattributes").write_text("*.py diff=x\n")
    (project / "a.py").write_text("other\n")
    assert "a.py" in found((await changes(project)).files)
    assert not (project / "ran").exists()


async def test_the_files_of_a_folder_are_those_that_git_does_not_ignore(project: Path) -> None:
    (project / "ignored.py").write_text("x\n")
    (project / "new.py").write_text("x\n")
    listed = await list_files(project)
    assert listed is not None
    assert [path.name for path in listed] == [".gitignore", "a.py", "new.py"]


async def test_a_text_of_before_can_be_asked_for(project: Path) -> None:
    (project / "a.py").write_text("other\n")
    assert await text_at(project, "HEAD", "a.py") == b"one\ntwo\nthree\n"
    assert await text_at(project, "HEAD", "no.py") is None


texts = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map("\n".join)


@given(texts, texts)
def test_lines_that_did_not_change_are_all_in_the_old_text(before: str, after: str) -> None:
    new = changed_lines(before, after)
    kept = [line for number, line in enumerate(after.split("\n"), 1) if number not in new]
    remaining = iter(before.split("\n"))
    assert all(line in remaining for line in kept)  # in order
    assert (new == frozenset()) >= (before == after)


def test_lines_are_followed_to_where_they_went() -> None:
    before, after = "a\nb\nc\nd", "new\na\nc\nD"
    assert moved_lines(frozenset({1, 3, 4}), before, after) == {1, 2, 3, 4}
    assert moved_lines(frozenset({3}), before, after) == {1, 3, 4}


@given(st.binary(max_size=200))
def test_any_bytes_are_survived_as_a_diff(shown: bytes) -> None:
    list(read_diff(shown))


@pytest.mark.parametrize("name", ["b.js", "b and b/c.js", 'ü "x".js', "x y.js", " b"])
@pytest.mark.parametrize("act", ["add", "change", "move"])
async def test_a_sign_that_git_takes_for_binary_hides_no_file(project: Path, act: str, name: str) -> None:
    path, old = project / name, project / "old.js"
    path.parent.mkdir(exist_ok=True)
    if act != "add":
        old = path if act == "change" else old
        old.write_bytes(b"a\n" * 40 + b"// \0\n")
        git(project, "add", ".")
        git(project, "commit", "-m", "before")
        old.rename(path)
    path.write_bytes(b"a\n" * 40 + b"// \0\neval(x)\n")
    git(project, "add", ".")
    assert (await changes(project)).files == (GitChangedFile(name, None),)


async def test_blame_names_the_commit_of_each_line_and_leaves_out_what_is_new(project: Path) -> None:
    text = (project / "a.py").read_text()
    last = len(text.splitlines())
    found = await blame(project, "a.py", f"new\n{text}", 1, last + 9)
    assert set(found) == set(range(2, last + 2))
    assert {commit.author for commit in found.values()} == {"x"}
    assert await blame(project, "unknown.py", "x\n", 1, 1) == {}
