"""`dragoman blame`: each line has its prompt, in every form, and only if somebody saw it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman_local.journal import Entry, open_sealed
from dragoman_local.journal.seal import Seal
from dragoman_local.workspace.tree_store import store_beside
from tests.cli.memory_stage import MemoryStage
from tests.workspace.remembered_folder import RememberedFolder

pytestmark = pytest.mark.bound(60)


def test_blame_tells_prompt_agent_call_and_answer_of_each_line(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    assert "no turn is remembered yet" in stage.command("blame", "a.py").stderr
    (stage.folder / "a.py").write_text("was = 0\n")
    stage.turn("a.py: made = 1")
    with (stage.folder / "a.py").open("a") as file:
        file.write("typed = 2\n")
    stage.turn("a.py: made = 3", "--continue")
    before, made, typed, later = stage.blame("a.py")
    assert (before["by"], before["session"], typed["by"], typed["prompt"]) == (
        "unknown",
        None,
        "person",
        None,
    )
    assert made | {"agent": ""} == {
        "line": 2,
        "by": "agent",
        "session": "edits",
        "turn": 1,
        "prompt": "a.py: made = 1",
        "agent": "",
        "model": "acme/large-2",
        "tool_call": "call-a.py",
        "approved_by": "Allow it once",
        "approver": None,
    }
    assert (later["line"], later["turn"], later["prompt"]) == (4, 2, "a.py: made = 3")
    assert [line["line"] for line in stage.blame("a.py", "--lines", "2,3")] == [2, 3]
    assert stage.blame("a.py:4") == [later]
    text = stage.command("blame", "a.py").stdout
    assert "turn 2 of edits: a.py: made = 3" in text
    assert [line.split()[0] for line in text.splitlines()[:1]] == ["unknown"]
    porcelain = stage.command("blame", "--porcelain", "a.py:2").stdout.splitlines()
    assert (len(porcelain[0].split()[0]), porcelain[2], porcelain[-1]) == (
        40,
        "summary a.py: made = 1",
        "\tmade = 1",
    )
    whole = stage.command("blame", "--porcelain", "a.py").stdout.splitlines()
    authors = {(whole[at].split()[0], whole[at + 1]) for at in range(0, len(whole), 5)}
    assert len(authors) == len({number for number, _ in authors}) == 4
    assert ("0" * 40, "author a person") in authors
    story = stage.command("why", "a.py:4").stdout
    assert "turn 2 of edits" in story.splitlines()[0]
    assert "thought:\nIt is time for a.py." in story
    assert "approved:\nAllow it once" in story
    assert "+made = 3" in story
    assert stage.command("why", "a.py:3").stdout == "line 3: a person\n"
    for words, told in (
        (("a.py:9",), "has 4 lines"),
        (("none.py",), "cannot be read"),
        (("/etc/hosts",), "no turn ran in the folder"),
        (("a.py", "--lines", "x"), "is not a range of lines"),
    ):
        done = stage.command("blame", *words)
        assert done.returncode in (1, 2)
        assert told in done.stderr


def test_forgetting_a_session_erases_its_trees_from_the_disk(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    marker = "zanzibarquagga"
    stage.turn(f"a.py: {marker} = 1")
    store = tmp_path / "data" / "dragoman" / "memory.db"
    assert store.stat().st_mode & 0o077 == 0
    assert "call-a.py" not in store.read_bytes().decode("latin-1")
    assert marker in store.read_bytes().decode("latin-1")  # the prompt is in clear, contents are packed
    assert stage.command("sessions", "forget", "last", "--yes").returncode == 0
    assert stage.command("blame", "a.py").returncode == 1
    for path in store.parent.glob("memory.db*"):
        assert marker.encode() not in path.read_bytes()
    (stage.folder / "a.py").unlink()
    stage.turn("b.py: other = 1", "--no-history")
    assert stage.command("blame", "b.py").returncode == 1


def test_a_sealed_memory_is_read_with_its_key_alone(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    secret, journal, key = "4Gq0wzJ7yPbV1nRkTt9LcXeH5sMdAu2f", tmp_path / "hub.db", tmp_path / "key"
    key.write_text(secret)
    key.chmod(0o600)

    async def turn() -> None:
        store = store_beside(journal, seal=Seal(secret.encode()).trees)
        folder = RememberedFolder(tmp_path, store=store)
        folder.root = stage.folder
        await folder.turn("one", {"a.py": "made = 1\n"})
        store.close()
        async with open_sealed(journal, secret.encode()) as sealed:
            async for page in folder.journal.replay("one"):
                await sealed.append("one", [Entry(one.direction, one.frame, one.time) for one in page])

    asyncio.run(turn())
    where = ("--journal", str(journal))
    for words in (("blame", "a.py"), ("why", "a.py:1"), ("rewind", "--to", "1")):
        assert "need its key" in stage.command(*words, *where).stderr
    where += ("--key", f"file:{key}")
    (line,) = stage.blame("a.py", *where)
    assert (line["by"], line["prompt"], line["tool_call"]) == ("agent", "do one", "edit 1")
    assert "edit 1" in stage.command("why", "a.py:1", "--json", *where).stdout
    refused = stage.command("rewind", "--to", "1", "--conversation", *where)
    assert "not copied" in refused.stderr
    assert stage.command("rewind", "--to", "1", *where).returncode == 0
    assert not (stage.folder / "a.py").exists()
    key.write_text(secret[::-1])
    assert "another key" in stage.command("blame", "a.py", *where).stderr
