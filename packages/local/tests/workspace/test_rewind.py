"""The way back to before a turn, and forth again: byte for byte, and over nobody's work."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
from functools import partial
from pathlib import Path

import pytest

from dragoman_local.workspace.diffs import Diff, unified_diff
from dragoman_local.workspace.rewind import plan_rewind, planned_rewind, turn_places
from dragoman_local.workspace.tree_store import TreeStore
from tests.workspace.remembered_folder import RememberedFolder
from tests.workspace.turns import commit_all, git, picture, records


@pytest.fixture
def folder(tmp_path: Path) -> RememberedFolder:
    folder = RememberedFolder(tmp_path)
    folder.write({"a.txt": "was\n", "sub/b.txt": "was\n"})
    commit_all(folder.root)
    return folder


async def go(folder: RememberedFolder, look: int, *, is_undo: bool = False) -> list[str]:
    """Go there; the files that a person had changed."""
    plan = await plan_rewind(folder.store, str(folder.root), look, folder.journal.open)
    try:
        persons = [step.path for step in plan.steps if step.is_persons]
        assert await plan.carry_out("one", is_undo=is_undo) == []
    finally:
        await plan.aclose()
    return persons


def pictures(folder: RememberedFolder) -> dict[str, tuple[int, bytes]]:
    return {path: entry for path, entry in picture(folder.root).items() if "/.git/" not in path}


async def test_a_rewind_touches_nothing_of_git(folder: RememberedFolder) -> None:
    before = pictures(folder)
    await folder.turn("one", {"a.txt": "made\n", "new/c.txt": "made\n", "sub/b.txt": None})
    git(folder.root, "add", "-A")
    after, repository = pictures(folder), records(folder.root / ".git")
    first = folder.store.turns()[0].first
    assert first is not None
    assert await go(folder, first) == []
    assert pictures(folder) == before
    rewind = folder.store.turns()[-1]
    assert rewind.kind == "rewind"
    assert rewind.first is not None
    assert await go(folder, rewind.first, is_undo=True) == []
    assert pictures(folder) == after
    assert records(folder.root / ".git") == repository
    assert await folder.blame("a.txt") == ["one 1"]


async def test_a_rewind_without_a_stream_is_forgotten_with_its_session(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.txt": "made\n"})
    await folder.turn("two", {"a.txt": "made again\n"})
    first = folder.store.turns()[0].first
    assert first is not None
    await go(folder, first)
    folder.store.forget(["two"])
    assert [turn.kind for turn in folder.store.turns()] == ["turn", "rewind"]
    folder.store.forget(["one"])
    assert (folder.store.turns(), folder.store.roots()) == ([], [])


async def test_a_persons_change_since_is_named(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.txt": "made\n"})
    folder.write({"a.txt": "made\ntyped\n", "own.txt": "typed\n"})
    first = folder.store.turns()[0].first
    assert first is not None
    plan = await plan_rewind(folder.store, str(folder.root), first, folder.journal.open)
    assert [(step.path, step.act, step.is_persons) for step in plan.steps] == [
        ("own.txt", "remove", True),
        ("a.txt", "change", True),
    ]
    await plan.aclose()


async def flagged(folder: RememberedFolder, look: int) -> tuple[set[str], set[str]]:
    """The files that a rewind would ask for, and those that it would restore at once."""
    plan = await plan_rewind(folder.store, str(folder.root), look, folder.journal.open)
    await plan.aclose()
    persons = {step.path for step in plan.steps if step.is_persons}
    return persons, {step.path for step in plan.steps} - persons


async def test_what_no_turn_announced_is_asked_for(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.txt": "made\n"}, meanwhile=lambda: folder.write({"own.txt": "typed\n"}))
    await folder.turn("one", {}, work=lambda: folder.write({"sub/b.txt": "built\n"}))
    await folder.turn("one", {}, meanwhile=lambda: folder.write({"gone.txt": "1", "mine.txt": "typed\n"}))
    await folder.turn("one", {}, meanwhile=lambda: folder.write({"gone.txt": None}))
    first = folder.store.turns()[0].first
    assert first is not None
    assert await flagged(folder, first) == ({"own.txt", "mine.txt"}, {"a.txt", "sub/b.txt"})
    before = folder.store.turns()[3].first
    assert before is not None
    assert await flagged(folder, before) == ({"gone.txt"}, set())


async def test_what_is_written_after_the_answer_is_not_the_turns(folder: RememberedFolder) -> None:
    def build() -> None:
        folder.write({"built.txt": "built\n"})

    for name in ("own.txt", "a.txt"):
        await folder.turn(
            "one", {"a.txt": "made\n"}, work=build, then=partial(folder.write_late, name, "typed\n")
        )
    first = folder.store.turns()[0].first
    assert first is not None
    assert await flagged(folder, first) == ({"own.txt", "a.txt"}, {"built.txt"})


PERSONS = ("p1.txt", "p2.txt", "sub/p3.txt")


@pytest.mark.parametrize("seed", range(3))
async def test_no_write_of_a_person_at_any_moment_is_taken_unasked(
    folder: RememberedFolder, seed: int
) -> None:
    """And what turns announced is never asked for."""
    chance = random.Random(seed)
    looks: list[tuple[int, set[str]]] = []  # before each turn, and the files that a person wrote since
    for number in range(10):
        name, text = chance.choice(PERSONS), f"typed {number}\n"
        moment = chance.choice(["before", "meanwhile", "then", "never"])
        type_now = partial(folder.write, {name: text})
        if moment == "before":
            type_now()
        turn = await folder.turn(
            chance.choice(["one", "two"]),
            {f"{chance.choice('abc')}.txt": f"made {number}\n"} if chance.random() < 0.7 else {},
            meanwhile=type_now if moment == "meanwhile" else lambda: None,
            # What happens right before a command may be the command's.
            work=None if moment == "meanwhile" else partial(folder.write, {"built.txt": f"{number}\n"}),
            then=partial(folder.write_late, name, text) if moment == "then" else lambda: None,
        )
        for _, typed in looks if moment != "never" else ():
            typed.add(name)
        first = next(found.first for found in folder.store.turns() if found.id == turn)
        assert first is not None
        looks.append((first, {name} if moment in ("meanwhile", "then") else set()))
    for look, typed in looks:
        asked, restored = await flagged(folder, look)
        assert (asked, restored & set(PERSONS)) == (typed, set())


async def test_lines_are_compared_only_for_a_preview(
    folder: RememberedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await folder.turn("one", {"a.txt": "made\n"})
    (place,) = turn_places(folder.store, folder.store.turns())
    compared: list[str] = []

    def compare(name: str, old: bytes | None, new: bytes | None) -> Diff:
        compared.append(name)
        return unified_diff(name, old, new)

    monkeypatch.setattr("dragoman_local.workspace.change_set.unified_diff", compare)
    async with planned_rewind(folder.store, [place], folder.journal.open) as rewind:
        done = await rewind.carry_out("one", turn=1, stream="one", identity=rewind.identity)
    assert (done.paths, compared) == ([str(folder.root / "a.txt")], [])
    await folder.turn("one", {"a.txt": "made\n"})
    async with planned_rewind(folder.store, [place], folder.journal.open, has_diffs=True) as rewind:
        (file,) = (await rewind.preview(1))["files"]
    assert (file["added"], file["removed"], compared) == (1, 1, ["a.txt"])


async def test_secret_ignored_and_large_files_stay_as_they_are(folder: RememberedFolder) -> None:
    folder.write({".gitignore": "*.log\n", ".env": "A=1\n", "run.log": "1\n"})
    await folder.turn("one", {"a.txt": "made\n", ".env": "A=2\n", "run.log": "2\n", "x.pem": "new\n"})
    first = folder.store.turns()[0].first
    assert first is not None
    plan = await plan_rewind(folder.store, str(folder.root), first, folder.journal.open)
    assert [step.path for step in plan.steps] == ["a.txt"]
    assert plan.left == [".env", "run.log", "x.pem"]
    await plan.carry_out("one", is_undo=False)
    await plan.aclose()
    assert (folder.root / ".env").read_text() == "A=2\n"


async def test_random_ways_back_and_forth_are_exact_modes_and_links_too(
    folder: RememberedFolder, tmp_path: Path
) -> None:
    chance = random.Random(11)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "canary").write_text("sings")
    states: list[tuple[int, dict[str, tuple[int, bytes]]]] = []

    def work() -> None:
        for _ in range(3):
            path = folder.root / chance.choice(["a.txt", "sub/b.txt", "trap", "x/y.txt", "run.sh"])
            if path.is_symlink() or path.is_file():
                path.unlink()
            if path.parent.is_symlink() or path.parent.is_file():
                path.parent.unlink()
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                continue
            if chance.random() < 0.3:
                path.symlink_to(chance.choice([outside, outside / "canary"]))
            else:
                path.write_bytes(chance.randbytes(50))
                path.chmod(chance.choice([0o600, 0o644, 0o755]))

    for _ in range(8):
        await folder.look()
        now = pictures(folder)
        turn = await folder.turn("one", {}, work=work)
        first = next(found.first for found in folder.store.turns() if found.id == turn)
        assert first is not None
        states.append((first, now))
    for _ in range(12):
        look, wanted = chance.choice(states)
        there = pictures(folder)
        await go(folder, look)
        assert pictures(folder) == wanted
        if chance.random() < 0.5:
            back = folder.store.turns()[-1].first
            assert back is not None
            await go(folder, back, is_undo=True)
            assert pictures(folder) == there
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("canary", "sings")]


KILLS = int(os.environ.get("DRAGOMAN_REWIND_KILLS", "6"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed in the middle of a rewind")
@pytest.mark.bound(60)
def test_a_rewind_that_was_killed_anywhere_can_be_undone_or_finished(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    folder.write({f"f{number}.txt": f"was {number}\n" for number in range(4)})
    before = pictures(folder)
    made: dict[str, str | None] = {f"f{number}.txt": f"made {number}\n" for number in range(3)}
    asyncio.run(
        folder.turn("one", {**made, "new.sh": "made\n"}, work=lambda: (folder.root / "new.sh").chmod(0o711))
    )
    first = folder.store.turns()[0].first
    assert first is not None
    after = pictures(folder)
    for number in range(KILLS):
        folder.store.close()
        child = os.fork()
        if not child:
            die_at_rename(number % 4)
            folder.store = TreeStore(folder.store.path)
            asyncio.run(go(folder, first))
            os._exit(0)
        os.waitpid(child, 0)
        folder.store = TreeStore(folder.store.path)
        if number % 2:
            assert asyncio.run(go(folder, first)) == []  # nobody's work is in the way
            assert pictures(folder) == before
        typed = number % 3 == 1
        if typed:
            folder.write({"own.txt": f"typed {number}\n"})
        killed = [turn for turn in folder.store.turns() if turn.kind == "rewind"][-2 if number % 2 else -1]
        assert killed.first is not None
        assert asyncio.run(go(folder, killed.first, is_undo=True)) == (["own.txt"] if typed else [])
        assert pictures(folder) == after


def die_at_rename(number: int) -> None:
    """Kill this process between the writing of a file and its place, for the file of this number."""
    rename, left = os.rename, itertools.count(number, -1)

    def die(*words: object, **more: object) -> None:
        if not next(left):
            os.kill(os.getpid(), signal.SIGKILL)
        rename(*words, **more)  # type: ignore[arg-type]

    os.rename = die  # type: ignore[assignment]
