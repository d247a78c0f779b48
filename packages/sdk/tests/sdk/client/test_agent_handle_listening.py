"""What an agent says outside of any turn is kept, and can be waited for."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from dragoman.errors import LocalMistake
from dragoman.testing import ScriptedAgent, talking_to
from tests.sdk.ends import chunk, raw_agent, text_of


async def test_words_after_the_answer_are_waited_for() -> None:
    script = "on prompt\n  say first\n  stop end_turn\n  say second\n  say third"
    async with talking_to(ScriptedAgent(script)) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "first"
        async with aclosing(session.listen()) as updates:
            assert [text_of(await anext(updates)) for _ in range(2)] == ["second", "third"]


async def test_listening_ends_with_the_agent() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        agent.send(chunk(session.id, "before"))
        heard: list[str] = []

        async def take() -> None:
            heard.extend([text_of(update) async for update in session.listen()])

        taking = asyncio.create_task(take())
        await asyncio.sleep(0)
        agent.send(chunk(session.id, "last"))
        await agent.aclose()
        await taking
        assert heard == ["before", "last"]


async def test_listening_ends_with_the_session() -> None:
    async with raw_agent() as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        updates = session.listen()
        waiting = asyncio.create_task(anext(updates, None))
        await asyncio.sleep(0)
        session.leave()
        assert await waiting is None


async def test_one_may_listen_at_a_time() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        agent.send(chunk(session.id, "one"))
        first = session.listen()
        assert text_of(await anext(first)) == "one"
        with pytest.raises(LocalMistake):
            await anext(session.listen())
        await first.aclose()
        agent.send(chunk(session.id, "two"))
        second = session.listen()
        assert text_of(await anext(second)) == "two"
        await second.aclose()
