"""The steps of a turn, from the frames of agents of many kinds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman_app.apps.turn_steps import StepLog, TurnSteps
from dragoman_local.workspace.snapshots import take_snapshot
from dragoman_local.workspace.tree_store import TreeStore


def call(name: str, **fields: Any) -> dict[str, Any]:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": name, **fields}
    return {"method": "session/update", "params": {"sessionId": "s", "update": update}}


def diff(path: object, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": str(path), "oldText": old, "newText": new}


def write(number: int, path: object, text: str) -> dict[str, Any]:
    params = {"sessionId": "s", "path": str(path), "content": text}
    return {"id": number, "method": "fs/write_text_file", "params": params}


def steps_of(folder: Path, before: dict[str, str], after: dict[str, str], *frames: Any) -> TurnSteps:
    """The steps of a turn with these files before and after it."""

    async def look(turn: int, at: Any, files: dict[str, str]) -> None:
        for path in folder.iterdir():
            path.unlink()
        for name, text in files.items():
            (folder / name).write_text(text)
        async with await take_snapshot([str(folder)], store=store) as snapshot:
            await snapshot.record(turn, at)

    store = TreeStore(str(folder.parent / "memory.db"))
    turn = store.begin_turn("s", [str(folder)], stream="s", agent="one", prompt="")
    asyncio.run(look(turn, "begin", before))
    asyncio.run(look(turn, "end", after))
    log = StepLog()
    for frame in frames:
        log.feed(frame)
    found = TurnSteps(store, store.turns(session="s")[0], log)
    (root,) = {root for root, _ in found.places}
    assert root == str(folder)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def test_parts_of_a_file_are_replaced_one_after_the_other(folder: Path) -> None:
    file = folder / "a.py"
    found = steps_of(
        folder,
        {"a.py": "1\n2\n3\n"},
        {"a.py": "one\n2\nthree\n"},
        call("x", title="First", content=[diff(file, "1", "one")], status="completed"),
        call("y", title="Third", content=[diff(file, "3", "three")]),  # nobody says that it is over
    )
    assert [step.title for step in found.steps] == ["First", "Third"]
    assert found.contents_before(1) == {str(folder): {"a.py": b"1\n2\n3\n"}}
    assert found.contents_before(2) == {str(folder): {"a.py": b"one\n2\n3\n"}}


def test_a_write_through_us_is_the_step_of_the_call_that_names_the_file(folder: Path) -> None:
    file = folder / "a.py"
    found = steps_of(
        folder,
        {"a.py": "a\n"},
        {"a.py": "ab\n", "c.py": "c\n"},
        call("x", title="Edit", content=[diff(file, "a", "ab")]),
        write(1, file, "ab\n"),
        {"id": 1, "result": {}},
        call("x", status="completed"),
        write(2, folder / "c.py", "c\n"),
        {"id": 2, "result": None},
    )
    assert [(step.title, step.paths) for step in found.steps] == [
        ("Edit", [str(file)]),
        ("Write c.py", [str(folder / "c.py")]),
    ]
    assert found.contents_before(2) == {str(folder): {"a.py": b"ab\n", "c.py": None}}


@pytest.mark.parametrize("more", ["after = 2\n", "before = 0\n"])
def test_a_file_that_was_changed_by_more_than_steps_is_in_none(folder: Path, more: str) -> None:
    file = folder / "a.py"
    frame = call("x", content=[diff(file, None, "made = 1\n")], status="completed")
    found = steps_of(folder, {}, {"a.py": f"made = 1\n{more}"}, frame)
    assert (found.steps, found.unexplained) == ([], [str(file)])


def test_failed_calls_refused_writes_and_files_elsewhere_are_no_steps(folder: Path) -> None:
    file = folder / "a.py"
    found = steps_of(
        folder,
        {"a.py": "a\n"},
        {"a.py": "a\n"},
        call("x", content=[diff(file, "a", "b")], status="failed"),
        write(1, file, "c\n"),
        {"id": 1, "error": {"code": -32000, "message": "no"}},
        call("y", content=[diff(folder.parent / "b.py", None, "b")], status="completed"),
        call("z", content=[diff(folder / "../c.py", None, "c")], status="completed"),
    )
    assert found.steps == []
