"""Who wrote the lines of a session's file, told by the hub to those who may see the session."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.schema.v1 import Diff
from dragoman_hub.gate.admission import Grant
from dragoman_local.journal.seal import Seal
from dragoman_local.workspace.folder_memory import FolderMemory
from dragoman_local.workspace.tree_store import store_beside
from tests.hub.sessions.stage import Stage, Talker, staged

pytestmark = [pytest.mark.bound(30), pytest.mark.usefixtures("patient_looks")]

BLAME = "_dragoman/hub/blame"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("old\n")
    return project


@pytest.fixture
def trees(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "hub.db")


def author() -> Agent:
    """Appends each of its prompts to a.txt, and asks first whether it may."""
    agent = Agent("author")
    numbers = itertools.count(1)

    @agent.prompt
    async def append(turn: Turn) -> None:
        path = Path(turn.session.cwd, "a.txt")
        old = path.read_text()
        new = f"{old}{turn.text}\n"
        async with turn.tool(f"Edit {next(numbers)}", kind="edit", status="pending") as call:
            if turn.text.startswith("ask"):
                assert await call.ask()
            await call.progress(content=[Diff(path=str(path), old_text=old, new_text=new)])
            path.write_text(new)
            await call.progress(status="completed")

    return agent


async def turn(client: Talker, session: str, words: str) -> None:
    running = client.prompt(session, words, key=f"key {words}")
    if words.startswith("ask"):
        client.allow(await client.asked(), "allow_once")
    assert (await client.answer(running))["result"]["stopReason"] == "end_turn"


async def written(stage: Stage, project: Path) -> tuple[Talker, str]:
    """A line that was there, one of a turn, one of a person, one that was asked for."""
    client = await stage.client().begin()
    session = await client.new(str(project))
    await turn(client, session, "first line")
    await client.call("_dragoman/hub/changes", {"sessionId": session})  # the look after it is done
    with (project / "a.txt").open("a") as file:
        file.write("typed\n")
    await turn(client, session, "ask for a second line")
    await client.call("_dragoman/hub/changes", {"sessionId": session})
    return client, session


async def why(client: Talker, params: dict[str, Any]) -> str:
    error = await client.refusal(BLAME, params)
    return f"{error['code']} {error['message']}"


async def test_each_range_has_its_turn_its_prompt_and_who_approved(project: Path, trees: str) -> None:
    async with staged({"one": author}, changes=True, trees=trees) as stage:
        client, session = await written(stage, project)
        with (project / "a.txt").open("a") as file:
            file.write("typed\nat last\n")
        told = await client.call(BLAME, {"sessionId": session, "path": "a.txt"})
        assert told["path"] == str(project / "a.txt")
        assert told["text"] == "old\nfirst line\ntyped\nask for a second line\ntyped\nat last\n"
        assert (told["first"], told["isCovered"], told["isCut"]) == (1, False, False)
        before, first, typed, second, last = told["ranges"]
        assert before == {"first": 1, "last": 1, "by": "unknown"}
        assert (typed, last) == (
            {"first": 3, "last": 3, "by": "person"},
            {"first": 5, "last": 6, "by": "person"},
        )
        turns = (await client.call("_dragoman/hub/turns", {"sessionId": session}))["turns"]
        cursors = [first.pop("cursor"), second.pop("cursor")]
        assert cursors == [turn["cursor"] for turn in turns]
        calls = [first.pop("toolCall"), second.pop("toolCall")]
        assert len(set(calls)) == 2
        own = {"by": "agent", "sessionId": session, "agent": "one"}
        assert first == {"first": 2, "last": 2, "turn": 1, "prompt": "first line", **own}
        asked = {"turn": 2, "prompt": "ask for a second line", "answer": "Allow", "answeredBy": "owner"}
        assert second == {"first": 4, "last": 4, **asked, **own}
        part = await client.call(BLAME, {"sessionId": session, "path": "a.txt", "first": 3, "last": 5})
        assert (part["first"], part["text"]) == (3, "typed\nask for a second line\ntyped\n")
        assert [one["by"] for one in part["ranges"]] == ["person", "agent", "person"]
        assert part["ranges"][-1]["last"] == 5


async def test_who_may_read_the_session_sees_its_turns_and_no_others(project: Path, trees: str) -> None:
    inner = project / "inner"
    inner.mkdir()
    async with staged({"one": author, "two": author}, changes=True, trees=trees) as stage:
        owner, session = await written(stage, project)
        look = {"sessionId": session, "path": "a.txt"}
        watcher = await stage.client(Grant("watcher", frozenset({"observe"}))).begin()
        assert (await watcher.call(BLAME, look))["ranges"] == (await owner.call(BLAME, look))["ranges"]
        approver = await stage.client(Grant("approver", frozenset({"approve"}))).begin()
        assert "may not" in await why(approver, look)
        narrow = await stage.client(Grant("narrow", frozenset({"observe"}), roots=(str(inner),))).begin()
        assert "-32002" in await why(narrow, look) or "may not" in await why(narrow, look)
        other = await owner.new(str(project), agent="two")
        hers = await stage.client(Grant("hers", frozenset({"observe"}), agents=("two",)), agent="two").begin()
        told = await hers.call(BLAME, {**look, "sessionId": other})
        hidden = {"by": "agent", "isHidden": True}
        assert told["ranges"][1] == {"first": 2, "last": 2, **hidden}
        assert "ask" not in str(told["ranges"])


async def test_what_has_no_authors_is_refused_in_words(
    project: Path, trees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "link.txt").symlink_to(project.parent / "outside.txt")
    (project.parent / "outside.txt").write_text("not yours\n")
    (project / ".env").write_text("KEY=zanzibar\n")
    (project / "picture").write_bytes(b"\x89PNG\0\xff")
    (project / "large.txt").write_text("x" * (1024 * 1024 + 1))
    (project / "long.txt").write_text("\n" * 20_001)
    (project / "empty.txt").touch()
    async with staged({"one": author}, changes=True, trees=trees) as stage:
        client, session = await written(stage, project)
        for path, reason in (
            ("../outside.txt", "403 the path leads outside"),
            ("link.txt", "403 the path leads outside"),
            (".env", "403 files of this name usually hold secrets"),
            ("picture", "415 the file is not text"),
            ("large.txt", "413 the file is larger than 1 MB"),
            ("long.txt", "413 the file has more than 20,000 lines"),
            ("none.txt", "-32002 there is no such file"),
            ("", "-32602 "),
        ):
            refusal = await why(client, {"sessionId": session, "path": path})
            assert refusal.startswith(reason), path
            assert "zanzibar" not in refusal
        for lines, reason in (
            ({"first": 0}, "not a range"),
            ({"first": 3, "last": 2}, "not a range"),
            ({"first": 5}, "the file has 4 lines"),
            ({"last": "x"}, "not a number"),
        ):
            assert reason in await why(client, {"sessionId": session, "path": "a.txt", **lines})
        empty = await client.call(BLAME, {"sessionId": session, "path": "empty.txt"})
        assert (empty["text"], empty["ranges"]) == ("", [])
        monkeypatch.setattr("dragoman_hub.lending.line_authors.HISTORY_BYTES", 3)
        assert "changed too often" in await why(client, {"sessionId": session, "path": "a.txt"})
    async with staged({"one": author}, changes=True) as stage:
        client, session = await written(stage, project)
        assert "does not remember" in await why(client, {"sessionId": session, "path": "a.txt"})


async def test_a_file_that_git_ignores_is_not_told_of(project: Path, trees: str) -> None:
    (project / ".git").mkdir()
    for name in ("objects", "refs"):
        (project / ".git" / name).mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / ".gitignore").write_text("notes.txt\n")
    (project / "notes.txt").write_text("mine\n")
    async with staged({"one": author}, changes=True, trees=trees) as stage:
        client, session = await written(stage, project)
        assert "git ignores this file" in await why(client, {"sessionId": session, "path": "notes.txt"})


async def test_secrets_in_a_line_are_covered(project: Path, trees: str) -> None:
    key = "AKIA" + "Q7ZLFY3MWNBX2KVD"
    (project / "a.txt").write_text(f"aws_access_key_id = {key}\n")
    async with staged({"one": author}, changes=True, trees=trees) as stage:
        client, session = await written(stage, project)
        told = await client.call(BLAME, {"sessionId": session, "path": "a.txt"})
        assert key not in str(told)
        assert told["isCovered"]
        assert len(told["text"].splitlines()) == 4


async def test_a_sealed_memory_knows_as_much(project: Path, trees: str) -> None:
    seal = Seal(b"k" * 32).trees
    async with staged({"one": author}, changes=True, trees=trees, trees_seal=seal) as stage:
        client, session = await written(stage, project)
        told = await client.call(BLAME, {"sessionId": session, "path": "a.txt"})
        assert [one["by"] for one in told["ranges"]] == ["unknown", "agent", "person", "agent"]
        assert told["ranges"][-1]["prompt"] == "ask for a second line"
        look = {"sessionId": session, "turn": 1}
        shown = await client.call("_dragoman/hub/rewind/preview", look)
        also = [file["path"] for file in shown["files"]]
        await client.call("_dragoman/hub/rewind", {**look, **shown, "also": also})
        assert (project / "a.txt").read_text() == "old\n"
    disk = b"".join(path.read_bytes() for path in Path(trees).parent.glob("memory*"))
    for word in ("a.txt", "second line", str(project)):
        assert word.encode() not in disk


async def test_turns_that_were_not_read_have_no_author_but_their_number(project: Path, trees: str) -> None:
    async with staged({"one": author}, changes=True, trees=trees) as stage:
        await written(stage, project)
        store = store_beside(trees)
        memory = FolderMemory(store, str(project), lambda _: nullcontext(stage.hub.journal), most_bytes=100)
        lines = await memory.blame("a.txt")
        assert lines is not None
        told = [(line.by, line.turn) for line in lines]
        assert told[1:] == [("unknown", 1), ("person", None), ("unknown", 2)]
        assert memory.facts.is_cut
        store.close()
