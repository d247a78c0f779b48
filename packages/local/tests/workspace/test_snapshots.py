"""What a turn changed, told with and without git, and taken back."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.workspace import snapshot_entries
from dragoman_local.workspace.change_set import in_revert_order
from dragoman_local.workspace.lent_terminals import TerminalRequest
from dragoman_local.workspace.snapshot_entries import TICK, SnapshotSettings, TurnStart
from dragoman_local.workspace.snapshots import RevertRefused, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore
from dragoman_local.workspace.workspace import Workspace
from tests.workspace.turns import commit_all, git, picture, told

pytestmark = [pytest.mark.usefixtures("private_store"), pytest.mark.in_turn("root")]


@pytest.fixture
def private_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


@pytest.fixture(params=["git", "git, nothing committed", "plain"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a few things in it."""
    root = tmp_path / "root"
    (root / "sub/deep").mkdir(parents=True)
    (root / "text.txt").write_text("1\n2\n3\n")
    (root / "sub/deep/other.txt").write_text("other\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("text.txt")
    (root / "binary").write_bytes(b"\0\1\2")
    if request.param == "git":
        commit_all(root)
    elif request.param != "plain":
        git(root, "init", "-q")
    return root


def stores() -> int:
    """Stores that are open."""
    return sum(type(item) is TreeStore and item._connection is not None for item in gc.get_objects())


async def test_nothing_done_is_nothing_told(root: Path) -> None:
    async with await take_snapshot([str(root)]) as snapshot:
        changes = await snapshot.compare()
        assert (list(changes.files), list(changes.notes)) == ([], [])


async def test_a_file_that_became_a_folder_and_the_folders_of_new_files_are_put_back(root: Path) -> None:
    before = picture(root)
    folders = {path for path in root.rglob("*") if path.is_dir() and ".git" not in path.parts}
    async with await take_snapshot([str(root)]) as snapshot:
        (root / "text.txt").unlink()
        (root / "text.txt/inside").mkdir(parents=True)
        (root / "text.txt/inside/file").write_text("new\n")
        (root / "one/two").mkdir(parents=True)
        (root / "one/two/file").write_text("new\n")
        (root / "sub/deep/other.txt").unlink()
        (root / "sub/deep").rmdir()
        (root / "sub/deep").write_text("a file now\n")
        changes = await snapshot.compare()
        with pytest.raises(RevertRefused, match="not a file"):
            await changes.revert(str(root / "text.txt"))
        for change in in_revert_order(changes.files):
            await changes.revert(change.path)
    assert picture(root) == before
    assert {path for path in root.rglob("*") if path.is_dir() and ".git" not in path.parts} == folders


async def test_every_kind_of_change_is_told_and_taken_back(root: Path) -> None:
    before = picture(root)
    async with await take_snapshot([str(root)]) as snapshot:
        (root / "text.txt").write_text("1\ntwo\n3\n")
        (root / "sub/deep/other.txt").unlink()
        (root / "sub/deep").rmdir()
        (root / "new/folder").mkdir(parents=True)
        (root / "new/folder/file").write_text("new\n")
        (root / "run.sh").chmod(0o644)
        (root / "link").unlink()
        (root / "link").symlink_to("run.sh")
        (root / "binary").write_bytes(b"\0\1\3")
        changes = await snapshot.compare()
        assert told(changes, root) == {
            "binary": "modified",
            "link": "modified",
            "new/folder/file": "added",
            "run.sh": "modified",
            "sub/deep/other.txt": "removed",
            "text.txt": "modified",
        }
        for change in changes.files:
            await changes.revert(change.path)
        assert picture(root) == before
        assert (await snapshot.compare()).files == []
    assert list((root.parent / "tmp").iterdir()) == []


@pytest.mark.parametrize("how", ["written", "removed", "replaced", "linked"])
async def test_a_private_file_is_private_again_when_it_was_put_back(root: Path, how: str) -> None:
    secret = root / "secret.txt"
    secret.write_text("private\n")
    secret.chmod(0o600)
    async with await take_snapshot([str(root)]) as snapshot:
        if how == "written":
            secret.write_text("public\n")
            secret.chmod(0o644)
        else:
            secret.unlink()
        if how == "replaced":
            secret.write_text("public\n")
        if how == "linked":
            secret.symlink_to("text.txt")
        changes = await snapshot.compare()
        await changes.revert(str(secret))
    assert (secret.read_text(), stat.S_IMODE(secret.lstat().st_mode)) == ("private\n", 0o600)


async def test_a_change_is_shown_as_a_diff(root: Path) -> None:
    async with await take_snapshot([str(root)]) as snapshot:
        (root / "text.txt").write_text("1\ntwo\n3\n4\n")
        (root / "binary").write_bytes(b"\0")
        (root / "run.sh").chmod(0o644)
        binary, program, text = (await snapshot.compare()).files
        assert (binary.diff, binary.binary) == (None, True)
        assert program.diff == "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"
        assert text.diff == (
            "diff --git a/text.txt b/text.txt\n--- a/text.txt\n+++ b/text.txt\n"
            "@@ -1,3 +1,4 @@\n 1\n-2\n+two\n 3\n+4\n"
        )
        assert (text.lines_added, text.lines_removed, text.binary) == (2, 1, False)


async def test_it_does_not_matter_how_the_agent_did_it(root: Path) -> None:
    async with Workspace() as workspace, await take_snapshot([str(root)]) as snapshot:
        lent = workspace.open("s", cwd=str(root))
        await lent.write(str(root / "by_client"), "text")
        terminals = workspace.terminals("s")
        await terminals.wait(await terminals.create(TerminalRequest(command="touch", args=["by_shell"])))
        (root / "by_itself").write_text("text")
        assert told(await snapshot.compare(), root) == dict.fromkeys(
            ("by_client", "by_itself", "by_shell"), "added"
        )


async def test_a_change_within_one_tick_of_the_clock_is_seen(root: Path) -> None:
    (root / "text.txt").write_text("aaaa")
    async with await take_snapshot([str(root)]) as snapshot:
        status = (root / "text.txt").stat()
        (root / "text.txt").write_text("bbbb")
        os.utime(root / "text.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
        assert told(await snapshot.compare(), root) == {"text.txt": "modified"}


async def test_a_revert_does_not_undo_what_came_after_the_comparison(root: Path) -> None:
    async with await take_snapshot([str(root)]) as snapshot:
        (root / "text.txt").write_text("agent\n")
        (root / "new").write_text("agent\n")
        (root / "binary").unlink()
        changes = await snapshot.compare()
        (root / "text.txt").write_text("user\n")
        (root / "new").unlink()
        (root / "binary").write_text("user\n")
        for name in ("text.txt", "new", "binary"):
            with pytest.raises(RevertRefused, match="changed again"):
                await changes.revert(str(root / name))
        assert (root / "text.txt").read_text() == (root / "binary").read_text() == "user\n"


async def test_a_revert_happens_once_and_only_to_changes(root: Path) -> None:
    async with await take_snapshot([str(root)]) as snapshot:
        (root / "text.txt").write_text("agent\n")
        changes = await snapshot.compare()
        await changes.revert(str(root / "text.txt"))
        for path in (root / "text.txt", root / "binary", "/etc/passwd"):
            with pytest.raises(RevertRefused, match="not among"):
                await changes.revert(str(path))


Attack = Callable[[Path, Path], None]


def _folder_becomes_a_link(root: Path, outside: Path) -> None:
    (root / "sub/deep/other.txt").rename(outside / "moved.txt")
    (root / "sub/deep").rmdir()
    (root / "sub/deep").symlink_to(outside)


def _file_becomes_a_link(root: Path, outside: Path) -> None:
    (root / "sub/deep/other.txt").unlink()
    (root / "sub/deep/other.txt").symlink_to(outside / "other.txt")


def _folder_becomes_a_file(root: Path, _: Path) -> None:
    (root / "sub/deep/other.txt").unlink()
    (root / "sub/deep").rmdir()
    (root / "sub/deep").write_text("file")


@pytest.mark.parametrize("attack", [_folder_becomes_a_link, _file_becomes_a_link, _folder_becomes_a_file])
@pytest.mark.parametrize("late", [False, True])
async def test_a_revert_stays_inside(attack: Attack, root: Path, *, late: bool) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "other.txt").write_text("outside\n")
    async with await take_snapshot([str(root)]) as snapshot:
        if not late:
            attack(root, outside)
        else:
            (root / "sub/deep/other.txt").write_text("agent\n")
        changes = await snapshot.compare()
        if late:
            attack(root, outside)
        for change in changes.files:
            try:
                await changes.revert(change.path)
            except RevertRefused:
                assert late or attack is not _file_becomes_a_link
        assert (outside / "other.txt").read_text() == "outside\n"
        assert {path.name for path in outside.iterdir()} <= {"other.txt", "moved.txt"}
        if attack is _file_becomes_a_link and not late:
            assert (root / "sub/deep/other.txt").read_text() == "other\n"


async def test_what_is_too_large_is_noticed_and_noted(root: Path) -> None:
    (root / "large").write_bytes(b"x" * 2000)
    async with await take_snapshot([str(root)], settings=SnapshotSettings(file_bytes=1000)) as snapshot:
        assert any("large" in note for note in snapshot.notes)
        assert (await snapshot.compare()).files == []
        (root / "large").write_bytes(b"y" * 2000)
        changes = await snapshot.compare()
        assert [(change.kind, change.diff) for change in changes.files] == [("modified", None)]
        with pytest.raises(RevertRefused, match="too large"):
            await changes.revert(str(root / "large"))


async def test_what_exceeds_the_whole_store_is_noticed_and_noted(root: Path) -> None:
    for number in range(5):
        (root / f"file{number}").write_bytes(bytes([65 + number]) * 1000)
    async with await take_snapshot([str(root)], settings=SnapshotSettings(total_bytes=2500)) as snapshot:
        assert any("compared by date" in note for note in snapshot.notes)
        (root / "file4").write_text("changed")
        assert told(await snapshot.compare(), root) == {"file4": "modified"}


async def test_a_look_that_was_cut_short_makes_nothing_up(root: Path) -> None:
    async with await take_snapshot([str(root)], settings=SnapshotSettings(seconds=0.0)) as snapshot:
        (root / "new").write_text("new")
        changes = await snapshot.compare()
        assert changes.files == []
        assert any("too much to look at" in note for note in changes.notes)


async def test_diffs_are_bounded_and_changes_named_all_the_same(root: Path) -> None:
    async with await take_snapshot([str(root)], settings=SnapshotSettings(diff_bytes=100)) as snapshot:
        (root / "text.txt").write_text("x\n" * 1000)
        (change,) = (await snapshot.compare()).files
        assert (change.diff, change.lines_added) == (None, 1000)


@pytest.mark.parametrize(
    "name", ["a\nb", 'quo"te', "-rf", "$(id)", "sp ace", "ümlaut", ".hidden", "a\\b", "*"]
)
async def test_any_name_can_be_told_and_taken_back(name: str, root: Path) -> None:
    async with await take_snapshot([str(root)]) as snapshot:
        (root / name).write_text("text\n")
        changes = await snapshot.compare()
        assert told(changes, root) == {name: "added"}
        assert "\na\nb" not in changes.diff
        await changes.revert(str(root / name))
        assert (await snapshot.compare()).files == []


async def test_what_is_no_file_is_left_alone(root: Path) -> None:
    async with await take_snapshot([str(root)]) as snapshot:
        os.mkfifo(root / "pipe")
        (root / b"\xff".decode(errors="surrogateescape")).write_text("no name for people")
        assert (await snapshot.compare()).files == []


async def test_several_roots_one_within_another(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    roots = [str(root), str(other), str(root / "sub"), str(other)]
    async with await take_snapshot(roots) as snapshot:
        (other / "file").write_text("1")
        (root / "sub/file").write_text("2")
        changes = await snapshot.compare()
        assert [change.path for change in changes.files] == [str(other / "file"), str(root / "sub/file")]
        for change in changes.files:
            await changes.revert(change.path)
        assert (await snapshot.compare()).files == []


async def test_a_root_must_be_a_folder(root: Path) -> None:
    with pytest.raises(LocalMistake):
        await take_snapshot([str(root / "none")])
    assert list((root.parent / "tmp").iterdir()) == []


async def test_a_closed_snapshot_tells_nothing_more(root: Path) -> None:
    snapshot = await take_snapshot([str(root)])
    (root / "text.txt").write_text("agent\n")
    changes = await snapshot.compare()
    await snapshot.aclose()
    with pytest.raises(LocalMistake, match="closed"):
        await snapshot.compare()
    with pytest.raises(RevertRefused):
        await changes.revert(str(root / "text.txt"))
    assert (root / "text.txt").read_text() == "agent\n"


async def test_a_snapshot_that_nobody_waits_for_any_more_leaves_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, is_open, connect = asyncio.get_running_loop(), asyncio.Event(), TreeStore._open

    def tell_and_connect(store: TreeStore) -> object:
        loop.call_soon_threadsafe(is_open.set)
        return connect(store)

    monkeypatch.setattr(TreeStore, "_open", tell_and_connect)
    taking = asyncio.create_task(take_snapshot([str(root)]))
    await is_open.wait()
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert stores() == 0


async def test_snapshots_may_be_taken_at_the_same_time(root: Path) -> None:
    one, two = await asyncio.gather(take_snapshot([str(root)]), take_snapshot([str(root)]))
    (root / "new").write_text("x")
    await one.aclose()
    assert told(await two.compare(), root) == {"new": "added"}
    await two.aclose()


async def test_a_snapshot_that_is_retaken_shares_what_is_kept_and_tells_what_lay_between(
    root: Path, tmp_path: Path
) -> None:
    first = await take_snapshot([str(root)])
    (root / "text.txt").write_text("1\ntwo\n3\n")
    second = await first.retake()
    assert stores() == 1
    (root / "text.txt").write_text("later\n")
    (root / "new.txt").write_text("later\n")
    between = await first.compare(second)
    assert [change.path for change in between.files] == [str(root / "text.txt")]
    assert "+two" in between.diff
    with pytest.raises(RevertRefused):
        await between.revert(str(root / "text.txt"))
    await first.aclose()
    since = await second.compare()
    assert told(since, root) == {"new.txt": "added", "text.txt": "modified"}
    assert "-two" in since.diff
    await second.aclose()
    assert stores() == 0


async def test_one_file_of_a_snapshot_can_be_taken_from_another(root: Path) -> None:
    async with await take_snapshot([str(root)]) as first:
        (root / "text.txt").write_text("two\n")
        (root / "new.txt").write_text("new\n")
        async with await first.retake() as second:
            (root / "text.txt").write_text("1\n2\n3\n")
            (root / "new.txt").unlink()
            async with await first.retake() as third:
                second.adopt(str(root / "text.txt"), third)
            assert told(await first.compare(second), root) == {"new.txt": "added"}


def change_after(path: Path, moment: int) -> None:
    """Write to a file, so often that it bears a later date: the clock of a file system ticks slowly."""
    while not path.exists() or path.stat().st_ctime_ns <= moment:
        path.write_text("agent\n")


@pytest.mark.parametrize("kind", ["plain", "git", "git, nothing committed"])
async def test_what_was_not_seen_before_the_turn_began_is_unknown_and_nobodys_change(
    tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "root"
    for name in ("kept/same", "kept/users", "agents/edited", "agents/removed", "agents/later"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("old\n")
    if kind == "git":
        commit_all(root)
    elif kind != "plain":
        git(root, "init", "-q")
    start = TurnStart()
    async with await take_snapshot([str(root)]) as earlier:
        (root / "kept/users").write_text("user\n")
        start.moment = (root / "kept/users").stat().st_ctime_ns + TICK + 1
        # The agent is faster than the look.
        for name in ("agents/edited", "agents/new", "agents/below/new"):
            (root / name).parent.mkdir(exist_ok=True)
            change_after(root / name, start.moment - TICK)
        (root / "agents/removed").unlink()
        change_after(root / "agents/new", (root / "agents").stat().st_ctime_ns)
        async with await earlier.retake(start=start) as before:
            (root / "agents/later").write_text("agent\n")
            (root / "agents/after").write_text("agent\n")
            (root / "kept/after").write_text("agent\n")
            (root / "kept/same").unlink()
            changes = await before.compare()
    assert {os.path.relpath(file.path, root): file.kind for file in changes.files} == {
        "agents/later": "modified",
        "kept/after": "added",
        "kept/same": "removed",
    }
    assert any("agents/edited" in note and "earlier content is unknown" in note for note in changes.notes)


async def test_a_file_that_the_agent_removed_while_git_looked_is_not_taken_for_new(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "tracked").write_text("old\n")
    commit_all(root)
    start = TurnStart()
    async with await take_snapshot([str(root)]) as earlier:
        start.moment = time.time_ns() + TICK
        while root.stat().st_ctime_ns < start.moment:
            (root / "tracked").unlink(missing_ok=True)
            (root / "users").write_text("user\n")
            (root / "users").unlink()
        async with await earlier.retake(start=start) as before:
            (root / "tracked").write_text("agent\n")
            (root / "users").write_text("agent\n")
            changes = await before.compare()
    assert list(changes.files) == []
    assert any("tracked" in note and "earlier content is unknown" in note for note in changes.notes)


async def test_a_file_of_the_kernel_that_has_nothing_to_read_is_compared_by_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "kmsg").write_text("as in /proc, of which no test can make one")

    class NothingYet(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return cast(bytes, None)

    def open_later(fd: int, mode: str) -> NothingYet:
        os.close(fd)
        return NothingYet()

    monkeypatch.setattr(snapshot_entries, "open", open_later, raising=False)
    async with await take_snapshot([str(project)]) as snapshot:
        assert (await snapshot.compare()).files == []


async def test_a_folder_of_which_nothing_is_kept_costs_no_store(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    async with await take_snapshot([str(folder)]) as before:
        assert stores() == 0
        (folder / "new.txt").write_text("new")
        async with await before.retake() as after:
            assert [change.path for change in (await before.compare(after)).files] == [
                str(folder / "new.txt")
            ]
            assert stores() == 1
    assert stores() == 0
