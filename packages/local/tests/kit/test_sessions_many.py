"""Many sessions at once: none sees another, and turns of one never mix."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Kit, KitTurn
from dragoman.errors import CallFailed
from dragoman_local.journal import MemoryJournal
from tests.kit.kit_agents import chatting, eventually, handled_by, listening
from tests.runtime.raw import request
from tests.sdk.ends import prompt, raw_client


async def test_a_crash_in_one_session_is_invisible_to_the_others() -> None:
    async def work(turn: KitTurn[None]) -> None:
        if turn.text == "crash":
            turn.session.start(failing())
            raise RuntimeError("secret of this session")
        await asyncio.sleep(0.02)
        await turn.say(turn.text)

    async def failing() -> None:
        raise RuntimeError("in the background")

    agent = handled_by(work)
    async with listening(agent) as (handle, _):
        crashing, sound = await handle.new_session(cwd="/tmp"), await handle.new_session(cwd="/tmp")
        going = asyncio.ensure_future(until_result(sound.prompt("sound")))
        with pytest.raises(CallFailed) as caught:
            await crashing.prompt("crash")
        assert "secret" not in str(caught.value)
        assert await going == "sound"
        assert (await crashing.prompt("still here")).text == "still here"


async def until_result(turn: Any) -> str:
    return str((await turn).text)


async def test_what_is_started_in_a_session_that_ends_at_once_leaves_no_trace() -> None:
    async def work(turn: KitTurn[None]) -> None:
        turn.session.start(asyncio.sleep(60))
        started.append(turn.session.start(asyncio.sleep(60)))

    started: list[asyncio.Task[None]] = []
    async with listening(handled_by(work)) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("go")
        assert not started[0].done()
        await session.close()
        assert started[0].cancelled()


async def in_threes(turn: KitTurn[None]) -> None:
    for _ in range(3):
        await turn.say(turn.text)
        await asyncio.sleep(0)


async def test_a_busy_session_queues_and_never_mixes() -> None:
    async with raw_client(handled_by(in_threes)) as client:
        session_id = await client.open()
        client.prompt(1, session_id, "a")
        client.prompt(2, session_id, "b")
        await client.answer_to(1)
        await client.answer_to(2)
        assert client.texts(session_id) == ["a", "a", "a", "b", "b", "b"]


async def test_a_busy_session_refuses_if_the_agent_chose_so() -> None:
    agent = Agent("busy", busy="refuse")
    Kit(agent, journal=MemoryJournal(), titles="none").prompt(in_threes)
    async with raw_client(agent) as client:
        session_id = await client.open()
        client.prompt(1, session_id, "a")
        client.prompt(2, session_id, "b")
        assert (await client.answer_to(2))["error"]["code"] == -32600
        await client.answer_to(1)
        assert client.texts(session_id) == ["a", "a", "a"]


@pytest.mark.bound(20)  # a hundred turns wait for the disk twice each
async def test_a_hundred_sessions_prompt_at_once_and_no_update_is_late(tmp_path: Path) -> None:
    agent, _ = chatting(tmp_path / "s.db", titles="none")
    async with raw_client(agent) as client:
        names = [await client.open()]
        for number in range(99):
            client.send(request(f"s{number}", "session/new", {"cwd": "/tmp", "mcpServers": []}))
            names.append((await client.answer_to(f"s{number}"))["result"]["sessionId"])
        client.send(*(prompt(number, name, f"text {number}") for number, name in enumerate(names)))
        await eventually(lambda: len([one for one in client.answers() if isinstance(one["id"], int)]) == 100)
        for number, name in enumerate(names):
            assert client.texts(name) == ["1: ", f"text {number}"]
            assert last_update(client.seen, name) < answer_index(client.seen, number)


def last_update(seen: list[Any], session_id: str) -> int:
    return max(
        index
        for index, frame in enumerate(seen)
        if frame.get("method") == "session/update" and frame["params"]["sessionId"] == session_id
    )


def answer_index(seen: list[Any], request_id: int) -> int:
    return next(
        index for index, frame in enumerate(seen) if frame.get("id") == request_id and "result" in frame
    )
