"""Files go back to before a turn through the hub, and forth again, and over nobody's work."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import ToolCallLocation
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.real_paths import RealPaths
from tests.hub.lending.writer_stage import Doors, writer
from tests.hub.sessions.stage import Stage, Talker, staged
from tests.runtime.raw import until

pytestmark = [pytest.mark.bound(30), pytest.mark.usefixtures("patient_looks")]

REWIND, PREVIEW, UNDO, FORK = (
    f"_dragoman/hub/{name}" for name in ("rewind", "rewind/preview", "rewind/undo", "fork")
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "old.txt").write_text("old\nlines\n")
    return project


@pytest.fixture
def trees(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "hub.db")


async def turn(client: Talker, session: str, words: str, key: str) -> None:
    answer = await client.answer(client.prompt(session, words, key=key))
    assert answer["result"]["stopReason"] == "end_turn"
    await client.call("_dragoman/hub/changes", {"sessionId": session})  # the look after it is done


async def two_turns(stage: Stage, project: Path) -> tuple[Talker, str]:
    client = await stage.client().begin()
    session = await client.new(str(project))
    await turn(client, session, "edit a.txt", "first")
    await turn(client, session, "edit b.txt edit old.txt", "second")
    return client, session


def names(files: list[dict[str, Any]]) -> list[str]:
    return sorted(os.path.basename(file["path"]) for file in files)


async def why(client: Talker, method: str, params: dict[str, Any]) -> str:
    return str((await client.refusal(method, params))["message"])


def notices(client: Talker) -> list[str]:
    updates = [one["params"]["update"] for one in client.heard if one.get("method") == "session/update"]
    return [
        f"{update['title']} {update['description']}"
        for update in updates
        if update["sessionUpdate"] == "notice"
    ]


def there(project: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in project.iterdir()}


async def test_a_turn_is_put_back_as_it_was_shown_and_forth_again(project: Path, trees: str) -> None:
    audit = project.parent / "audit.jsonl"
    async with staged({"one": writer}, changes=True, trees=trees, audit=str(audit)) as stage:
        client, session = await two_turns(stage, project)
        after = there(project)
        shown = await client.call(PREVIEW, {"sessionId": session, "key": "second"})
        assert (shown["turn"], shown["isBusy"], shown["left"]) == (2, False, [])
        assert [(names([file]), file["act"], file["added"], file["removed"]) for file in shown["files"]] == [
            (["b.txt"], "remove", 0, 1),
            (["old.txt"], "change", 2, 1),
        ]
        assert not any(file["isPersons"] for file in shown["files"])
        for named in ({"turn": 2}, {}):  # a client that knows no key
            assert await client.call(PREVIEW, {"sessionId": session, **named}) == shown
        assert (await client.call(PREVIEW, {"sessionId": session, "turn": 1}))["turn"] == 1
        assert "no record" in await why(client, PREVIEW, {"sessionId": session, "turn": 3})
        assert "no record" in await why(client, PREVIEW, {"sessionId": session, "key": "third"})
        assert "not a number" in await why(client, PREVIEW, {"sessionId": session, "turn": "2"})
        assert there(project) == after
        done = await client.call(REWIND, {"sessionId": session, "key": "second", **shown})
        assert (names([{"path": path} for path in done["paths"]]), done["failures"]) == (
            ["b.txt", "old.txt"],
            [],
        )
        assert there(project) == {"a.txt": "new\n", "old.txt": "old\nlines\n"}
        assert (await client.call("_dragoman/hub/changes", {"sessionId": session}))["files"] == []
        done = await client.call(UNDO, {"sessionId": session})
        assert (there(project), done["turn"]) == (after, 0)
        await until(lambda: len(notices(client)) == 2)
        assert notices(client) == [
            "Files put back to before turn 2: b.txt, old.txt.",
            "Rewind undone: b.txt, old.txt.",
        ]
        assert "nothing to undo" in await why(client, UNDO, {"sessionId": session})
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["method"], line["kind"], line["title"]) for line in lines] == [
        (REWIND, "edit", "to before turn 2"),
        (UNDO, "edit", "as before the last rewind"),
    ]


async def test_a_turn_that_has_just_ended_can_be_put_back(project: Path, trees: str) -> None:
    async with staged({"one": writer}, changes=True, trees=trees) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await client.answer(client.prompt(session, "write a.txt", key="first"))
        shown = await client.call(PREVIEW, {"sessionId": session, "key": "first"})
        assert names(shown["files"]) == ["a.txt"]


async def test_a_token_goes_back_in_its_own_folders_alone(
    project: Path, trees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    async with staged({"one": writer}, changes=True, trees=trees) as stage:
        link = project.parent / "link"
        link.symlink_to(elsewhere)
        owner = await stage.client().begin()
        session = await owner.new(str(link))
        await turn(owner, session, "write a.txt", "first")
        link.unlink()
        link.symlink_to(project)  # the session's folder leads elsewhere now than when its turn ran
        monkeypatch.setattr("dragoman_hub.gate.admission.real_paths", RealPaths())  # and it was looked at
        scopes = frozenset({"prompt", "observe"})
        narrow = await stage.client(Grant("narrow", scopes, roots=(str(project),))).begin()
        look = {"sessionId": session, "key": "first"}
        refusal = "Forbidden: this token may not use that folder"
        assert await why(narrow, PREVIEW, look) == refusal
        assert await why(narrow, REWIND, {**look, "identity": "any"}) == refusal
        for poor in ("observe", "approve"):
            client = await stage.client(Grant("poor", frozenset({poor}))).begin()
            assert "may not" in await why(client, PREVIEW, look)
    assert there(elsewhere) == {"a.txt": "new\n"}


async def test_what_a_person_wrote_stays_unless_it_is_named(project: Path, trees: str) -> None:
    async with staged({"one": writer}, changes=True, trees=trees) as stage:
        client, session = await two_turns(stage, project)
        (project / "old.txt").write_text("typed\n")
        (project / "own.txt").write_text("typed\n")
        look = {"sessionId": session, "key": "first"}
        shown = await client.call(PREVIEW, look)
        assert names([file for file in shown["files"] if file["isPersons"]]) == ["old.txt", "own.txt"]
        await client.call(REWIND, {**look, "identity": shown["identity"]})
        assert there(project) == {"old.txt": "typed\n", "own.txt": "typed\n"}
        shown = await client.call(PREVIEW, look)
        old = next(file["path"] for file in shown["files"] if file["path"].endswith("old.txt"))
        await client.call(REWIND, {**look, "identity": shown["identity"], "also": [old]})
        assert there(project) == {"old.txt": "old\nlines\n", "own.txt": "typed\n"}
        (project / "old.txt").write_text("typed again\n")
        assert "old.txt" in await why(client, UNDO, {"sessionId": session})
        assert there(project) == {"old.txt": "typed again\n", "own.txt": "typed\n"}


async def test_what_a_person_writes_while_a_turn_runs_is_asked_for(project: Path, trees: str) -> None:
    doors = Doors()
    async with staged({"one": lambda: writer(doors)}, changes=True, trees=trees) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        running = client.prompt(session, "edit a.txt wait door", key="first")
        reached, door = doors.of("door")
        await reached.wait()
        (project / "own.txt").write_text("typed\n")
        door.set()
        await client.answer(running)
        await turn(client, session, "run built.txt", "second")
        look = {"sessionId": session, "key": "first"}
        shown = await client.call(PREVIEW, look)
        assert {names([file])[0]: file["isPersons"] for file in shown["files"]} == {
            "a.txt": False,
            "built.txt": False,
            "own.txt": True,
        }
        await client.call(REWIND, {**look, "identity": shown["identity"]})
        assert there(project) == {"old.txt": "old\nlines\n", "own.txt": "typed\n"}


async def test_what_a_person_writes_before_the_look_after_an_answer_is_asked_for(
    project: Path, trees: str
) -> None:
    doors = Doors()
    async with staged({"one": lambda: writer(doors)}, changes=True, trees=trees) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        running = client.prompt(session, "edit a.txt wait door run built.txt", key="first")
        reached, door = doors.of("door")
        await reached.wait()
        async with stage.hub.changes.folder_lock(str(project)):  # the look after the turn waits for it
            door.set()
            await client.answer(running)
            write_late(project / "own.txt")
            write_late(project / "a.txt")
        look = {"sessionId": session, "key": "first"}
        shown = await client.call(PREVIEW, look)
        assert {names([file])[0]: file["isPersons"] for file in shown["files"]} == {
            "a.txt": True,
            "built.txt": False,
            "own.txt": True,
        }
        blamed = await client.call(
            "_dragoman/hub/blame", {"sessionId": session, "path": str(project / "own.txt")}
        )
        assert [part["by"] for part in blamed["ranges"]] == ["unknown"]


def write_late(path: Path) -> None:
    """A person writes, and the system's clock of files shows that it is later than now."""
    now = time.time()
    path.write_text("typed\n")
    while path.stat().st_ctime <= now:
        path.write_text("typed\n")


async def test_what_moved_since_the_preview_refuses_all_of_it(project: Path, trees: str) -> None:
    async with staged({"one": writer}, changes=True, trees=trees) as stage:
        client, session = await two_turns(stage, project)
        look = {"sessionId": session, "key": "first"}
        shown = await client.call(PREVIEW, look)
        (project / "b.txt").write_text("typed\n")
        after = there(project)
        assert "look again" in await why(client, REWIND, {**look, "identity": shown["identity"]})
        assert there(project) == after


async def test_nothing_is_put_back_under_a_turn_that_runs(project: Path, trees: str) -> None:
    doors = Doors()
    async with staged({"one": lambda: writer(doors)}, changes=True, trees=trees) as stage:
        client, session = await two_turns(stage, project)
        other = await client.new(str(project))
        running = client.prompt(other, "wait door")
        reached, door = doors.of("door")
        await reached.wait()
        look = {"sessionId": session, "key": "first"}
        shown = await client.call(PREVIEW, look)
        assert shown["isBusy"]
        assert "a turn runs" in await why(client, REWIND, {**look, "identity": shown["identity"]})
        door.set()
        await client.answer(running)
        shown = await client.call(PREVIEW, look)
        assert not shown["isBusy"]


async def test_the_agent_is_told_once_with_its_next_prompt(project: Path, trees: str) -> None:
    heard: list[list[str]] = []

    def listener() -> Agent:
        agent = Agent("listener")

        @agent.prompt
        async def write(turn: Turn) -> None:
            heard.append([getattr(block, "text", "") for block in turn.prompt])
            path = Path(turn.session.cwd, "a.txt")
            async with turn.tool("Edit", kind="edit", locations=[ToolCallLocation(path=str(path))]):
                path.write_text(f"{len(heard)}\n")

        return agent

    async with staged({"one": listener}, changes=True, trees=trees) as stage:
        client = await stage.client().begin()
        session = await client.new(str(project))
        await turn(client, session, "begin", "first")
        look = {"sessionId": session, "key": "first"}
        shown = await client.call(PREVIEW, look)
        await client.call(REWIND, {**look, "identity": shown["identity"]})
        await turn(client, session, "go on", "second")
        await turn(client, session, "and on", "third")
    assert heard[0] == ["begin"]
    assert "put files back" in heard[1][0]
    assert "a.txt" in heard[1][0]
    assert (heard[1][1:], heard[2]) == (["go on"], ["and on"])


async def test_a_hub_that_keeps_nothing_says_so_and_offers_nothing(project: Path, trees: str) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client, session = await two_turns(stage, project)
        assert "does not remember" in await why(client, PREVIEW, {"sessionId": session, "key": "first"})
        standing = await client.call("_dragoman/hub/attach", {"sessionId": session})
        assert standing["snapshot"]["remembersFiles"] is False
    async with staged({"one": writer}, changes=True, trees=trees) as stage:
        client, session = await two_turns(stage, project)
        standing = await client.call("_dragoman/hub/attach", {"sessionId": session})
        assert standing["snapshot"]["remembersFiles"] is True
        assert "no record" in await why(client, PREVIEW, {"sessionId": session, "key": "unheard of"})
        assert "no record" in await why(client, PREVIEW, {"sessionId": session, "key": "first' or ''='"})


async def test_a_fork_has_the_files_and_the_words_of_before_a_turn(project: Path, trees: str) -> None:
    audit = project.parent / "audit.jsonl"
    async with staged({"one": writer}, changes=True, trees=trees, audit=str(audit)) as stage:
        client, session = await two_turns(stage, project)
        after, look = there(project), {"sessionId": session, "key": "second"}
        turns = (await client.call("_dragoman/hub/turns", {"sessionId": session}))["turns"]
        made = await client.call(FORK, {**look, "before": turns[1]["cursor"]})
        folder = Path(made["folder"])
        assert (folder.parent, made["branch"], made["files"], made["left"]) == (project.parent, "", 2, [])
        assert there(folder) == {"a.txt": "new\n", "old.txt": "old\nlines\n"}
        assert there(project) == after
        fork = await stage.hub.session(made["sessionId"])
        assert (fork.state.cwd, fork.state.turns) == (str(folder), 1)
        await turn(client, fork.id, "write c.txt", "third")
        assert sorted(there(folder)) == ["a.txt", "c.txt", "old.txt"]
        narrow = await stage.client(
            Grant("narrow", frozenset({"prompt", "observe"}), roots=(str(project),))
        ).begin()
        assert "may not use" in await why(narrow, FORK, look)  # the new folder would be beside its own
        for poor in ("observe", "approve"):
            other = await stage.client(Grant("poor", frozenset({poor}))).begin()
            assert "may not" in await why(other, FORK, look)
        (project / "old.txt").write_text("typed\n")
        assert "no record" in await why(client, FORK, {**look, "key": "third"})
        assert [path.name for path in project.parent.iterdir() if "fork" in path.name] == [folder.name]
    line, *refusals = [json.loads(line) for line in audit.read_text().splitlines()]
    assert (line["method"], line["kind"], line["outcome"]) == (FORK, "edit", "allow"), refusals
    assert line["title"] == f"from before turn 2 to {folder}"


async def test_a_fork_that_cannot_be_made_leaves_nothing(
    project: Path, trees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ErrorAnswer(-32603, "no session for you")

    async with staged({"one": writer}, changes=True, trees=trees) as stage:
        client, session = await two_turns(stage, project)
        monkeypatch.setattr("dragoman_hub.clients.rewind_methods.fork", fail)
        assert "no session" in await why(client, FORK, {"sessionId": session, "key": "first"})
    assert not [path.name for path in project.parent.iterdir() if "fork" in path.name]
