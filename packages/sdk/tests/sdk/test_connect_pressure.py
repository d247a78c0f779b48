"""A slow reader slows its own agent, keeps no more than it may, and can still ask and be answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman import Agent, Client, Limits, Turn, connect
from dragoman.schema.v1 import SessionNotification
from tests.runtime.raw import until
from tests.sdk.ends import text_of

KIBIBYTE = 1024
TEXT = "x" * KIBIBYTE
LIMITS = Limits(backlog_bytes=256 * KIBIBYTE, backlog_hard_bytes=1024 * KIBIBYTE)
MANY = 8 * 1024
"""Updates of a kibibyte each: eight times the hard limit."""
PIPE = 700 * KIBIBYTE
"""What may be under way besides: the outbox's high-water mark, a block being read, and their envelopes."""


def flooding(said: list[int]) -> Agent:
    """An agent that counts what it could say."""
    agent = Agent("flood")

    @agent.prompt
    async def flood(turn: Turn) -> None:
        count = MANY if turn.text == "flood" else 10
        for _ in range(count):
            await turn.say(TEXT)
            if turn.text == "flood":
                said[0] += 1

    @agent.extension("_ping")
    async def ping(params: Any) -> str:
        return "pong"

    return agent


async def settled(turns: int = 3000) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def test_a_reader_that_stops_stops_the_agent() -> None:
    said = [0]
    async with connect(flooding(said), limits=LIMITS) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("flood")
        updates = aiter(turn)
        assert text_of(await anext(updates)) == TEXT
        await settled()
        stopped_at = said[0]
        assert stopped_at * KIBIBYTE < LIMITS.backlog_bytes + PIPE
        await settled()
        assert said[0] == stopped_at
        assert turn.backlog < LIMITS.backlog_bytes + 100 * KIBIBYTE
        count = 1
        async for _ in updates:
            count += 1
        assert count == MANY
        assert turn.result.stop_reason == "end_turn"
        assert not handle.link.on_hold


async def test_a_reader_that_stops_and_asks_gets_its_answer() -> None:
    said = [0]
    async with connect(flooding(said), limits=LIMITS) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("flood")
        count = 0
        async for _ in turn:
            count += 1
            if count % 1000 == 1:
                await settled(300)
                assert await handle.call("_ping") == "pong"
        assert count == MANY


async def test_even_then_what_waits_is_bounded() -> None:
    agent = Agent("never answers")
    said = 0

    @agent.prompt
    async def flood(turn: Turn) -> None:
        nonlocal said
        for _ in range(MANY):
            await turn.say(TEXT)
            said += 1

    @agent.extension("_never")
    async def never(params: Any) -> None:
        await asyncio.Event().wait()

    async with connect(agent, limits=LIMITS) as handle:
        session = await handle.new_session(cwd="/tmp")
        updates = aiter(session.prompt("flood"))
        await anext(updates)
        asking = asyncio.create_task(handle.call("_never"))
        await settled()
        assert said * KIBIBYTE < LIMITS.backlog_hard_bytes + PIPE
        asking.cancel()
        await asyncio.wait((asking,))
        async for _ in updates:
            pass


async def test_a_slow_reader_does_not_starve_another_session() -> None:
    said = [0]
    async with connect(flooding(said), limits=LIMITS) as handle:
        slow, quick = await handle.new_session(cwd="/tmp"), await handle.new_session(cwd="/tmp")
        updates = aiter(slow.prompt("flood"))
        await anext(updates)
        await settled(500)  # it is behind, and we have stopped reading
        for _ in range(3):
            assert (await quick.prompt("brief")).text == TEXT * 10
        async for _ in updates:
            pass


async def test_a_turn_inside_of_the_loop_of_another_ends() -> None:
    said = [0]
    async with connect(flooding(said), limits=LIMITS) as handle:
        outer, inner = await handle.new_session(cwd="/tmp"), await handle.new_session(cwd="/tmp")
        count = 0
        async for _ in outer.prompt("flood"):
            count += 1
            if count == 1:
                await settled(500)
                assert (await inner.prompt("brief")).stop_reason == "end_turn"
        assert count == MANY


@pytest.mark.bound(20)
async def test_a_slow_update_handler_slows_the_agent_and_everything_arrives() -> None:
    said, handled = [0], 0
    client = Client()

    @client.update
    async def take(note: SessionNotification) -> None:
        nonlocal handled
        await asyncio.sleep(0)
        handled += 1

    async with connect(flooding(said), client=client, limits=LIMITS) as handle:
        session = await handle.new_session(cwd="/tmp")
        most = 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, handle.link.lanes.size)
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        assert (await session.prompt("flood")).stop_reason == "end_turn"
        watching.cancel()
        await asyncio.wait((watching,))
        assert handled == MANY
        assert most < LIMITS.backlog_hard_bytes + 100 * KIBIBYTE


async def test_an_update_handler_that_asks_while_we_do_not_read_gets_its_answer() -> None:
    said, handled = [0], 0
    client = Client()

    @client.update
    async def take(note: SessionNotification, agent: Any) -> None:
        nonlocal handled
        handled += 1
        if handled % 500 == 1:
            assert await agent.call("_ping") == "pong"

    async with connect(flooding(said), client=client, limits=LIMITS) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("flood")).stop_reason == "end_turn"
    assert handled == MANY


async def test_leaving_a_turn_early_lets_the_conversation_go_on() -> None:
    said = [0]
    async with connect(flooding(said), limits=LIMITS) as handle:
        session = await handle.new_session(cwd="/tmp")
        updates = aiter(session.prompt("flood"))
        await anext(updates)
        await settled(500)
        await updates.aclose()
        assert (await session.prompt("brief")).text == TEXT * 10
    assert said[0] < MANY


async def test_the_agent_waits_while_the_client_does_not_take_its_words() -> None:
    # The same from the agent's side: what it has said and nobody has read is bounded.
    said = [0]
    async with connect(flooding(said), limits=LIMITS) as handle:
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("flood"))
        await asyncio.sleep(0)
        handle.link.hold("the test")
        await settled()
        assert said[0] * KIBIBYTE < LIMITS.backlog_bytes + PIPE
        handle.link.listen("the test")
        assert (await asking).stop_reason == "end_turn"


async def test_an_agent_whose_notification_handler_is_slow_stops_reading_and_loses_nothing() -> None:
    agent = Agent("slow listener")
    gate = asyncio.Event()
    heard: list[int] = []

    @agent.extension("_told")
    async def told(params: Any) -> None:
        await gate.wait()
        heard.append(params["n"])

    async with connect(agent, limits=LIMITS) as handle:
        sent = 0

        async def flood() -> None:
            nonlocal sent
            for n in range(MANY):
                await handle.notify("_told", {"n": n, "text": TEXT})
                sent += 1

        flooding = asyncio.create_task(flood())
        await settled()
        assert sent * KIBIBYTE < LIMITS.backlog_bytes + PIPE
        gate.set()
        await flooding
        await until(lambda: len(heard) == MANY)
    assert heard == list(range(MANY))
