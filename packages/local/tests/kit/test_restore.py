"""What is replayed is what was said, whatever it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from dragoman import KitTurn, connect
from dragoman.schema import v1
from dragoman_local.journal import MemoryJournal, StoredEntry
from dragoman_local.kit import frames
from dragoman_local.kit.restore import RestoredSession
from tests.kit.kit_agents import chatting, handled_by, listening, text_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.lists(texts, min_size=1, max_size=4), texts)
@example(['{"sessionUpdate":"notice"', '"}}\n{"jsonrpc":"2.0","id":1,"result":{}}'], "a\u2028b\x00")
async def test_every_text_comes_back_as_it_was(said: list[str], prompted: str) -> None:
    async def say(turn: KitTurn[None]) -> None:
        for text in said:
            await turn.say(text)

    async with listening(handled_by(say)) as (handle, heard):
        session = await handle.new_session(cwd="/tmp")
        await session.prompt(v1.TextContent(text=prompted))
        heard.notes.clear()
        await handle.load_session(session.id, cwd="/tmp")
        assert [text_of(update) for update in heard.updates(session.id)] == [prompted, *said]


@given(texts)
def test_an_id_of_any_text_tells_its_frames(session_id: str) -> None:
    update: v1.SessionUpdate = v1.AgentMessageChunk(content=v1.TextContent(text="x"))
    notice: v1.SessionUpdate = v1.Notice(severity="info", title="t")
    found = RestoredSession(session_id)
    page = [
        StoredEntry(number, "to_client", frames.update_frame(session_id, one), 0.0)
        for number, one in enumerate((update, notice, update), 1)
    ]
    assert found.take(page) == 2 * (frames.update_frame(session_id, update) + b"\n")
    assert found.last == 3


def test_notes_and_frames_of_others_are_passed_over() -> None:
    found = RestoredSession("s")
    strange = [b"no json", b'{"kit":5}', b"[]", b'{"other":1}', b'{"kit":"unknown","value":1}']
    page = [
        *(StoredEntry(number, "note", frame, 0.0) for number, frame in enumerate(strange, 1)),
        StoredEntry(6, "to_agent", b'{"method":"session/prompt"}', 0.0),
    ]
    assert found.take(page) == b""
    assert (found.turns, found.open_since, found.memories) == (0, None, [])


async def test_secrets_are_not_stored_and_the_rest_is_still_replayed(tmp_path: Path) -> None:
    agent, kit = chatting(tmp_path / "s.db", titles="none")

    @kit.command("call", "Calls a tool with a password")
    async def call(turn: Any, argument: str) -> None:
        async with turn.tool("Log in", raw_input={"password": "hunter2", "user": "ada"}):
            pass
        await turn.say("done")

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("/call sk-abcdefghijklmnopqrstuvwxyz")
        await session.prompt("and on")
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert b"hunter2" not in stored
    assert b"abcdefghijklmnopqrstuvwxyz" not in stored
    async with listening(agent) as (handle, heard):
        await handle.load_session(session.id, cwd="/tmp")
        kinds = [kind for kind, _ in heard.told(session.id)]
        assert kinds[:4] == ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
        tool = heard.updates(session.id)[1]
        assert isinstance(tool, v1.ToolCall)
        assert tool.raw_input == {"password": "[redacted]", "user": "ada"}
        texts = [text for kind, text in heard.told(session.id) if kind == "user_message_chunk"]
        assert texts == ["/call [redacted]", "and on"]


async def test_a_load_of_many_pages_keeps_the_order() -> None:
    async def count(turn: KitTurn[None]) -> None:
        for number in range(3000):
            await turn.say(str(number))

    async with listening(handled_by(count)) as (handle, heard):
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("go")
        heard.notes.clear()
        await handle.load_session(session.id, cwd="/tmp")
        assert [text for _, text in heard.told(session.id)] == ["go", *map(str, range(3000))]


async def test_a_memory_journal_is_as_good_as_a_file() -> None:
    journal = MemoryJournal()
    agent, _ = chatting(journal)
    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("one")
    async with connect(agent) as handle:
        again = await handle.load_session(session.id, cwd="/tmp")
        assert (await again.prompt("two")).text == "2: two"
