"""Durable sessions: new, load, resume, list, close, delete, fork, set_title."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from dragoman import Agent, AgentHandle, Kit, KitTurn, Session
from dragoman.errors import CallFailed
from dragoman.schema import v1
from dragoman_local.journal import MemoryJournal
from tests.kit.kit_agents import Chat, chatting, listening
from tests.runtime.raw import request
from tests.sdk.ends import raw_client

TALK = [
    ("user_message_chunk", "first"),
    ("session_info_update", "first"),
    ("agent_message_chunk", "1: "),
    ("agent_message_chunk", "first"),
    ("user_message_chunk", "second"),
    ("agent_message_chunk", "2: "),
    ("agent_message_chunk", "second"),
]


async def talked(handle: AgentHandle, *, cwd: str = "/tmp") -> Session:
    session = await handle.new_session(cwd=cwd)
    assert (await session.prompt("first")).text == "1: first"
    assert (await session.prompt("second")).text == "2: second"
    return session


async def test_a_session_is_loaded_by_a_later_connection_with_all_that_was_said(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await talked(handle)
        assert str(UUID(session.id)) == session.id
    again, _ = chatting(tmp_path / "s.db")
    async with listening(again) as (handle, heard):
        loaded = await handle.load_session(session.id, cwd="/tmp")
        assert heard.told(session.id) == TALK
        assert (await loaded.prompt("third")).text == "3: third"


async def test_the_replay_comes_before_the_answer_to_load_and_nothing_comes_after(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await talked(handle)
    async with raw_client(agent) as client:
        await client.open()
        before = len(client.seen)
        params = {"sessionId": session.id, "cwd": "/tmp", "mcpServers": []}
        client.send(request("l", "session/load", params))
        answer = await client.answer_to("l")
        client.send(request("x", "session/list", {}))
        await client.answer_to("x")
        said = client.seen[before:]
        updates = [frame["params"] for frame in said if frame.get("method") == "session/update"]
        assert [update["update"]["sessionUpdate"] for update in updates] == [kind for kind, _ in TALK]
        assert {update["sessionId"] for update in updates} == {session.id}
        assert said.index(answer) > max(i for i, frame in enumerate(said) if "method" in frame)


async def test_replayed_prompts_keep_every_block_and_have_ids_of_their_own() -> None:
    agent = Agent("blocks", image=True, embedded_context=True)
    kit = Kit(agent, journal=MemoryJournal())

    @kit.prompt
    async def nothing(turn: KitTurn[None]) -> None:
        return None

    blocks: list[v1.ContentBlock] = [
        v1.TextContent(text='look "here"\n'),
        v1.ImageContent(data="aGk=", mime_type="image/png"),
        v1.ResourceLink(uri="file:///x", name="x"),
    ]
    async with listening(agent) as (handle, heard):
        session = await handle.new_session(cwd="/tmp")
        await session.prompt(*blocks)
        await session.prompt("next")
        heard.notes.clear()
        await handle.load_session(session.id, cwd="/tmp")
        chunks = [one for one in heard.updates(session.id) if isinstance(one, v1.UserMessageChunk)]
        assert [chunk.content for chunk in chunks] == [*blocks, v1.TextContent(text="next")]
        assert [chunk.message_id for chunk in chunks] == ["prompt-1"] * 3 + ["prompt-2"]


async def test_resume_restores_without_a_replay(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await talked(handle)
    async with listening(agent) as (handle, heard):
        resumed = await handle.resume_session(session.id, cwd="/tmp")
        assert heard.told(session.id) == []
        assert (await resumed.prompt("third")).text == "3: third"


@pytest.mark.parametrize("method", ["load_session", "resume_session", "fork_session"])
async def test_an_unknown_session_is_not_found_and_says_nothing(method: str) -> None:
    agent, _ = chatting(MemoryJournal())
    async with listening(agent) as (handle, heard):
        unknown = str(uuid4())
        with pytest.raises(CallFailed) as caught:
            await getattr(handle, method)(unknown, cwd="/tmp")
        assert caught.value.code == -32002
        assert caught.value.data == {"sessionId": unknown}
        assert heard.notes == []


async def test_sessions_of_another_agent_in_the_same_journal_are_not_ours(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await talked(handle)
    other = Agent("other")
    Kit(other, journal=tmp_path / "s.db")
    async with listening(other) as (handle, _):
        with pytest.raises(CallFailed) as caught:
            await handle.load_session(session.id, cwd="/tmp")
        assert caught.value.code == -32002
        assert [info async for info in handle.list_sessions()] == []


async def test_a_listing_has_titles_folders_and_times_the_latest_first() -> None:
    agent, _ = chatting(MemoryJournal())
    async with listening(agent) as (handle, _):
        first = await talked(handle, cwd="/tmp")
        second = await handle.new_session(cwd="/usr")
        found = [info async for info in handle.list_sessions()]
        assert [info.session_id for info in found] == [second.id, first.id]
        assert [info.title for info in found] == [found[0].title, "first"]
        assert all(isinstance(info.updated_at, str) and info.updated_at.endswith("Z") for info in found)
        assert [info.session_id async for info in handle.list_sessions(cwd="/usr")] == [second.id]
        assert [info async for info in handle.list_sessions(cwd="/nowhere")] == []


async def test_a_listing_comes_in_pages_and_a_false_cursor_is_refused() -> None:
    agent, _ = chatting(MemoryJournal())
    async with listening(agent) as (handle, _):
        made = {(await handle.new_session(cwd="/tmp")).id for _ in range(120)}
        request_: v1.ListSessionsRequest = v1.ListSessionsRequest()
        page = await handle.ask("session/list", request_, v1.ListSessionsResponse)
        assert len(page.sessions) == 50
        assert {info.session_id async for info in handle.list_sessions()} == made
        for params in (v1.ListSessionsRequest(cursor="no"), v1.ListSessionsRequest(cwd="relative")):
            with pytest.raises(CallFailed) as caught:
                await handle.ask("session/list", params, v1.ListSessionsResponse)
            assert caught.value.code == -32602


async def test_a_closed_session_is_gone_here_and_can_be_loaded_again() -> None:
    agent, _ = chatting(MemoryJournal())
    async with listening(agent) as (handle, heard):
        session = await talked(handle)
        await session.close()
        heard.notes.clear()
        await handle.load_session(session.id, cwd="/tmp")
        assert heard.told(session.id) == TALK


async def test_a_deleted_session_is_gone_and_deleting_it_again_succeeds(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await talked(handle)
        kept = await handle.new_session(cwd="/tmp")
        await handle.delete_session(session.id)
        await handle.delete_session(session.id)
        assert [info.session_id async for info in handle.list_sessions()] == [kept.id]
        with pytest.raises(CallFailed) as caught:
            await session.prompt("more")
        assert caught.value.code == -32002
        with pytest.raises(CallFailed) as caught:
            await handle.load_session(session.id, cwd="/tmp")
        assert caught.value.code == -32002


async def test_a_fork_has_the_same_past_and_a_future_of_its_own(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, heard):
        session = await talked(handle)
        fork = await handle.fork_session(session.id, cwd="/tmp")
        assert fork.id != session.id
        assert (await fork.prompt("aside")).text == "3: aside"
        assert (await session.prompt("on")).text == "3: on"
        heard.notes.clear()
        await handle.load_session(fork.id, cwd="/tmp")
        assert heard.told(fork.id) == [
            *TALK,
            ("user_message_chunk", "aside"),
            ("agent_message_chunk", "3: "),
            ("agent_message_chunk", "aside"),
        ]
        titles = {info.session_id: info.title async for info in handle.list_sessions()}
        assert titles == {session.id: "first", fork.id: "first"}


async def test_a_client_gives_a_title_to_a_session_that_is_open_or_not(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db")
    async with listening(agent) as (handle, _):
        session = await talked(handle)
        assert await retitled(handle, session.id, " One\n more ") == "One more"
    async with listening(agent) as (handle, _):
        assert await retitled(handle, session.id, "Two") == "Two"


async def retitled(handle: AgentHandle, session_id: str, title: str) -> str:
    """The title as the answer has it, and as the listing shows it."""
    renamed = v1.SetSessionTitleRequest(session_id=session_id, title=title)
    answer = await handle.ask("session/set_title", renamed, v1.SetSessionTitleResponse)
    assert [info.title async for info in handle.list_sessions()] == [answer.title]
    return answer.title


async def test_the_agent_gives_a_title_and_listings_show_it() -> None:
    agent = Agent("titled")
    kit = Kit(agent, journal=MemoryJournal(), titles="none")

    @kit.prompt
    async def name(turn: KitTurn[None]) -> None:
        await turn.session.rename(turn.text)

    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("A fine day")
        assert [info.title async for info in handle.list_sessions()] == ["A fine day"]


async def test_notices_are_not_replayed() -> None:
    agent = Agent("noticing")
    kit = Kit(agent, journal=MemoryJournal(), titles="none")

    @kit.prompt
    async def notice(turn: KitTurn[None]) -> None:
        await turn.notice("A quota is near")
        await turn.say("done")

    async with listening(agent) as (handle, heard):
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("go")
        heard.notes.clear()
        await handle.load_session(session.id, cwd="/tmp")
        assert heard.told(session.id) == [("user_message_chunk", "go"), ("agent_message_chunk", "done")]


async def test_the_kit_advertises_what_it_does() -> None:
    agent, _ = chatting(MemoryJournal())
    async with listening(agent) as (handle, _):
        for feature in ("list", "delete", "fork", "resume", "close", "title"):
            assert f"sessionCapabilities.{feature}" in handle.capabilities
        assert "loadSession" in handle.capabilities


async def test_the_history_is_there_to_rebuild_a_conversation_from() -> None:
    agent, kit = chatting(MemoryJournal())
    seen: list[v1.SessionUpdate] = []

    @kit.command("history", "Looks back")
    async def history(turn: KitTurn[Chat], argument: str) -> None:
        seen.extend([update async for update in turn.session.history()])

    async with listening(agent) as (handle, _):
        session = await talked(handle)
        await session.prompt("/history")
        texts = [update.content.text for update in seen if hasattr(update, "content")]  # type: ignore[union-attr]
        assert texts == ["first", "1: ", "first", "second", "2: ", "second", "/history"]
