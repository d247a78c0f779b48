"""Whose a line is, through turns, people, formatters, branches, deaths and sessions side by side."""

from __future__ import annotations

import time
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from dragoman_local.workspace.line_history import LineHistory
from dragoman_local.workspace.snapshot_entries import Capture, SnapshotEntry, TurnStart
from dragoman_local.workspace.snapshots import take_snapshot
from tests.workspace.remembered_folder import RememberedFolder

MADE = [f"def made_{n}(left, right):\n    total_{n} = left + right\n    return total_{n}\n" for n in range(4)]


@pytest.fixture
def folder(tmp_path: Path) -> RememberedFolder:
    return RememberedFolder(tmp_path)


async def test_what_nobody_saw_is_unknown(folder: RememberedFolder) -> None:
    folder.write({"a.py": "was there\n"})
    await folder.turn("one", {"a.py": "was there\nmade = 1\n"})
    folder.write({"a.py": "was there\nmade = 1\ntyped = 2\n"})
    assert await folder.blame("a.py") == ["unknown", "one 1", "person"]
    await folder.turn("two", {"a.py": "was there\nmade = 1\ntyped = 2\nkilled = 3\n"}, is_killed=True)
    folder.write({"a.py": "was there\nmade = 1\ntyped = 2\nkilled = 3\ntyped = 4\n"})
    assert await folder.blame("a.py") == ["unknown", "one 1", "person", "unknown", "unknown"]
    folder.write({"a.py": "was there\nmade = 1\ntyped = 2\nkilled = 3\ntyped = 4\ntyped = 5\n"})
    assert (await folder.blame("a.py"))[-1] == "person"


async def test_a_first_look_that_is_taken_again_leaves_out_what_the_agent_has_done(
    folder: RememberedFolder,
) -> None:
    folder.write({"a.py": "was there\n"})
    await folder.look()
    root, start = str(folder.root), TurnStart()
    turn = folder.store.begin_turn("one", [root], stream="one")
    async with await take_snapshot([root], store=folder.store, start=start) as early:
        await folder.look()  # of another process
        start.begin()
        folder.write({"a.py": "was there\nmade = 1\n"})
        await early.record(turn, "begin")
    assert await folder.blame("a.py") == ["unknown", "unknown"]


async def test_turns_of_several_sessions_share_one_line_of_looks(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.py": "first = 1\n"})
    await folder.turn("two", {"a.py": "first = 1\nsecond = 2\n"})
    await folder.turn("one", {"a.py": "zeroth = 0\nfirst = 1\nsecond = 2\n"})
    assert await folder.blame("a.py") == ["one 2", "one 1", "two 1"]


async def test_a_turn_that_changes_nothing_takes_no_line(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.py": "made = 1\n"})
    await folder.turn("two", {})
    folder.write({"a.py": "made = 1\ntyped = 2\n"})
    assert await folder.blame("a.py") == ["one 1", "person"]


async def test_a_line_beside_its_like_is_a_persons_if_it_may_be(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.py": "begin = 1\nagain()\n"})
    folder.write({"a.py": "begin = 1\nagain()\nagain()\n"})
    assert await folder.blame("a.py") == ["one 1", "person", "person"]


async def test_of_lines_alike_between_changes_none_is_guessed_to_be_a_turns(folder: RememberedFolder) -> None:
    again = "check_all(values)"

    def text(*lines: str) -> dict[str, str | None]:
        return {"a.py": "".join(f"{line}\n" for line in lines)}

    folder.write(text("first()", again, "second()"))
    await folder.look()
    folder.write(text("first()", "typed()", again, "second()"))
    await folder.turn("one", text("first()", "typed()", again, "made()", "more()", again, "third()"))
    known = ["unknown", "person", "unknown", "one 1", "one 1", "unknown", "one 1"]
    assert await folder.blame("a.py") == known
    await folder.turn("one", text("made()", "more()", "last()"))
    await folder.turn("one", text("made()", again, "more()", "last()", again))
    # Whether a person typed it anew among own lines, or left it there, nobody knows.
    folder.write(text("made()", "own_1()", again, "own_2()", "last()", again))
    assert await folder.blame("a.py") == ["one 1", *["person"] * 3, "one 2", "one 3"]


async def test_a_line_that_is_everywhere_stays_a_turns_when_a_formatter_changes_those_around_it(
    folder: RememberedFolder,
) -> None:
    await folder.turn("one", {"a.py": "x()\nwhole_of_it=1\nlog(x)\nother_of_it=2\n"})
    folder.write({"a.py": "x()\nwhole_of_it = 1\nlog(x)\nother_of_it = 2\n"})
    assert await folder.blame("a.py") == ["one 1"] * 4


async def test_a_line_that_is_everywhere_does_not_stay_where_a_person_exchanges_functions(
    folder: RememberedFolder,
) -> None:
    ours, theirs = (
        f"whole_{n} = compute_all_of_it({n})\nlog(x)\nlast_{n} = finish_all_of_them({n})\n" for n in "ab"
    )
    await folder.turn("one", {"a.py": f"log(x)\nfirst()\n{ours}"})
    folder.write({"b.py": f"second()\n{theirs}"})
    await folder.look()
    folder.write({"a.py": f"log(x)\nfirst()\n{theirs}", "b.py": f"second()\n{ours}"})
    assert await folder.blame("a.py") == [*["one 1"] * 2, *["person"] * 3]


async def test_a_short_line_stays_a_turns_when_a_person_types_around_it(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.py": "first = 1\nx = 2\n"})
    folder.write({"a.py": "first = 1\ntyped = 3\nx = 2\ntyped = 4\n"})
    assert await folder.blame("a.py") == ["one 1", "person", "one 1", "person"]


async def test_a_line_that_is_everywhere_is_no_sign_that_an_earlier_text_is_back(
    folder: RememberedFolder,
) -> None:
    await folder.turn("one", {"a.py": "x()\nlog(x)\ny()\nz()\nlog(x)\n"})
    folder.write({"a.py": "x()\ny()\nz()\nlog(x)\n"})
    await folder.look()
    folder.write({"a.py": "x()\nlog(x)\nown()\ny()\nz()\nlog(x)\n"})
    assert await folder.blame("a.py") == ["one 1", "person", "person", "one 1", "one 1", "one 1"]


async def test_a_formatted_and_moved_line_is_its_authors(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.py": "".join(MADE[:2]), "z.py": "other = 1\n"})
    await folder.turn("two", {"a.py": "".join(MADE)})
    folder.write({"a.py": MADE[0], "z.py": "other = 1\n" + "".join(MADE[1:])})
    assert await folder.blame("z.py") == ["one 1"] * 4 + ["two 1"] * 6
    formatted = MADE[3].replace("left, right", "\n    left,\n    right,\n").replace("+", " + ")
    folder.write({"z.py": "other = 1\n" + "".join(MADE[1:3]) + formatted})
    assert await folder.blame("z.py") == ["one 1"] * 4 + ["two 1"] * 9
    folder.write({"z.py": None, "renamed.py": "other = 1\n" + "".join(MADE[1:3]) + formatted})
    assert await folder.blame("renamed.py") == ["one 1"] * 4 + ["two 1"] * 9


async def test_a_part_of_a_line_makes_its_last_writer_the_author(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.py": "value = compute(1, 2)\nother = 2\n"})
    folder.write({"a.py": "value = compute(1)\nother = 2\n"})
    assert await folder.blame("a.py") == ["person", "one 1"]
    await folder.turn("two", {"a.py": "value = compute(1)\nother = 3\n"})
    assert await folder.blame("a.py") == ["person", "two 1"]


async def test_what_comes_back_is_its_authors_but_a_turns_own_if_a_turn_writes_it(
    folder: RememberedFolder,
) -> None:
    folder.write({"a.py": "was = 0\n"})
    await folder.turn("one", {"a.py": "was = 0\nmade = 1\n"})
    folder.write({"a.py": "was = 0\n"})
    assert await folder.blame("a.py") == ["unknown"]
    folder.write({"a.py": "was = 0\nmade = 1\ntyped = 2\n"})
    assert await folder.blame("a.py") == ["unknown", "one 1", "person"]
    folder.write({"a.py": "was = 0\n"})
    await folder.turn("two", {"a.py": "was = 0\nmade = 1\n"})
    assert await folder.blame("a.py") == ["unknown", "two 1"]


async def test_what_a_persons_branch_had_is_the_persons_when_a_turn_merges_it(
    folder: RememberedFolder,
) -> None:
    lines = [f"value_{n} = compute({n})\n" for n in range(12)]
    on_main = [*lines[:4], "value_4 = by_turn(4)\n", *lines[5:]]
    for typed in (["own_9 = typed(9)\n"], ["def added(x):\n", "    y = x * 17\n", "\n", "    return y\n"]):
        on_branch, merged = ([*text[:10], *typed, *text[10:]] for text in (lines, on_main))
        folder.write({"a.py": "".join(lines), "x.py": ""})
        await folder.turn("one", {"x.py": "x = 1\n"})
        folder.write({"a.py": "".join(on_branch)})
        await folder.turn("one", {"x.py": "x = 2\n"})
        folder.write({"a.py": "".join(lines)})
        await folder.turn("one", {"a.py": "".join(on_main)})
        merge = partial(folder.write, {"a.py": "".join(merged)})
        await folder.turn("one", {}, work=merge)
        blamed = await folder.blame("a.py")
        assert blamed[10 : 10 + len(typed)] == ["person"] * len(typed)
        assert blamed[4].startswith("one ")


async def test_lines_that_leave_their_file_as_it_was_are_moved_all_the_same(folder: RememberedFolder) -> None:
    folder.write({"app.py": "import os\n\nX = 1\n", "util.py": "import re\n"})
    await folder.turn("one", {"app.py": "import os\n\n" + MADE[0] + "X = 1\n"})
    folder.write({"app.py": "import os\n\nX = 1\n", "util.py": "import re\n" + MADE[0]})
    assert await folder.blame("util.py") == ["unknown"] + ["one 1"] * 3
    assert await folder.blame("app.py") == ["unknown"] * 3


async def test_short_lines_in_a_persons_own_code_are_not_an_agents(folder: RememberedFolder) -> None:
    await folder.turn("one", {"a.py": "def make():\n    work(1)\n    return x\n    more(1)\nend = 1\n"})
    folder.write({"a.py": "def mine():\n    own(2)\n    return x\n    others(2)\nend = 1\n"})
    assert await folder.blame("a.py") == ["person"] * 4 + ["one 1"]


async def test_what_turns_wrote_side_by_side_is_unknown_unless_one_of_them_said_so(
    folder: RememberedFolder,
) -> None:
    await folder.look()
    root, store = str(folder.root), folder.store
    turns = [store.begin_turn(name, [root], stream=name) for name in ("one", "two")]
    async with await take_snapshot([root], store=store) as before:
        for turn in turns:
            await before.record(turn, "begin")
        folder.write({"a.py": "whose = 1\n"})
        async with await before.retake() as after:
            for turn in turns:
                await after.record(turn, "end")
    assert await folder.blame("a.py") == ["unknown"]


async def test_a_turn_in_a_folder_around_this_one_makes_its_changes_unknown(tmp_path: Path) -> None:
    folder = RememberedFolder(tmp_path)
    await folder.turn("one", {"a.py": "made = 1\n", "below/b.py": "made = 1\n"})
    inner = RememberedFolder(tmp_path)
    inner.root = folder.root / "below"
    inner.store.close()
    inner.store = folder.store
    await inner.turn("two", {"b.py": "made = 1\nmade = 2\n"})
    assert await folder.blame("below/b.py") == ["one 1", "unknown"]
    assert await inner.blame("b.py") == ["unknown", "two 1"]


async def test_what_a_turn_only_moved_marked_or_laid_out_anew_is_a_persons_however_short(
    tmp_path: Path,
) -> None:
    folder = RememberedFolder(tmp_path)
    typed = ["x = 1", "if x:", "    y()", "", "end()"]

    def bytes_of(text: str) -> None:
        (folder.root / "a.py").write_bytes(text.encode())

    async def turn(*lines: str, path: str = "a.py", gone: str = "") -> list[str]:
        text = "".join(f"{line}\n" for line in lines)
        await folder.turn("one", {path: text, **({gone: None} if gone else {})})
        return await folder.blame(path)

    await folder.look()
    folder.write({"a.py": "".join(f"{line}\n" for line in typed)})
    for change in ("\ufeff{}", "{}"):
        text = change.format("".join(f"{line}\r\n" for line in typed))
        await folder.turn("one", {}, work=lambda text=text: bytes_of(text))  # type: ignore[misc]
        assert set(await folder.blame("a.py")) == {"person"}
    assert await turn("x = 1", "if x:", "\tw = 2", "\ty()", "", "end()") == [
        *["person"] * 2,
        "one 3",
        *["person"] * 3,
    ]
    assert (await turn("end()", "x = 1", "if x:", "\tw = 2", "\ty()"))[0] == "person"
    assert await turn("end()", "if ready():", "    x = 1", "if x:", "\tw = 2", "\ty()") == [
        *("person", "one 5", "person", "person", "one 3", "person")
    ]
    moved = await turn("end()", "x = 1", "if x:", "    y()", "v = 3", path="b.py", gone="a.py")
    assert moved == [*["person"] * 4, "one 6"]
    await folder.turn("one", {"b.py": "if x:\n    y()\nv = 3\n", "c.py": "x = 1\n"})
    assert await folder.blame("c.py") == ["person"]
    # What a person wrote on another branch comes back by the agent's merge, beside what is new.
    folder.write({"b.py": "if x:\n    y()\nv = 3\nfix_of_a_person(1)\n"})
    await folder.look()
    folder.write({"b.py": "if x:\n    y()\nv = 3\n"})
    assert (await turn("new = 4", "if x:", "    y()", "v = 3", "fix_of_a_person(1)", path="b.py")) == [
        *("one 8", "person", "person", "one 6", "person")
    ]


def test_a_question_costs_what_it_asks_for_however_old_the_store_is(folder: RememberedFolder) -> None:
    root, store, costs = str(folder.root), folder.store, []
    digests = (f"{number:032x}" for number in count())
    contents: dict[str, str] = {}

    def capture() -> Capture:
        entries = {path: SnapshotEntry("file", digest, 1, 0o644) for path, digest in contents.items()}
        return Capture(entries=entries, began_at=time.time())

    def turn(*paths: str) -> int:
        """A turn that changes these files; the look before it."""
        number = store.begin_turn("s", [root])
        first = store.record_look(root, capture(), turn=number, at="begin")
        contents.update({path: next(digests) for path in paths})
        store.record_look(root, capture(), turn=number, at="end")
        return first

    for age in (5, 300):
        for _ in range(age):
            turn("often")
        look, steps = turn("seldom"), []
        assert store._connection is not None
        store._connection.set_progress_handler(lambda found=steps: found.append(0), 10)
        found = list(LineHistory(store, root, since=look).changes_since())
        assert {(change.path, len(turns)) for turns, change in found} == {("seldom", 1)}
        assert store.tree(root, look)["often"].digest == contents["often"]
        assert len(store.changes_of(root, "seldom")) == len(costs) + 1
        store._connection.set_progress_handler(None, 0)
        costs.append(len(steps))
    assert costs[1] < 2 * costs[0], costs
