"""A session is read from any place of it, in either direction, and says where its turns begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.schema.v1 import StopReason
from dragoman_hub.clients import session_history
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Talker, staged

HISTORY = "_dragoman/hub/history"
TURNS = "_dragoman/hub/turns"


def talker() -> Agent:
    agent = Agent("talker")

    @agent.prompt
    async def talk(turn: Turn) -> StopReason | None:
        for number in range(30):
            await turn.say(f"{turn.text} {number}")
        if turn.text == "break":
            raise ValueError("it broke")
        return "max_tokens" if turn.text == "stop" else None

    return agent


async def all_pages(
    client: Talker, session: str, ask: Callable[[dict[str, Any]], dict[str, Any]]
) -> list[Any]:
    """Every page that `ask` makes a request of, given the answer before it."""
    pages: list[Any] = []
    answer: dict[str, Any] = {"messages": [], "more": True}
    for _ in range(200):
        if not answer["more"]:
            return pages
        answer = await client.call(HISTORY, {"sessionId": session, "limit": 7, **ask(answer)})
        pages.append(answer["messages"])
    raise AssertionError("there is always more")


async def test_pages_from_the_start_are_the_same_messages_as_pages_from_the_end() -> None:
    async with staged({"one": talker}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        for text in ("one", "two"):
            await client.answer(client.prompt(session, text))
        whole = (await client.call(HISTORY, {"sessionId": session}))["messages"]
        forwards = await all_pages(client, session, lambda answer: {"after": answer.get("cursor", "0")})

        def before(answer: dict[str, Any]) -> dict[str, Any]:
            return {"before": answer["messages"][0]["cursor"]} if answer["messages"] else {}

        backwards = await all_pages(client, session, before)
    assert len(whole) > 60
    assert [message for page in forwards for message in page] == whole
    assert [message for page in reversed(backwards) for message in page] == whole


async def test_a_page_behind_a_place_ends_where_it_is_too_large_and_the_next_goes_on_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_history, "HISTORY_BYTES", 900)
    async with staged({"one": talker}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "one"))
        forwards = await all_pages(client, session, lambda answer: {"after": answer.get("cursor", "0")})
        refusal = await client.refusal(HISTORY, {"sessionId": session, "after": "100000"})
    texts = [
        message["message"]["params"]["update"]["content"]["text"]
        for page in forwards
        for message in page
        if message["message"]["params"].get("update", {}).get("sessionUpdate") == "agent_message_chunk"
    ]
    assert texts == [f"one {number}" for number in range(30)]
    assert max(map(len, forwards)) < 7
    assert refusal["code"] == -32602


async def test_each_turn_is_told_with_where_it_begins_and_how_it_went() -> None:
    async with staged({"one": talker}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "a  prompt\nof two lines"))
        first = (await client.call(TURNS, {"sessionId": session}))["turns"]
        await client.answer(client.prompt(session, "stop"))
        await client.answer(client.prompt(session, "break"))
        turns = (await client.call(TURNS, {"sessionId": session}))["turns"]
        again = (await client.call(TURNS, {"sessionId": session}))["turns"]
        start = await client.call(
            HISTORY, {"sessionId": session, "after": str(int(turns[1]["cursor"]) - 1), "limit": 1}
        )
    assert [(turn["title"], turn["state"]) for turn in turns] == [
        ("a prompt of two lines", "done"),
        ("stop", "stopped"),
        ("break", "failed"),
    ]
    assert turns[:1] == first
    assert again == turns
    assert start["messages"][-1]["message"]["params"]["event"] == "turn_started"


async def test_a_turn_that_has_not_ended_is_told_as_running() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        prompt = client.prompt(session, "wait")
        await asyncio.wait_for(gate.waiting.wait(), 20)
        running = (await client.call(TURNS, {"sessionId": session}))["turns"]
        gate.open.set()
        await client.answer(prompt)
        ended = (await client.call(TURNS, {"sessionId": session}))["turns"]
    assert [turn["state"] for turn in (*running, *ended)] == ["running", "done"]


async def test_a_turn_goes_on_though_a_prompt_behind_it_is_withdrawn() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        prompt = client.prompt(session, "wait", key="k")
        await asyncio.wait_for(gate.waiting.wait(), 20)
        waiting = client.prompt(session, "say 1", key="l")
        await client.call("_dragoman/hub/queue/withdraw", {"sessionId": session, "key": "l"})
        await client.answer(waiting)
        turns = (await client.call(TURNS, {"sessionId": session}))["turns"]
        assert [(turn["title"], turn["state"]) for turn in turns] == [("wait", "running")]
        gate.open.set()
        await client.answer(prompt)
