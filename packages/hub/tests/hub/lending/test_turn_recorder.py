"""What a hub keeps of turns: whose lines are, which prompt they followed, and nothing of what is erased."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.lending import turn_changes, turn_recorder
from dragoman_hub.lending.folder_turn import FolderTurn
from dragoman_hub.lending.shared_look import SharedLook
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_hub.lending.turn_recorder import TurnRecorder
from dragoman_local.workspace.folder_snapshot import PlainFolder
from dragoman_local.workspace.line_history import LineHistory, Origin
from dragoman_local.workspace.snapshot_entries import Capture, TurnStart
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore, store_beside
from tests.hub.lending.writer_stage import do, names, writer
from tests.hub.sessions.stage import staged
from tests.runtime.raw import until


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "old.txt").write_text("old\n")
    return project


def owner(journal: Path, project: Path, name: str) -> Origin | None:
    """Of the only line of a file; None if nothing is kept of it."""
    store = store_beside(journal)
    try:
        found = LineHistory(store, str(project)).origins(name)
    finally:
        store.close()
    return None if found is None else found[0][1]


async def test_turns_of_a_hub_are_kept_beside_its_journal_and_erased_with_their_sessions(
    project: Path, tmp_path: Path
) -> None:
    journal = tmp_path / "data" / "hub.db"
    async with staged({"one": writer}, changes=True, trees=str(journal)) as stage:
        client = await stage.client().begin()
        first, second = await client.new(str(project)), await client.new(str(project))
        await do(client, first, "write a.txt")
        assert await names(client, first) == ["a.txt"]
        (project / "typed.txt").write_text("typed\n")
        await do(client, second, "edit b.txt write c.txt")
        assert await names(client, second) == ["b.txt", "c.txt"]
        origin = owner(journal, project, "b.txt")
        assert origin is not None
        turn = origin.turn
        assert turn is not None
        assert (turn.session, turn.stream, turn.number, turn.agent) == (second, second, 1, "one")
        assert (turn.prompt, turn.journal) == ("edit b.txt write c.txt", str(journal))
        assert owner(journal, project, "typed.txt") == Origin(None)
        assert owner(journal, project, "old.txt") == Origin(None, is_known=False)
        await client.call("session/delete", {"sessionId": second})
        await until(lambda: owner(journal, project, "b.txt") is None)
        origin = owner(journal, project, "a.txt")
        assert origin is not None
        assert origin.turn is not None
        assert origin.turn.session == first


async def test_a_store_that_cannot_be_used_costs_no_turn(project: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("no database " * 200)
    async with staged({"one": writer}, changes=True, trees=str(tmp_path / "hub.db")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await do(client, session, "write a.txt")
        assert await names(client, session) == ["a.txt"]


def commits_of(store: TreeStore) -> list[str]:
    """Filled with each transaction from now on."""
    commits: list[str] = []
    assert store._connection is not None
    store._connection.set_trace_callback(lambda text: commits.append(text) if text == "commit" else None)
    return commits


def shared_look(turns: list[FolderTurn], *, before: Snapshot | None = None) -> SharedLook:
    look = SharedLook(("", None))
    look.turns = dict.fromkeys(turns)
    look.bases = [] if before is None else [before]
    return look


async def test_the_store_knows_of_a_turn_before_its_agent_does(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever closes the recorder waits for what is being written."""
    store, may_write = TreeStore(str(tmp_path / "memory.db")), threading.Event()
    recorder, together = TurnRecorder(store), store.together
    await recorder.open()

    def write_late(works: Sequence[Callable[[], None]]) -> list[Exception | None]:
        may_write.wait(patience(5))
        return together(works)

    monkeypatch.setattr(store, "together", write_late)
    for number, wait_for in enumerate((recorder.begin, lambda _: recorder.aclose()), 1):
        turn = FolderTurn("s", str(number), str(project))
        turn.params = b'{"prompt":[{"type":"text","text":"words"}]}'
        begun = asyncio.ensure_future(recorder.begin(turn))
        await asyncio.sleep(0)
        waiting = asyncio.ensure_future(wait_for(turn))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
        may_write.set()
        await waiting
        await begun
        assert (turn.number, turn.params) == (number, b"")
        may_write.clear()


async def test_a_prompt_waits_for_the_store_though_it_does_not_wait_for_the_look(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, may_write = TreeStore(str(tmp_path / "memory.db")), threading.Event()
    together = store.together

    def write_late(works: Sequence[Callable[[], None]]) -> list[Exception | None]:
        may_write.wait(patience(5))
        return together(works)

    async def go_on(*_: object) -> None:
        pass

    monkeypatch.setattr(store, "together", write_late)
    monkeypatch.setattr(turn_changes, "_wait_before_prompt", go_on)
    changes = TurnChanges(is_enabled=True, store=store)
    await changes.open()
    begun = asyncio.ensure_future(changes.begin("s", "k", [str(project)], agent="one", params=b"{}"))
    await asyncio.wait([begun], timeout=0.05)
    assert not begun.done()
    may_write.set()
    assert await begun == ""
    assert [turn.session for turn in store.turns(str(project))] == ["s"]
    changes.end("s", "k")
    await changes.turn_done("s")
    await changes.aclose()


async def test_turns_that_share_a_look_share_a_transaction(project: Path, tmp_path: Path) -> None:
    store = TreeStore(str(tmp_path / "memory.db"))
    recorder = TurnRecorder(store)
    await recorder.open()
    turns = [FolderTurn(f"s{number}", "1", str(project)) for number in range(5)]
    async with await take_snapshot([str(project)], store=store) as look:
        commits = commits_of(store)
        recorder.record([(shared_look(turns), look)])
        assert len(commits) == 1
        await asyncio.gather(*(recorder.begin(turn) for turn in turns))
        recorder.record([(shared_look(turns, before=look), look)])
        assert len(commits) == 2
    kept = store.turns(str(project))
    assert [(turn.id, turn.session, turn.first, turn.last) for turn in kept] == [
        (turn.number, turn.session, 1, 1) for turn in turns
    ]
    await recorder.aclose()


async def looks_at(recorder: TurnRecorder, store: TreeStore, folders: Sequence[Path]) -> list[Snapshot]:
    """Looks at all folders at the same time, each before a turn."""

    async def look_at(folder: Path) -> Snapshot:
        look = shared_look([FolderTurn(folder.name, "1", str(folder))])
        return await take_snapshot([str(folder)], store=store, take=partial(recorder.take, look))

    return await asyncio.gather(*map(look_at, folders))


async def test_looks_at_many_folders_share_a_thread_and_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_recorder, "STUCK_SECONDS", 60)
    folders = [tmp_path / f"project{number}" for number in range(20)]
    for folder in folders:
        folder.mkdir()
    store, may_look = TreeStore(str(tmp_path / "memory.db")), threading.Event()
    recorder, take = TurnRecorder(store), Snapshot.take
    threads: set[int] = set()

    def late_take(self: Snapshot, start: TurnStart | None = None) -> None:
        assert may_look.wait(patience(20))
        threads.add(threading.get_ident())
        take(self, start)

    monkeypatch.setattr(Snapshot, "take", late_take)
    await recorder.open()
    commits = commits_of(store)
    looking = asyncio.create_task(looks_at(recorder, store, folders))
    await until(lambda: len(recorder._waiting) == 19)
    may_look.set()
    looks = await looking
    assert (len(threads), len(commits)) == (1, 1)
    assert {turn.session for turn in store.turns() if turn.first} == {folder.name for folder in folders}
    for look in looks:
        await look.aclose()
    await recorder.aclose()


async def test_a_look_that_nobody_waits_for_any_more_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_recorder, "STUCK_SECONDS", 60)
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    store, may_look, taken = TreeStore(str(tmp_path / "memory.db")), threading.Event(), []
    recorder, take = TurnRecorder(store), Snapshot.take

    def late_take(self: Snapshot, start: TurnStart | None = None) -> None:
        assert may_look.wait(patience(20))
        taken.append(self.is_closed)
        take(self, start)

    monkeypatch.setattr(Snapshot, "take", late_take)
    await recorder.open()
    first, second = (asyncio.create_task(looks_at(recorder, store, [folder])) for folder in folders)
    await until(lambda: len(recorder._waiting) == 1)
    second.cancel()
    await asyncio.wait([second])
    may_look.set()
    for look in await first:
        await look.aclose()
    await until(lambda: not recorder._threads)
    assert taken == [False]
    await recorder.aclose()


async def test_a_folder_that_hangs_holds_no_other_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those that wait behind it, nor one that was looked at before it and is not recorded yet."""
    folders = [tmp_path / name for name in ("first", "hangs", "third")]
    for folder in folders:
        folder.mkdir()
    store, goes_on, is_late = TreeStore(str(tmp_path / "memory.db")), threading.Event(), threading.Event()
    recorder, capture = TurnRecorder(store), PlainFolder.capture

    def hang(self: PlainFolder, *, keep: bool, start: TurnStart | None = None) -> Capture:
        assert (goes_on if self.root.endswith("hangs") else is_late).wait(patience(20))
        return capture(self, keep=keep, start=start)

    monkeypatch.setattr(PlainFolder, "capture", hang)
    await recorder.open()
    tasks = [asyncio.create_task(looks_at(recorder, store, [folder])) for folder in folders]
    await until(lambda: len(recorder._waiting) == 2 or recorder._threads > 1)
    is_late.set()
    first, _, third = tasks
    done, _ = await asyncio.wait([first, third], timeout=patience(20))
    assert done == {first, third}
    assert not tasks[1].done()
    goes_on.set()
    for look in [*first.result(), *await tasks[1], *third.result()]:
        await look.aclose()
    await recorder.aclose()


async def test_a_turn_of_which_nobody_looked_ends_in_the_store(project: Path, tmp_path: Path) -> None:
    store = TreeStore(str(tmp_path / "memory.db"))
    recorder = TurnRecorder(store)
    await recorder.open()
    turn = FolderTurn("s", "1", str(project))
    await recorder.begin(turn)
    assert store.is_busy(str(project))
    await recorder.end(turn)
    assert not store.is_busy(str(project))
    await recorder.aclose()


async def test_a_look_that_another_process_has_overtaken_is_repeated(project: Path, tmp_path: Path) -> None:
    store = TreeStore(str(tmp_path / "memory.db"))
    recorder = TurnRecorder(store)
    await recorder.open()
    turn = FolderTurn("s", "1", str(project))
    async with await take_snapshot([str(project)], store=store) as look:
        (project / "new.txt").write_text("new")
        async with await take_snapshot([str(project)], store=TreeStore(store.path)) as theirs:
            await theirs.record(None, "now")
        recorder.record([(shared_look([turn]), look)])
    assert [(kept.session, kept.first) for kept in store.turns(str(project))] == [("s", 1)]
    await recorder.aclose()
