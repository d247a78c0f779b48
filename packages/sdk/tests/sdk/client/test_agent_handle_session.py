"""A session at the client: cancelling, closing, and what arrives outside of turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman import Agent, Client, Turn, connect
from dragoman.errors import CallFailed, LocalMistake, NotAdvertised
from dragoman.schema.v1 import (
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
)
from dragoman.sdk.client import agent_handle
from dragoman.sdk.client.side import ClientSide
from tests.runtime.raw import notification, result, until
from tests.sdk.ends import chunk, permission, raw_agent, text_of

CANCELLED = {"outcome": {"outcome": "cancelled"}}


async def test_a_cancelled_turn_is_read_to_its_end() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        asked = await agent.asks("session/prompt")
        agent.send(chunk("s1", "before "))
        await session.cancel()
        assert await agent.next() == notification("session/cancel", {"sessionId": "s1"})
        agent.send(chunk("s1", "after"), result(asked["id"], {"stopReason": "cancelled"}))
        ended = await asking
        assert (ended.stop_reason, ended.text) == ("cancelled", "before after")


async def test_cancelling_nothing_is_harmless() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        await session.cancel()
        agent.answers_to["session/prompt"] = {"stopReason": "end_turn"}
        assert (await session.prompt("go")).stop_reason == "end_turn"


def deciding(asked: list[RequestPermissionRequest], gate: asyncio.Event) -> Client:
    client = Client()

    @client.request_permission
    async def decide(question: RequestPermissionRequest) -> RequestPermissionResponse:
        asked.append(question)
        await gate.wait()
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id="yes"))

    return client


async def test_open_permissions_are_answered_cancelled_when_the_turn_is() -> None:
    asked: list[RequestPermissionRequest] = []
    async with raw_agent(deciding(asked, asyncio.Event())) as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        other = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        call = await agent.asks("session/prompt")
        agent.send(permission("a", "s1"), permission("b", "s1"), permission("c", other.id))
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(asked) == 3
        await session.cancel()
        # Before the agent hears of the cancel, or together with it; at any rate without the user.
        assert (await agent.answer_to("a"))["result"] == CANCELLED
        assert (await agent.answer_to("b"))["result"] == CANCELLED
        assert "c" not in [frame.get("id") for frame in agent.answers()]
        agent.send(result(call["id"], {"stopReason": "cancelled"}))
        await asking


async def test_permissions_that_cross_the_cancel_are_answered_cancelled_without_asking() -> None:
    asked: list[RequestPermissionRequest] = []
    gate = asyncio.Event()
    gate.set()
    async with raw_agent(deciding(asked, gate)) as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        call = await agent.asks("session/prompt")
        await session.cancel()
        agent.send(permission("a", "s1"))
        assert (await agent.answer_to("a"))["result"] == CANCELLED
        agent.send(result(call["id"], {"stopReason": "cancelled"}))
        await asking
        assert asked == []
        # The next turn is asked for again.
        asking = asyncio.ensure_future(session.prompt("go"))
        call = await agent.asks("session/prompt")
        agent.send(permission("b", "s1"))
        assert (await agent.answer_to("b"))["result"]["outcome"]["optionId"] == "yes"
        agent.send(result(call["id"], {"stopReason": "end_turn"}))
        await asking
        assert len(asked) == 1


async def test_between_two_of_ours_a_cancel_reaches_a_handler_that_waits_for_permission() -> None:
    agent = Agent("asks")
    outcomes: list[object] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Delete", tool_call_id="t") as call:
            outcomes.append(await call.ask())

    asked: list[RequestPermissionRequest] = []
    async with connect(agent, client=deciding(asked, asyncio.Event())) as handle:
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        await until(lambda: asked)
        await session.cancel()
        ended = await asking
    assert ended.stop_reason == "cancelled"
    assert ended.tool_calls["t"].status == "failed"
    assert not any(outcomes)


async def test_closing_in_the_middle_of_a_turn_ends_the_turn_first() -> None:
    agent = Agent("closes")
    log: list[str] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("working")
        try:
            await asyncio.Event().wait()
        finally:
            log.append("turn ended")

    @agent.close_session
    async def close(request: object) -> None:
        log.append("session closed")

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        asking.add_done_callback(lambda _: log.append("result"))
        await until(lambda: session.turn is not None and session.turn.is_hungry)
        await session.close()
        assert (await asking).stop_reason == "cancelled"
        assert log == ["turn ended", "session closed", "result"]
        with pytest.raises(LocalMistake, match="closed"):
            await session.prompt("again")
        assert handle.side.sessions == {}


async def test_a_prompt_that_arrives_while_its_session_closes_finds_no_session() -> None:
    agent = Agent("closes slowly")
    gate = asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("should not be")

    @agent.close_session
    async def close(request: object) -> None:
        await gate.wait()

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        closing = asyncio.create_task(session.close())
        await asyncio.sleep(0)
        asking = asyncio.ensure_future(session.prompt("go"))
        for _ in range(10):
            await asyncio.sleep(0)
        gate.set()
        await closing
        with pytest.raises(CallFailed) as failed:
            await asking
        assert failed.value.code == -32002


async def test_a_turn_that_outlives_the_close_of_its_session_is_read_to_its_end() -> None:
    closes: dict[str, Any] = {"sessionCapabilities": {"close": {}}}
    async with raw_agent(capabilities=closes) as (handle, agent):
        agent.answers_to["session/close"] = {}
        session = await handle.new_session(cwd="/tmp")
        asking = asyncio.ensure_future(session.prompt("go"))
        asked = await agent.asks("session/prompt")
        await session.close()
        agent.send(chunk("s1", "still here"), result(asked["id"], {"stopReason": "cancelled"}))
        assert (await asking).text == "still here"
        assert handle.side.sessions == {}


async def test_updates_between_turns_are_kept_for_whoever_looks() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        agent.send(chunk("s1", "one"))
        agent.answers_to["_ping"] = True
        await handle.call("_ping")
        agent.send(chunk("s1", "two"))
        await handle.call("_ping")
        assert [text_of(update) for update in session.late] == ["one", "two"]


async def test_updates_of_a_session_that_is_being_made_are_not_lost() -> None:
    heard: list[str] = []
    client = Client()

    @client.update
    def take(note: Any) -> None:
        heard.append(text_of(note.update))

    async with raw_agent(client) as (handle, agent):
        agent.answers_to["session/new"] = {"sessionId": "early"}
        agent.send(chunk("early", "one"), chunk("early", "two"))
        session = await handle.new_session(cwd="/tmp")
        agent.answers_to["_ping"] = True
        agent.send(chunk("early", "three"))
        await handle.call("_ping")
        assert [text_of(update) for update in session.late] == ["one", "two", "three"]
    assert heard == ["one", "two", "three"]


async def test_what_is_kept_outside_of_turns_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_handle, "LATE_BYTES", 100_000)
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        agent.answers_to["_ping"] = True
        for n in range(100):
            agent.send(chunk("s1", f"{n}" + "x" * 10_000))
            await handle.call("_ping")
        kept = [text_of(update) for update in session.late]
        assert 5 <= len(kept) <= 10
        assert kept[-1].startswith("99x")
        session.late.clear()
        agent.send(chunk("s1", "y" * 1_000_000))
        await handle.call("_ping")
        assert len(session.late) == 1  # one is kept however large it is


async def test_updates_for_sessions_that_nobody_opens_do_not_pile_up() -> None:
    async with raw_agent() as (handle, agent):
        agent.answers_to["_ping"] = True
        for n in range(80):
            agent.send(chunk(f"nobody{n}", "x" * 200_000))
            await handle.call("_ping")
        side = handle.side
        assert isinstance(side, ClientSide)
        assert side._orphan_bytes <= 8 * 1024 * 1024
        assert side.deviations >= 30


async def test_modes_and_options_are_set_and_remembered() -> None:
    agent = Agent("modes")
    seen: list[object] = []

    @agent.set_mode
    async def mode(request: SetSessionModeRequest) -> None:
        seen.append(request.mode_id)

    @agent.set_config_option
    async def option(request: SetSessionConfigOptionRequest) -> SetSessionConfigOptionResponse:
        seen.append(request)
        return SetSessionConfigOptionResponse(config_options=[])

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.set_mode("code")
        assert await session.set_config_option("model", "large") == []
        assert await session.set_config_option("fast", True) == []
        assert session.config_options == []
    assert seen[0] == "code"
    assert [getattr(request, "value", None) for request in seen[1:]] == ["large", True]


async def test_closing_is_refused_here_when_the_agent_cannot() -> None:
    async with raw_agent() as (handle, agent):
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(NotAdvertised) as refused:
            await session.close()
        assert refused.value.capability == "sessionCapabilities.close"
        assert "session/close" not in [frame.get("method") for frame in agent.seen]
