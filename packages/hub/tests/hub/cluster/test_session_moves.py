"""Sessions that go from under a node: one of them is open, and what was begun in it has an honest end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from dragoman.errors import JournalError
from dragoman_hub.agents.process import AgentProcess
from dragoman_hub.engine import bounds
from dragoman_hub.engine import log as hub_log
from dragoman_hub.engine.live_session import LiveSession
from dragoman_local.journal import StreamInfo
from tests.hub.cluster.together import nodes
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged

pytestmark = pytest.mark.bound(25)

Info = Callable[[str], Coroutine[Any, Any, StreamInfo | None]]

LOAD = {"cwd": "/tmp", "mcpServers": []}


async def test_a_turn_whose_session_was_lost_is_ended_though_its_agent_lives_on() -> None:
    gate = Gate()
    async with nodes("a", agents={"one": lambda: obedient(gate)}) as group:
        node = group["a"]
        client = await node.client().begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        node.cluster.on_lost(session)
        other = await node.client().begin()
        await other.call("session/load", {"sessionId": session, **LOAD})
        stored = [one async for page in node.journal.replay(session) for one in page]
        ended = [one.frame for one in stored if one.frame.startswith(b'{"hub":"turn_ended"')]
        assert len(ended) == 1
        assert b"the turn was cut short" in ended[0]
        assert (await other.answer(other.prompt(session, "say 2")))["result"] == {"stopReason": "end_turn"}
        assert other.texts(session=session)[-2:] == ["0 ", "1 "]
        assert gate.cancelled == 1


async def test_a_session_that_is_lost_while_it_cannot_store_holds_nobody_else_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = Gate()
    monkeypatch.setattr(hub_log, "UNCOUNTED_BYTES", 0)
    monkeypatch.setattr(bounds, "UNSTORED", bounds.TrafficLimits(1, 1, 1))
    async with nodes("a", agents={"one": lambda: obedient(gate)}) as group:
        node = group["a"]
        client = await node.client().begin()
        stuck, other = await client.new(), await client.new()
        client.prompt(stuck, "wait")
        await gate.waiting.wait()
        append, full = node.journal.append, asyncio.Event()

        async def blocked(stream: str, entries: Any, *, after: int | None = None) -> int:
            if stream == stuck:
                full.set()
                await asyncio.Event().wait()
            return await append(stream, entries, after=after)

        monkeypatch.setattr(node.journal, "append", blocked)
        process = node.hub.sessions[stuck].process
        assert isinstance(process, AgentProcess)
        gate.open.set()
        await full.wait()
        node.cluster.on_lost(stuck)
        assert (await client.answer(client.prompt(other, "say 2")))["result"] == {"stopReason": "end_turn"}
        assert client.texts(session=other) == ["0 ", "1 "]
        assert not process._receipts  # all that the agent said is acknowledged


async def test_who_comes_while_an_opening_fails_does_not_open_the_session_a_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        await stage.crash()
        await stage.start()
        hub, opened = stage.hub, []
        monkeypatch.setattr(stage.journal, "info", failing_once(stage.journal.info))

        async def open_it(*, then: Callable[[], Awaitable[None]] | None = None) -> None:
            try:
                opened.append(await hub.session(session))
            except JournalError:
                assert then is not None
                await then()

        await asyncio.gather(open_it(then=open_it), open_it())
        one, other = opened
        assert isinstance(one, LiveSession)
        assert one is other


def failing_once(info: Info) -> Info:
    failed = False

    async def fails_once(stream: str) -> StreamInfo | None:
        nonlocal failed
        await asyncio.sleep(0)
        if not failed:
            failed = True
            raise JournalError("not now")
        return await info(stream)

    return fails_once
