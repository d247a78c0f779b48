"""A fork is the folder as it was, in a work tree of its own; nothing else of the repository changes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.workspace.fork_folder import fork_folder, make_fork, plan_fork
from dragoman_local.workspace.line_history import LineHistory
from dragoman_local.workspace.rewind import plan_rewind
from tests.workspace.remembered_folder import RememberedFolder
from tests.workspace.turns import commit_all, git, picture


@pytest.fixture
def folder(tmp_path: Path) -> RememberedFolder:
    folder = RememberedFolder(tmp_path)
    folder.write({"a.txt": "was\n", "sub/b.txt": "was\n"})
    return folder


def last_look(folder: RememberedFolder, number: int) -> int:
    found = next(turn.last for turn in folder.store.turns() if turn.number == number)
    assert found is not None
    return found


async def two_turns(folder: RememberedFolder) -> None:
    """A program, a link and a file that is gone; then a turn that changes all of it."""

    def work() -> None:
        (folder.root / "run.sh").chmod(0o755)
        (folder.root / "link").symlink_to("a.txt")

    await folder.turn("one", {"a.txt": "was\nmade\n", "run.sh": "#!/bin/sh\n", "sub/b.txt": None}, work=work)
    await folder.turn("one", {"a.txt": "later\n", "run.sh": None, "link": None, "sub/b.txt": "back\n"})


async def test_a_fork_is_the_folder_after_its_turn_and_the_repository_stays_as_it_is(
    folder: RememberedFolder, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    folder.write({".gitattributes": "*.txt filter=evil\n"})
    commit_all(folder.root)
    base = git(folder.root, "rev-parse", "HEAD").strip()
    git(folder.root, "config", "filter.evil.smudge", f"touch {canary}")
    hook = folder.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    folder.write({".env": "A=1\n"})
    await two_turns(folder)
    git(folder.root, "add", "a.txt")
    before = picture(folder.root)
    plan = plan_fork(folder.store, str(folder.root), last_look(folder, 1), name="fork-1")
    assert (plan.branch, plan.base, plan.left) == ("fork-1", base, [".env"])
    assert picture(folder.root) == before
    make_fork(folder.store, plan)
    place = tmp_path / "root-fork-1"
    assert (place / "a.txt").read_text() == "was\nmade\n"
    assert os.access(place / "run.sh", os.X_OK)
    assert os.readlink(place / "link") == "a.txt"
    assert not (place / "sub").exists()
    assert not canary.exists()
    after = picture(folder.root)
    assert {path: after.get(path) for path in before} == before  # the index, HEAD, refs and all files
    added = {path.removeprefix(f"{folder.root}/.git/").split("/")[0] for path in after.keys() - before.keys()}
    assert added <= {"worktrees", "refs", "logs"}
    assert " D sub/b.txt" in git(place, "status", "--short")
    assert git(place, "symbolic-ref", "HEAD").strip() == "refs/heads/fork-1"
    again = plan_fork(folder.store, str(folder.root), last_look(folder, 1), name="fork-1")
    assert (again.branch, again.place) == ("fork-1-2", f"{folder.root}-fork-1-2")


async def test_lines_of_a_fork_are_their_authors_and_it_can_be_rewound_alone(
    folder: RememberedFolder, tmp_path: Path
) -> None:
    """Outside git it is a copy."""
    await two_turns(folder)
    plan = plan_fork(folder.store, str(folder.root), last_look(folder, 1), name="fork-1")
    assert plan.branch == ""
    await fork_folder(folder.store, plan)
    fork = RememberedFolder(tmp_path)
    fork.root, fork.store = Path(plan.folder), folder.store
    fork.write({"a.txt": "was\nmade\ntyped\n"})
    assert await fork.blame("a.txt") == ["unknown", "one 1", "person"]
    await fork.turn("two", {"a.txt": "was\nmade\ntyped\nmore\n"})
    assert await fork.blame("a.txt") == ["unknown", "one 1", "person", "two 1"]
    first = folder.store.turns(plan.folder)[0].first
    assert first is not None
    rewind = await plan_rewind(folder.store, plan.folder, first, folder.journal.open)
    assert [step.path for step in rewind.steps] == ["a.txt"]
    await rewind.aclose()
    folder.store.forget(["one"])  # what it was made of is not known any more
    assert LineHistory(folder.store, plan.folder).origins("a.txt") is not None


async def test_a_folder_within_its_repository_is_forked_with_all_around_it(
    folder: RememberedFolder, tmp_path: Path
) -> None:
    commit_all(folder.root)
    sub = RememberedFolder(tmp_path)
    sub.root, sub.store = folder.root / "sub", folder.store
    await sub.turn("one", {"b.txt": "made\n"})
    folder.write({"a.txt": "not committed\n"})
    plan = plan_fork(folder.store, str(sub.root), last_look(sub, 1), place=str(tmp_path / "there"), name="f")
    make_fork(folder.store, plan)
    assert plan.folder == str(tmp_path / "there" / "sub")
    assert (tmp_path / "there" / "a.txt").read_text() == "was\n"
    assert (tmp_path / "there" / "sub" / "b.txt").read_text() == "made\n"


async def test_what_cannot_be_forked_is_refused_and_a_half_fork_is_taken_away(
    folder: RememberedFolder, tmp_path: Path
) -> None:
    git(folder.root, "init", "-q")
    await two_turns(folder)
    look, root = last_look(folder, 1), str(folder.root)
    with pytest.raises(LocalMistake, match="no commit yet"):
        plan_fork(folder.store, root, look, name="f")
    commit_all(folder.root)
    for place, told in (
        (root, "not an empty"),
        (f"{root}/in", "in the other"),
        (str(tmp_path), "not an empty"),
    ):
        with pytest.raises(LocalMistake, match=told):
            plan_fork(folder.store, root, look, place=place, name="f")
    plan = plan_fork(folder.store, root, look, name="f")
    with pytest.raises(LocalMistake, match="could not be made"):
        make_fork(type(folder.store)(), plan)  # a store that has none of the contents
    assert not os.path.lexists(plan.place)
    assert "f" not in git(folder.root, "branch", "--format=%(refname:short)").split()
    make_fork(folder.store, plan)
    shutil.rmtree(plan.place)
