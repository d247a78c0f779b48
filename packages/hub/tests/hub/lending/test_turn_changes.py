"""What a turn changed is told to its session alone, and costs nothing once nobody needs it."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dragoman import Agent, Turn
from dragoman.testing.pace import patience
from dragoman_hub.lending import shared_look, turn_changes
from dragoman_hub.lending.folder_turn import FolderTurn
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_local.workspace import snapshots
from dragoman_local.workspace.folder_snapshot import PlainFolder
from dragoman_local.workspace.snapshot_entries import Capture, TurnStart
from dragoman_local.workspace.tree_store import TreeStore
from tests.hub.lending.writer_stage import Doors, changed, do, names, writer
from tests.hub.sessions.stage import Stage, staged
from tests.runtime.raw import until

pytestmark = pytest.mark.usefixtures("temporary", "patient_looks")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where snapshots are kept during the test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "old.txt").write_text("1\n2\n3\n")
    return folder


def stores() -> int:
    """Stores that are open."""
    return sum(type(item) is TreeStore and item._connection is not None for item in gc.get_objects())


# Whose a change is.


async def test_a_turn_alone_in_its_folder_owns_every_change_and_none_that_comes_later(project: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write a.txt edit b.txt")
        assert await names(client, session) == ["a.txt", "b.txt"]
        (project / "old.txt").write_text("by hand\n")
        (project / "a.txt").write_text("by hand\n")
        told = await changed(client, session)
    assert [os.path.basename(one["path"]) for one in told["files"]] == ["a.txt", "b.txt"]
    assert "+new" in told["files"][0]["diff"]
    assert told["others"] == []


async def test_two_sessions_in_one_folder_never_own_each_others_changes(project: Path) -> None:
    doors = Doors()
    async with staged({"one": lambda: writer(doors)}, changes=True) as stage:
        client = await stage.client().begin()
        ours, theirs = await client.new(str(project)), await client.new(str(project))
        reached, open_ = doors.of("a")
        first = client.prompt(ours, "edit mine.txt write silent.txt read old.txt fail theirs.txt wait a")
        await reached.wait()
        await do(client, theirs, "edit theirs.txt write quiet.txt edit old.txt")
        open_.set()
        await client.answer(first)
        told = await changed(client, ours)
        by = {os.path.basename(one["path"]): one["by"] for one in told["others"]}
        assert [os.path.basename(one["path"]) for one in told["files"]] == ["mine.txt"]
        assert by == {
            "old.txt": "others",
            "quiet.txt": "unknown",
            "silent.txt": "unknown",
            "theirs.txt": "others",
        }
        assert await names(client, theirs) == ["old.txt", "theirs.txt"]
        # What an agent names when its turn is over makes nothing its turn's own.
        late = {"path": str(project / "silent.txt")}
        call = {"sessionUpdate": "tool_call", "toolCallId": "9", "kind": "edit", "locations": [late]}
        update = msgspec.json.encode({"params": {"sessionId": ours, "update": call}})
        stage.hub.changes.on_updates(ours, [update])
        stage.hub.changes.on_write(ours, Raw(msgspec.json.encode(late)))
        assert await names(client, ours) == ["mine.txt"]
        why = await client.refusal(
            "_dragoman/hub/revert", {"sessionId": ours, "path": str(project / "theirs.txt")}
        )
        assert "another session" in why["message"]
        assert (project / "theirs.txt").exists()


async def test_a_file_that_both_sessions_edit_is_nobodys_own(project: Path) -> None:
    doors = Doors()
    async with staged({"one": lambda: writer(doors)}, changes=True) as stage:
        client = await stage.client().begin()
        sessions = [await client.new(str(project)), await client.new(str(project))]
        reached, open_ = doors.of("a")
        first = client.prompt(sessions[0], "edit old.txt wait a")
        await reached.wait()
        (project / "old.txt").write_text("1\n")
        await do(client, sessions[1], "edit old.txt")
        open_.set()
        await client.answer(first)
        for session in sessions:
            told = await changed(client, session)
            assert told["files"] == []
            assert [(os.path.basename(one["path"]), one["by"]) for one in told["others"]] == [
                ("old.txt", "unknown")
            ]


async def test_a_write_that_the_hub_lends_is_the_sessions_own(project: Path) -> None:
    doors = Doors()
    async with staged({"one": lambda: writer(doors)}, changes=True, files="hub") as stage:
        client = await stage.client().begin()
        ours, theirs = await client.new(str(project)), await client.new(str(project))
        reached, open_ = doors.of("a")
        first = client.prompt(ours, "lend mine.txt wait a")
        client.allow(await client.asked())
        await reached.wait()
        await do(client, theirs, "write quiet.txt")
        open_.set()
        await client.answer(first)
        assert await names(client, ours) == ["mine.txt"]
        assert await names(client, ours, "others") == ["quiet.txt"]


async def test_turns_one_after_the_other_do_not_meet(project: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        ours, theirs = await client.new(str(project)), await client.new(str(project))
        await do(client, ours, "write a.txt")
        await do(client, theirs, "write b.txt")
        assert await names(client, ours) == ["a.txt"]
        assert await names(client, theirs) == ["b.txt"]


async def test_what_was_put_back_is_not_told_again(project: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write old.txt write a.txt")
        await client.call("_dragoman/hub/revert", {"sessionId": session, "path": str(project / "old.txt")})
        assert (project / "old.txt").read_text() == "1\n2\n3\n"
        assert await names(client, session) == ["a.txt"]


# What it costs.


async def test_snapshots_are_shared_in_a_folder_and_freed_with_their_sessions(
    project: Path, temporary: Path
) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        sessions = [await client.new(str(project)) for _ in range(4)]
        before = len(os.listdir("/proc/self/fd"))
        for number, session in enumerate(sessions):
            await do(client, session, f"write {number}.txt")
            assert await names(client, session) == [f"{number}.txt"]
        assert stores() == 1
        assert len(os.listdir("/proc/self/fd")) <= before + 1
        for session in sessions[:2]:
            await client.call("session/close", {"sessionId": session})
        for session in sessions[2:]:
            await client.call("session/delete", {"sessionId": session})
        await until(lambda: stores() == 0 and len(os.listdir("/proc/self/fd")) <= before)


async def test_snapshots_are_freed_when_nobody_asks_for_them(project: Path, temporary: Path) -> None:
    async with staged({"one": writer}, changes=True, changes_kept=0.0) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write a.txt")
        await until(lambda: stores() == 0)
        assert (await changed(client, session))["files"] == []
        await do(client, session, "write b.txt")  # and the next turn is known again


async def test_a_snapshot_is_freed_although_its_turn_never_began(project: Path, temporary: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await stage.hub.changes.begin(session, "key", [str(project)])
        assert stores() == 1
        stage.hub.changes.forget(session)
        await until(lambda: stores() == 0)


# Looks that take too long.


async def test_a_slow_look_pauses_looks_and_they_come_back_by_themselves(
    project: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []
    slow = True
    take_now = snapshots.take_snapshot
    now = 0.0

    async def sometimes_slow(folders: Any, *, start: Any, store: Any, take: Any) -> Any:
        looks.append(folders)
        if slow:
            await asyncio.Event().wait()
        return await take_now(folders, start=start, store=store, take=take)

    monkeypatch.setattr(turn_changes, "take_snapshot", sometimes_slow)
    async with staged({"one": writer}, changes=True) as stage:
        _with_clock(stage, lambda: now)
        client = await stage.client().begin()
        session = await client.new(str(project))
        monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 0.0)
        await do(client, session, "write a.txt")
        assert "tries again" in (await changed(client, session))["notes"][0]
        await do(client, session, "write b.txt")
        assert "paused" in (await changed(client, session))["notes"][0]
        assert looks == [[str(project)]]
        now = shared_look.FIRST_PAUSE
        await do(client, session, "write c.txt")
        assert len(looks) == 2
        now += shared_look.FIRST_PAUSE + 1  # the second pause is longer
        await do(client, session, "write d.txt")
        assert len(looks) == 2
        now += shared_look.FIRST_PAUSE
        slow = False
        monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 10.0)
        await do(client, session, "write e.txt")
        assert await names(client, session) == ["e.txt"]
        assert (await changed(client, session))["notes"] == []


def _with_clock(stage: Stage, clock: Any) -> None:
    changes = stage.hub.changes
    assert isinstance(changes, TurnChanges)
    changes._clock = clock


@pytest.mark.parametrize("kind", ["plain", "git"])
async def test_a_prompt_does_not_wait_for_a_look_at_a_large_folder_that_is_known(
    project: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "git":
        subprocess.run(["git", "init", "-q", str(project)], check=True)
    monkeypatch.setattr(turn_changes, "MANY_FILES", 1)
    monkeypatch.setattr(turn_changes, "PROMPT_SECONDS", 0)
    monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 60)
    looks, go_on = 0, threading.Event()
    take = snapshots.Snapshot.take

    def slow_take(self: snapshots.Snapshot, start: TurnStart | None = None) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:  # before the second turn
            assert go_on.wait(patience(20))
        take(self, start)

    monkeypatch.setattr(snapshots.Snapshot, "take", slow_take)
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write first.txt")
        assert await names(client, session) == ["first.txt"]
        await do(client, session, "write old.txt")
        go_on.set()
        told = await changed(client, session)
        assert told["files"] == []
        assert any("old.txt" in note for note in told["notes"])


async def test_a_prompt_does_not_wait_for_the_first_look_at_a_large_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_changes, "MANY_FILES", 2)
    monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 60)
    (project / "inner").mkdir()
    for name in ("a", "b", "c", "inner/old.txt"):  # a walk meets folders last
        (project / name).write_text(name)
    go_on = threading.Event()
    read = PlainFolder._read_entry

    def slow_read(self: PlainFolder, path: str, *more: Any, **flags: Any) -> Any:
        assert path != "inner/old.txt" or go_on.wait(patience(20))
        return read(self, path, *more, **flags)

    monkeypatch.setattr(PlainFolder, "_read_entry", slow_read)
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write inner/old.txt")
        go_on.set()
        told = await changed(client, session)
        assert told["files"] == []
        assert any("inner/old.txt" in note for note in told["notes"])


async def test_a_slow_first_look_at_a_plain_folder_goes_on_beside_the_turn(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 0.2)
    go_on = threading.Event()
    capture = PlainFolder.capture

    def slow_capture(self: PlainFolder, *, keep: bool, start: TurnStart | None = None) -> Capture:
        if start is not None:
            start.is_heeded = True
            assert go_on.wait(patience(20))
        return capture(self, keep=keep, start=start)

    monkeypatch.setattr(PlainFolder, "capture", slow_capture)
    doors = Doors()
    async with staged({"one": lambda: writer(doors)}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        reached, open_ = doors.of("a")
        turn = client.prompt(session, "write old.txt wait a")
        await reached.wait()
        monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 60)
        go_on.set()
        open_.set()
        await client.answer(turn)
        told = await changed(client, session)
        assert told["files"] == []
        assert any("old.txt" in note for note in told["notes"])
        await do(client, session, "write new.txt")
        assert await names(client, session) == ["new.txt"]


async def test_a_look_that_is_not_done_soon_after_its_turn_is_given_up(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_changes, "LOOK_SECONDS", 0.05)
    go_on = threading.Event()
    capture = PlainFolder.capture

    def endless_capture(self: PlainFolder, *, keep: bool, start: TurnStart | None = None) -> Capture:
        assert start is not None
        start.is_heeded = True
        assert go_on.wait(patience(20))
        return capture(self, keep=keep, start=start)

    monkeypatch.setattr(PlainFolder, "capture", endless_capture)
    async with staged({"one": writer}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write a.txt")
        assert "tries again" in (await changed(client, session))["notes"][0]
        await do(client, session, "write b.txt")
        assert "paused" in (await changed(client, session))["notes"][0]
        go_on.set()


async def work_of_turns(count: int, folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many functions the loop calls for turns that all run at the same time, and how many looks at
    folders are taken.
    """
    loop_thread, calls, looks = threading.get_ident(), 0, 0
    take = snapshots.Snapshot.take

    def counting_take(self: snapshots.Snapshot, start: TurnStart | None = None) -> None:
        nonlocal looks
        looks += 1
        take(self, start)

    def count_call(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        if event in ("call", "c_call") and threading.get_ident() == loop_thread:
            calls += 1

    changes = TurnChanges(is_enabled=True)
    await changes.open()
    with monkeypatch.context() as patch:
        patch.setattr(snapshots.Snapshot, "take", counting_take)
        sys.setprofile(count_call)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(count):
                    folder = str(folders[number % len(folders)])
                    group.create_task(changes.begin(f"session{number}", "key", [folder]))
            for number in range(count):
                changes.end(f"session{number}", "key")
            for number in range(count):
                await changes.changes(f"session{number}")
        finally:
            sys.setprofile(None)
    assert all(not turn.is_running for turn in changes._turns.values())
    assert len(changes._overlap) == 0
    await changes.aclose()
    return calls, looks


@pytest.mark.bound(20)
@pytest.mark.parametrize("own_folders", [False, True])
async def test_simultaneous_turns_cost_as_much_as_the_same_turns_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_folders: bool
) -> None:
    folders = [tmp_path / f"project{number}" for number in range(120 if own_folders else 1)]
    for folder in folders:
        folder.mkdir()
    # How often a turn asks whether its look is done depends on the machine: see the next test.
    monkeypatch.setattr(turn_changes, "PROMPT_SECONDS", 60)
    few, _ = await work_of_turns(20, folders, monkeypatch)
    many, looks = await work_of_turns(120, folders, monkeypatch)
    assert many <= 6 * few * 1.1
    # Whoever begins while a look is under way shares the next one with all others who do.
    assert looks <= (240 if own_folders else 8)


async def test_a_turn_that_waits_for_its_look_asks_ever_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = asyncio.get_running_loop().create_future()
    pauses: list[float] = []

    async def wait(futures: object, *, timeout: float) -> None:
        pauses.append(timeout)
        if len(pauses) == 20:
            opening.set_result(None)

    monkeypatch.setattr(
        turn_changes, "asyncio", SimpleNamespace(get_running_loop=asyncio.get_running_loop, wait=wait)
    )
    await turn_changes._wait_before_prompt(opening, TurnStart())
    assert all(later == min(2 * pause, turn_changes.LOOK_SECONDS) for pause, later in pairwise(pauses))
    assert pauses[-1] == turn_changes.LOOK_SECONDS > pauses[0]


async def test_turns_that_always_overlap_do_not_keep_each_other_for_ever(project: Path) -> None:
    """Of two sessions in one folder one is always at work: each turn has met the one before it."""
    changes = TurnChanges(is_enabled=True)
    await changes.open()
    try:
        await changes.begin("one", "0", [str(project)])
        for number in range(1, 25):
            busy, idle = ("two", "one") if number % 2 else ("one", "two")
            await changes.begin(busy, str(number), [str(project)])
            changes.end(idle, str(number - 1))
            await changes._wait_for_end(changes._turns[idle])
        gc.collect()
        assert sum(type(item) is FolderTurn for item in gc.get_objects()) < 10
    finally:
        await changes.aclose()


async def test_a_diff_covers_secrets_as_the_view_of_a_file_does(project: Path) -> None:
    agent = Agent("one")

    @agent.prompt
    async def write(turn: Turn) -> None:
        Path(turn.session.cwd, ".env").write_text("API_TOKEN=Zq81nnPw02\nPORT=8080\n")

    (project / ".env").write_text("API_TOKEN=before77aa\n")
    async with staged({"one": lambda: agent}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "go")
        (change,) = (await changed(client, session))["files"]
    for diff in (change["diff"], change["hunks"][0]["text"]):
        assert "-API_TOKEN=[redacted]\n+API_TOKEN=[redacted]\n+PORT=8080" in diff
        assert "Zq81" not in diff
        assert "before" not in diff
