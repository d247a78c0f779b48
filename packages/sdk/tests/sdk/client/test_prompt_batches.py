"""Updates by the list, and the text that a turn keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from dragoman import Agent, Session, Turn, blocking, connect
from dragoman.errors import LocalMistake
from dragoman.schema.v1 import AgentMessageChunk, SessionUpdate
from tests.runtime.raw import result
from tests.sdk.ends import RawAgent, chunk, raw_agent, text_of

END = {"stopReason": "end_turn"}
WORDS = ["Grüße, ", "“quoted” ", "文件 ", "😀 ", "plain\n"]

agent = Agent("talker")


@agent.prompt
async def talk(turn: Turn) -> None:
    await turn.think("hm")
    for word in WORDS:
        await turn.say(word)
    async with turn.tool("Look"):
        pass


async def told_in_two_blocks(session: Session, peer: RawAgent) -> list[list[str]]:
    turn = session.prompt("go")
    reading = asyncio.create_task(collect(turn.batches()))
    asked = await peer.asks("session/prompt")
    peer.send(chunk(session.id, "a"), chunk(session.id, "b"))
    for _ in range(5):
        await asyncio.sleep(0)
    peer.send(chunk(session.id, "c"))
    peer.send(result(asked["id"], END))
    return [[text_of(update) for update in batch] for batch in await reading]


async def collect(batches: AsyncIterator[list[SessionUpdate]]) -> list[list[SessionUpdate]]:
    return [batch async for batch in batches]


async def test_updates_that_arrive_together_are_one_list() -> None:
    async with raw_agent() as (handle, peer):
        session = await handle.new_session(cwd="/tmp")
        assert await told_in_two_blocks(session, peer) == [["a", "b"], ["c"]]


@pytest.mark.parametrize("keep_text", [True, False])
async def test_batches_hold_every_update_in_order_and_keep_text_only_if_wanted(keep_text: bool) -> None:
    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("go")
        updates = [update async for batch in turn.batches(keep_text=keep_text) for update in batch]
        assert [text_of(u) for u in updates if isinstance(u, AgentMessageChunk)] == WORDS
        assert turn.result.text == ("".join(WORDS) if keep_text else "")
        assert len(turn.result.tool_calls) == 1


async def test_a_turn_is_read_once_by_batches_or_otherwise() -> None:
    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("go")
        await turn
        with pytest.raises(LocalMistake, match="only once"):
            await collect(turn.batches())


async def test_who_leaves_the_batches_early_cancels_the_turn() -> None:
    async with raw_agent() as (handle, peer):
        session = await handle.new_session(cwd="/tmp")
        batches = session.prompt("go").batches()
        first = asyncio.ensure_future(anext(batches))
        asked = await peer.asks("session/prompt")
        peer.send(chunk(session.id, "a"), chunk(session.id, "b"))
        assert len(await first) == 2
        await batches.aclose()
        await peer.asks("session/cancel")
        peer.send(result(asked["id"], {"stopReason": "cancelled"}))


def test_code_without_await_reads_batches_too() -> None:
    with blocking.connect(agent) as handle:
        turn = handle.new_session(cwd="/tmp").prompt("go")
        updates = [update for batch in turn.batches(keep_text=True) for update in batch]
        assert [text_of(u) for u in updates if isinstance(u, AgentMessageChunk)] == WORDS
        assert turn.result.text == "".join(WORDS)


async def test_the_text_of_a_turn_is_kept_as_utf_8() -> None:
    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        kept = await session.prompt("go")
        assert kept.text == "".join(WORDS)
        assert kept.utf8 == "".join(WORDS).encode()
        assert (await session.prompt("go", keep_text=False)).utf8 == b""
