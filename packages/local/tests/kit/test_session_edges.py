"""Sessions at awkward moments: while a turn runs, while nothing can be stored, while they are opened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Kit, KitSession, KitTurn, connect
from dragoman.errors import CallFailed
from dragoman_local.journal import MemoryJournal
from dragoman_local.kit.restore import CUT_SHORT
from tests.kit.kit_agents import chatting, handled_by, listening
from tests.kit.test_log import Narrow
from tests.runtime.raw import request, until
from tests.sdk.ends import cancel, prompt, raw_client


async def wait(turn: KitTurn[None]) -> None:
    await turn.say("begun")
    if turn.text == "wait":
        await asyncio.sleep(60)


async def test_a_session_is_not_loaded_or_deleted_while_its_own_turn_runs() -> None:
    async with raw_client(handled_by(wait)) as client:
        session_id = await client.open()
        client.prompt(1, session_id, "wait")
        await until(lambda: client.texts(session_id))
        params = {"sessionId": session_id, "cwd": "/tmp", "mcpServers": []}
        for method in ("session/load", "session/resume", "session/delete"):
            client.send(request(method, method, params))
            assert (await client.answer_to(method))["error"]["code"] == -32600
        client.send(cancel(session_id))
        assert (await client.answer_to(1))["result"]["stopReason"] == "cancelled"
        client.send(request("again", "session/load", params))
        assert "result" in await client.answer_to("again")


async def test_a_fork_of_a_running_turn_ends_it_in_the_copy_alone() -> None:
    async with raw_client(handled_by(wait)) as client:
        session_id = await client.open()
        client.prompt(1, session_id, "wait")
        await until(lambda: client.texts(session_id))
        params = {"sessionId": session_id, "cwd": "/tmp", "mcpServers": []}
        client.send(request("f", "session/fork", params))
        fork = (await client.answer_to("f"))["result"]["sessionId"]
        client.send(request("l", "session/load", {**params, "sessionId": fork}))
        await client.answer_to("l")
        assert client.texts(fork) == ["wait", "begun", CUT_SHORT]
        client.send(cancel(session_id))
        assert (await client.answer_to(1))["result"]["stopReason"] == "cancelled"
        assert CUT_SHORT not in client.texts(session_id)


async def test_a_cancel_before_the_handler_begins_is_kept_as_a_cancel() -> None:
    journal = Narrow()
    agent = Agent("slow")
    begun: list[str] = []
    kit = Kit(agent, journal=journal, titles="none")

    @kit.prompt
    async def begin(turn: KitTurn[None]) -> None:
        begun.append(turn.text)

    async with raw_client(agent) as client:
        session_id = await client.open()
        journal.fast.clear()
        client.prompt(1, session_id, "early")
        client.send(cancel(session_id))
        for _ in range(10):  # turns of the loop, in which the cancel arrives
            await asyncio.sleep(0)
        journal.fast.set()
        assert (await client.answer_to(1))["result"]["stopReason"] == "cancelled"
        client.send(request("l", "session/load", {"sessionId": session_id, "cwd": "/tmp", "mcpServers": []}))
        await client.answer_to("l")
        assert client.texts(session_id) == ["early"]
        assert begun == []


async def test_a_turn_whose_client_hung_up_is_kept_as_cancelled(tmp_path: Path) -> None:
    agent = Agent("left")
    Kit(agent, journal=tmp_path / "s.db", titles="none").prompt(wait)
    async with raw_client(agent) as client:
        session_id = await client.open()
        client.prompt(1, session_id, "wait")
        await until(lambda: client.texts(session_id))
    async with listening(agent) as (handle, heard):
        await handle.load_session(session_id, cwd="/tmp")
        assert [text for _, text in heard.told(session_id)] == ["wait", "begun"]


async def test_a_prompt_into_a_session_that_is_being_loaded_is_refused() -> None:
    journal = Narrow()
    agent, _ = chatting(journal)
    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("before")
    async with raw_client(agent) as client:
        await client.open()
        journal.fast.clear()
        params = {"sessionId": session.id, "cwd": "/tmp", "mcpServers": []}
        client.send(request("l", "session/load", params))
        client.send(prompt("p", session.id))
        assert (await client.answer_to("p"))["error"]["code"] == -32600
        journal.fast.set()
        assert "result" in await client.answer_to("l")


async def test_what_cannot_be_opened_says_so_and_does_not_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"something else, " * 200)
    agent, _ = chatting(path)
    async with connect(agent) as handle:
        with pytest.raises(CallFailed, match="cannot be opened") as caught:
            await handle.new_session(cwd="/tmp")
        assert str(tmp_path) not in str(caught.value)
        path.unlink()
        assert (await (await handle.new_session(cwd="/tmp")).prompt("now")).text == "1: now"


async def test_a_conversation_that_cannot_be_made_leaves_no_session_behind() -> None:
    agent = Agent("picky")

    async def make(session: KitSession[str]) -> str:
        if session.cwd == "/bad":
            raise RuntimeError("not here")
        return f"talks in {session.cwd}"

    kit = Kit(agent, conversation=make, journal=MemoryJournal())

    @kit.prompt
    async def reply(turn: KitTurn[str]) -> None:
        await turn.say(turn.session.conversation)

    async with connect(agent) as handle:
        with pytest.raises(CallFailed):
            await handle.new_session(cwd="/bad")
        session = await handle.new_session(cwd="/good")
        assert (await session.prompt("hi")).text == "talks in /good"
        assert [info.session_id async for info in handle.list_sessions()] == [session.id]


async def test_a_session_is_loaded_into_another_folder() -> None:
    agent, _ = chatting(MemoryJournal())
    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("hi")
        await session.close()
        await handle.load_session(session.id, cwd="/usr")
        assert [info.cwd async for info in handle.list_sessions()] == ["/usr"]


async def test_memories_can_be_started_afresh(tmp_path: Path) -> None:
    agent = Agent("forgetful")
    kit = Kit(agent, journal=tmp_path / "s.db", titles="none")

    @kit.prompt
    async def keep(turn: KitTurn[None]) -> None:
        if turn.text == "compact":
            turn.session.forget()
        turn.session.remember({"said": turn.text, "words": [1, None, True]})

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        for text in ("one", "compact", "two"):
            await session.prompt(text)
    seen: list[Any] = []
    again = Agent("forgetful")
    Kit(again, journal=tmp_path / "s.db", conversation=lambda session: seen.extend(session.memories))
    async with connect(again) as handle:
        await handle.resume_session(session.id, cwd="/tmp")
    assert seen == [{"said": said, "words": [1, None, True]} for said in ("compact", "two")]
