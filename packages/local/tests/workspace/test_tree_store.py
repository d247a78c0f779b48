"""The store of trees: what it keeps, how small, for whom, and that nothing is left of what is forgotten."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_local.journal.seal import Seal
from dragoman_local.workspace.line_history import LineHistory
from dragoman_local.workspace.packed_contents import MOST_LINKS
from dragoman_local.workspace.snapshot_entries import content_digest
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import StaleLook, TreeStore, store_beside
from tests.workspace.remembered_folder import RememberedFolder
from tests.workspace.turns import commit_all


def test_contents_come_back_and_versions_cost_little(tmp_path: Path) -> None:
    store, chance = TreeStore(str(tmp_path / "memory.db")), random.Random(7)
    lines = [chance.randbytes(30).hex().encode() for _ in range(300)]
    versions: dict[str, bytes] = {}
    base: str | None = None
    for number in range(2 * MOST_LINKS):
        lines[chance.randrange(300)] = b"changed %d" % number
        data = b"\n".join(lines)
        digest = content_digest(data)
        versions[digest] = data
        assert store.keep({digest: (data, base)}) == len(data)
        assert store.keep({digest: (data, base)}) == 0
        base = digest
    store.close()
    again = TreeStore(str(tmp_path / "memory.db"))
    assert all(again.content(digest) == data for digest, data in versions.items())
    assert again.missing([*versions, "00"]) == {"00"}
    again.close()
    assert (tmp_path / "memory.db").stat().st_size < len(versions) * 1000
    assert stat.S_IMODE((tmp_path / "memory.db").stat().st_mode) == 0o600


async def test_a_second_process_reads_only_what_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RememberedFolder(tmp_path)
    folder.write({"old.txt": "old\n", "new.txt": "new\n"})
    os.utime(folder.root, (0, 0))
    monkeypatch.setattr("dragoman_local.workspace.folder_snapshot.TICK", -(10**12))  # dates are old at once
    await folder.look()
    folder.write({"new.txt": "newer\n"})
    read: list[str] = []
    from dragoman_local.workspace import folder_snapshot

    content_at = folder_snapshot.content_at

    def counting(name: str, *, folder: int) -> bytes:
        read.append(name)
        return content_at(name, folder=folder)

    monkeypatch.setattr(folder_snapshot, "content_at", counting)
    await folder.look()
    assert read == ["new.txt"]
    looks = folder.store.looks(str(folder.root))
    assert [sorted(folder.store.changes_at(look.id)) for look in looks] == [
        ["new.txt", "old.txt"],
        ["new.txt"],
    ]


async def test_a_clock_that_was_set_back_stops_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RememberedFolder(tmp_path)
    folder.write({"a.txt": "person\n"})
    await folder.turn("early", {"b.txt": "early\n"})
    with monkeypatch.context() as clock:
        years = 1e8
        present = time.time
        clock.setattr(time, "time", lambda: present() + years)
        await folder.turn("ahead", {"c.txt": "ahead\n"})
    folder.write({"a.txt": "person\nagain\n"})
    await folder.turn("late", {"d.txt": "late\n"})
    assert [await folder.blame(name) for name in ("a.txt", "b.txt", "c.txt", "d.txt")] == [
        ["unknown", "person"],
        ["early 1"],
        ["ahead 1"],
        ["late 1"],
    ]
    assert all(look.time <= time.time() for look in folder.store.looks(str(folder.root)))


async def test_secret_files_are_kept_as_digests_alone(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    folder.write({".gitignore": "*.log\n", "a.py": "plain_content\n"})
    commit_all(folder.root)
    secret, ignored = "PASSWORD=hunter2heron\n" * 9, "ignored_content\n" * 9
    await folder.turn(
        "one", {".env": secret, "key.pem": secret, "run.log": ignored, "a.py": "made_content\n"}
    )
    entries = folder.store.tree(str(folder.root), folder.store.looks(str(folder.root))[-1].id)
    assert {"a.py", ".env", "key.pem", "run.log"} <= entries.keys()
    private = {name for name in entries if folder.store.missing([entries[name].digest])}
    assert private == {".env", "key.pem", "run.log"}
    async with await take_snapshot([str(folder.root)], store=folder.store) as before:
        folder.write({".env": "PORT=1\n"})
        changes = await before.compare()
        await changes.revert(str(folder.root / ".env"))  # as long as the process that saw it
    assert (folder.root / ".env").read_text() == secret


async def test_a_journal_within_the_folder_is_none_of_its_files(tmp_path: Path) -> None:
    """It changes with every turn, and so does the store: each look would hold all looks before."""
    journal = tmp_path / "hub.db"
    store = store_beside(journal)
    for name in ("hub.db", "hub.db-wal", "memory.db-shm", "mine.db", "a.txt"):
        (tmp_path / name).write_text(name)
    async with await take_snapshot([str(tmp_path)], store=store) as snapshot:
        assert set(snapshot.entries) == {"mine.db", "a.txt"}
    store.close()


async def test_what_is_forgotten_is_gone_from_the_disk(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    folder.write({"a.txt": "person_content\n"})
    await folder.turn("one", {"a.txt": "person_content\nfirst_secret_text\n"})
    await folder.turn("two", {"a.txt": "person_content\nsecond_text\n"})
    assert len(folder.store.turns()) == 2
    digests = {
        change.entry.digest
        for look in folder.store.looks(str(folder.root))
        for change in folder.store.changes_at(look.id).values()
        if change.entry is not None
    }
    assert len(digests) == 3
    folder.store.forget(["one"])
    assert [turn.session for turn in folder.store.turns()] == ["two"]
    # What the other session saw before its turn is its own; what it did is still known.
    assert await folder.blame("a.txt") == ["unknown", "two 1"]
    folder.store.forget(["two"])
    assert folder.store.missing(digests) == digests
    assert folder.store.roots() == []
    folder.store.close()
    assert os.path.getsize(tmp_path / "memory.db") < 64 * 1024


async def test_what_others_are_packed_against_may_be_forgotten(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    text = "".join(f"line {number} of a long text\n" for number in range(200))
    await folder.turn("one", {"a.txt": text})
    await folder.turn("two", {"a.txt": text + "more\n"})
    folder.store.forget(["one"])
    entry = folder.store.tree(str(folder.root), folder.store.looks(str(folder.root))[-1].id)["a.txt"]
    assert folder.store.content(entry.digest).decode() == text + "more\n"


async def test_a_store_above_its_budget_forgets_the_older_turns(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    folder.store = TreeStore(str(tmp_path / "memory.db"), budget=200_000)
    for number in range(8):
        await folder.turn(f"s{number}", {"a.bin": os.urandom(30_000).hex()})
    sessions = [turn.session for turn in folder.store.turns()]
    assert sessions[-1] == "s7"
    assert "s0" not in sessions
    assert os.path.getsize(tmp_path / "memory.db") <= 250_000
    assert (await folder.blame("a.bin")) == ["s7 1"]


KILLED = """
import asyncio, os, sys
from functools import partial
from pathlib import Path
from tests.workspace.remembered_folder import RememberedFolder
from tests.workspace.test_tree_store import store_of
def write(folder, number):  # at once, so that no file is ever half written
    new = folder.root.parent / "new.txt"
    new.write_text(f"content {number}\\n" * 500)
    os.replace(new, folder.root / f"{number % 5}.txt")
async def main():
    tmp_path = Path(sys.argv[1])
    folder = RememberedFolder(tmp_path, store=store_of(tmp_path, is_sealed=sys.argv[2] == "True"))
    for number in range(10_000):
        await folder.turn("killed", {}, work=partial(write, folder, number))
        print(number, flush=True)
asyncio.run(main())
"""


def store_of(tmp_path: Path, *, is_sealed: bool = True, key: bytes = b"k" * 32) -> TreeStore:
    return TreeStore(str(tmp_path / "memory.db"), seal=Seal(key).trees if is_sealed else None)


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_a_killed_process_leaves_whole_looks_and_a_turn_that_is_torn(
    tmp_path: Path, is_sealed: bool
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), str(is_sealed)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    )
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    folder = RememberedFolder(tmp_path, store=store_of(tmp_path, is_sealed=is_sealed))
    root, store = str(folder.root), folder.store
    await folder.look()
    for seen in store.looks(root):
        for change in store.changes_at(seen.id).values():
            assert change.entry is not None
            assert store.content(change.entry.digest).startswith(b"content ")
    turns = store.turns()
    assert len(turns) >= 5
    assert all(turn.last is not None for turn in turns)
    assert not any(turn.is_torn for turn in turns[:-1])
    assert not store.is_busy(root)
    store.begin_turn("next", [root])
    assert len(list(tmp_path.glob("memory.db-open-*"))) == 1  # its own
    store.close()
    assert not list(tmp_path.glob("memory.db-open-*"))


def commits(store: TreeStore) -> list[str]:
    """Each commit from here on adds itself to this."""
    store.roots()
    assert store._connection is not None
    found: list[str] = []
    store._connection.set_trace_callback(lambda text: found.append(text) if text == "commit" else None)
    return found


async def test_what_is_done_together_is_one_commit_and_what_fails_is_undone_alone(tmp_path: Path) -> None:
    root, store = str(tmp_path / "project"), TreeStore(str(tmp_path / "memory.db"))
    os.mkdir(root)
    found = commits(store)

    def begin(name: str, snapshot: Snapshot) -> int:
        turn = store.begin_turn(name, [root])
        snapshot.write_turn(turn, "begin")
        return turn

    def fail() -> None:
        store.begin_turn("three", [root])
        raise LocalMistake("for a reason")

    async with await take_snapshot([root], store=store) as first:
        assert store.together([partial(begin, "one", first), partial(begin, "two", first)]) == [1, 2]
        assert len(found) == 1
        async with await take_snapshot([root], store=store) as second:
            results = store.together([partial(begin, "two", second), fail, partial(begin, "four", second)])
            assert len(found) == 3
            assert str(results[1]) == "for a reason"
            assert isinstance(store.together([partial(begin, "five", first.share())])[0], int)
    turns = store.turns(root)
    assert [(turn.session, turn.number) for turn in turns] == [
        ("one", 1),
        ("two", 1),
        ("two", 2),
        ("four", 1),
        ("five", 1),
    ]
    assert {turn.first for turn in turns} == {look.id for look in store.looks(root)}
    store.close()


async def test_a_look_that_is_not_the_last_is_refused_alone(tmp_path: Path) -> None:
    root, store = str(tmp_path / "project"), TreeStore(str(tmp_path / "memory.db"))
    os.mkdir(root)
    turns = [store.begin_turn(name, [root]) for name in ("one", "two")]
    async with (
        await take_snapshot([root], store=store) as early,
        await take_snapshot([root], store=store) as late,
    ):
        works = [
            partial(look.write_turn, turn, "begin") for look, turn in zip((late, early), turns, strict=True)
        ]
        assert [type(result) for result in store.together(works)] == [type(None), StaleLook]
    assert [turn.first is None for turn in store.turns(root)] == [False, True]
    store.close()


def test_a_store_that_is_none_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("no database, but text " * 100)
    store = store_beside(tmp_path / "history.db")
    with pytest.raises(LocalMistake, match="cannot be kept"):
        store.roots()
    store.close()


def test_a_secret_in_a_prompt_is_not_kept(tmp_path: Path) -> None:
    store = TreeStore(str(tmp_path / "memory.db"))
    store.begin_turn("s", prompt="log in with the password hunter2Secret99")
    store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"log in with" in kept
    assert b"hunter2" not in kept


def test_what_is_copied_within_a_file_costs_next_to_nothing(tmp_path: Path) -> None:
    store = TreeStore(str(tmp_path / "memory.db"))
    before = "".join(f"{hashlib.sha256(b'%d' % number).hexdigest()}\n" for number in range(100)).encode()
    after = before + before[:2000]
    names = [hashlib.sha256(data).hexdigest() for data in (before, after)]
    store.keep({names[0]: (before, None)})
    store.keep({names[1]: (after, names[0])})
    assert store.content(names[1]) == after
    store.close()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        sizes = [row[0] for row in connection.execute("select length(data) from blobs order by id")]
    assert sizes[1] < 100 < sizes[0]


async def test_what_was_there_is_known_of_every_look(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    other = RememberedFolder(tmp_path / "other", store=folder.store)
    chance = random.Random(5)
    states: list[tuple[int, dict[str, str]]] = []
    for number in range(30):
        names = [f"{chance.randrange(6)}.txt" for _ in range(3)]
        folder.write(dict.fromkeys(names, f"{number}\n"))
        there = {path.name: path for path in folder.root.iterdir()}
        folder.write({name: None for name in names[:1] if number % 3 == 0 and name in there})
        await folder.look()
        other.write({names[0]: f"other {number}\n"})
        await other.look()
        look = folder.store.looks(str(folder.root))[-1].id
        states.append((look, {path.name: path.read_text() for path in folder.root.iterdir()}))
    for look, files in states:
        tree = folder.store.tree(str(folder.root), look)
        assert {path: folder.store.content(tree[path].digest).decode() for path in tree} == files
    changes = folder.store.changes_of(str(folder.root), "0.txt")
    found = [
        look.id
        for look in folder.store.looks(str(folder.root))
        if "0.txt" in folder.store.changes_at(look.id)
    ]
    assert list(changes) == found
    assert folder.store.tree(str(folder.root), 0) == {}
    assert folder.store.tree("/nowhere", 99) == {}


async def test_what_an_erased_turn_left_is_nobodys(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    folder.write({"a.txt": "before\n"})
    await folder.turn("one", {"a.txt": "before\nof one\n"})
    await folder.turn("two", {"a.txt": "before\nof one\nof two\n", "b.txt": "of two\n"})
    folder.store.forget(["two"])
    look = folder.store.looks(str(folder.root))[-1].id
    tree = folder.store.tree(str(folder.root), look)
    assert [folder.store.content(entry.digest) for entry in tree.values()] == [b"before\nof one\n"]
    assert b"b.txt" not in (tmp_path / "memory.db").read_bytes()
    assert await folder.blame("a.txt") == ["unknown", "one 1", "unknown"]
    assert await folder.blame("b.txt") == ["unknown"]


async def test_a_store_of_the_first_version_keeps_what_it_has(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    folder.write({"a.txt": "before\n", "b.txt": "gone soon\n"})
    await folder.turn("one", {"a.txt": "before\nafter\n", "b.txt": None})
    trees = [folder.store.tree(str(folder.root), look.id) for look in folder.store.looks(str(folder.root))]
    folder.store.close()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.executescript(FIRST_VERSION)
    folder.store = TreeStore(str(tmp_path / "memory.db"))
    assert [
        folder.store.tree(str(folder.root), look.id) for look in folder.store.looks(str(folder.root))
    ] == trees
    assert await folder.blame("a.txt") == ["unknown", "one 1"]
    folder.store.close()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.execute("pragma user_version = 99")
    with pytest.raises(LocalMistake, match="newer Dragoman"):
        TreeStore(str(tmp_path / "memory.db")).roots()


FIRST_VERSION = """
create table first_files (
    folder integer not null, path text not null, kind text not null, digest blob not null,
    size integer not null, mode integer, record blob, primary key (folder, path)
) without rowid;
insert into first_files select folder, path, kind, digest, size, mode, record from files
    where kind is not null;
create table first_changes (
    look integer not null, path text not null, kind text, digest blob, size integer, mode integer,
    changed integer, is_sure integer not null, primary key (look, path)
) without rowid;
insert into first_changes select look, path, changes.kind, changes.digest, changes.size, changes.mode,
    changed, is_sure from changes join files on file = files.id;
drop table files; drop table changes;
alter table first_files rename to files; alter table first_changes rename to changes;
pragma user_version = 1;
"""


def test_a_content_is_the_same_for_another_process_that_saw_another_one_in_its_place(tmp_path: Path) -> None:
    first, second = (TreeStore(str(tmp_path / "memory.db")) for _ in range(2))
    names = {data: content_digest(data) for data in (b"one " * 50, b"two " * 50, b"three " * 50)}
    one, two, three = names
    first.keep({names[one]: (one, None)})
    assert first.content(names[one]) == one
    with second._writing() as connection:
        second._contents.sweep(connection, ())
    second.keep({names[two]: (two, None)})
    assert first.content(names[two]) == two
    first.keep({names[three]: (three, names[two])})
    assert second.content(names[three]) == three
    first.close()
    second.close()


async def test_a_look_of_another_process_does_not_disturb_a_question(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    await folder.turn("one", {"a.txt": "of one\n"})
    history = LineHistory(folder.store, str(folder.root))
    await folder.turn("two", {"a.txt": "of one\nof two\n"})
    found = history.origins("a.txt")
    assert [text for text, _ in found or ()] == ["of one"]


async def test_a_sealed_store_says_nothing_without_its_key_and_everything_with_it(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path, store=store_of(tmp_path))
    folder.write({"quagga.txt": "dodo " * 9})
    await folder.look()
    turn = await folder.turn("thylacine", {"quagga.txt": "moa " * 9, ".env": "x"})
    assert await folder.blame("quagga.txt") == ["thylacine 1"]
    digest = content_digest(b"moa " * 9)
    assert folder.store.content(digest) == b"moa " * 9
    assert folder.store.turns()[0].prompt == "do thylacine"
    folder.store.close()
    disk = b"".join(path.read_bytes() for path in tmp_path.glob("memory.db*"))
    for word in ("quagga", "moa", "dodo", "do thylacine", str(folder.root), ".env"):
        assert word.encode() not in disk, word
    for name in (digest, content_digest(b"x")):
        assert bytes.fromhex(name) not in disk
        assert name.encode() not in disk
    again = store_of(tmp_path)
    assert [(turn.id, turn.prompt) for turn in again.turns(str(folder.root))] == [(turn, "do thylacine")]
    assert sorted(again.tree(str(folder.root), again.looks(str(folder.root))[-1].id)) == [
        ".env",
        "quagga.txt",
    ]
    again.close()
    for other in (store_of(tmp_path, key=b"q" * 32), store_of(tmp_path, is_sealed=False)):
        with pytest.raises(LocalMistake, match="sealed with another key"):
            other.roots()
        other.close()
    plain = RememberedFolder(tmp_path / "plain")
    await plain.look()
    plain.store.close()
    with pytest.raises(LocalMistake, match="is not sealed, and stays so"):
        store_of(tmp_path / "plain").roots()


async def test_what_was_changed_in_a_sealed_store_is_not_served(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path, store=store_of(tmp_path))
    folder.write({"a.txt": "a\n", "b.txt": "b\n"})
    await folder.look()
    folder.store.close()
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        one, other = connection.execute("select id, data from blobs order by id").fetchall()
        connection.execute("update blobs set data = ?, base = null where id = ?", (other[1], one[0]))
        connection.execute(
            "update files set path = ? where path = (select min(path) from files)", (b"x" * 40,)
        )
        connection.commit()
    store = store_of(tmp_path)
    refused = 0
    for text in (b"a\n", b"b\n"):
        try:
            assert store.content(content_digest(text)) == text
        except LocalMistake:
            refused += 1
    assert refused == 1
    with pytest.raises(LocalMistake, match="was changed"):
        store.files(str(folder.root))
    store.close()
