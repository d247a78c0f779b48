"""What a screen of many sessions is told of each: its last line, its turn, its cost, and what it changed."""

from __future__ import annotations

import asyncio

import pytest

from dragoman import Agent, Turn
from dragoman.schema.v1 import Cost, UsageUpdate
from dragoman.wire import notification
from dragoman_hub.clients.session_progress import LINE, last_line
from dragoman_hub.gate.admission import Grant
from dragoman_hub.session.frames import encode_json
from dragoman_hub.session.notes import note
from dragoman_local.journal import StoredEntry
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Talker, staged

PROGRESS = "_dragoman/hub/progress"


def spender() -> Agent:
    agent = Agent("spender")

    @agent.prompt
    async def spend(turn: Turn) -> None:
        await turn.say("First line\n\nThe last ")
        await turn.say("line\n")
        await turn.update(UsageUpdate(used=5, size=10, cost=Cost(amount=0.5, currency="USD")))

    return agent


async def progress_of(client: Talker, *sessions: str) -> list[dict[str, object]]:
    answer = await client.call(PROGRESS, {"sessionIds": list(sessions)})
    found: list[dict[str, object]] = answer["progress"]
    return found


async def test_the_last_line_and_the_cost_of_each_session_are_told_in_the_order_asked() -> None:
    async with staged({"one": spender}) as stage:
        client = await stage.client().begin()
        first, second = await client.new(), await client.new()
        await client.answer(client.prompt(first, "go"))
        found = await progress_of(client, second, first, "nobody", first)
    assert [one["sessionId"] for one in found] == [second, first]
    assert "line" not in found[0]
    line = found[1]["line"]
    assert isinstance(line, dict)
    assert (line["kind"], line["text"]) == ("message", "The last line")
    assert found[1]["usage"] == {"used": 5, "size": 10, "cost": {"amount": 0.5, "currency": "USD"}}
    assert "turnStarted" not in found[1]


async def test_a_running_turn_says_since_when_and_an_ended_one_does_not() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        prompt = client.prompt(session, "wait")
        await asyncio.wait_for(gate.waiting.wait(), 20)
        running = (await progress_of(client, session))[0]
        gate.open.set()
        await client.answer(prompt)
        ended = (await progress_of(client, session))[0]
    assert isinstance(running["turnStarted"], float)
    assert "turnStarted" not in ended


async def test_a_token_hears_nothing_of_sessions_that_it_may_not_see() -> None:
    async with staged({"one": spender}) as stage:
        owner = await stage.client().begin()
        session = await owner.new("/tmp")
        stranger = await stage.client(Grant("stranger", frozenset({"observe"}), roots=("/usr",))).begin()
        assert await progress_of(stranger, session) == []
        assert [one["sessionId"] for one in await progress_of(owner, session)] == [session]


def test_a_failure_is_the_last_line_and_a_long_line_keeps_its_end() -> None:
    chunk = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": f"{'x' * 500} end"},
    }
    frame = notification("session/update", encode_json({"update": chunk}))[:-1]
    spoken = StoredEntry(1, "to_client", frame, 1.0)
    failed = StoredEntry(
        2, "note", note("turn_ended", key="k", error={"code": 1, "message": "no credit"}), 2.0
    )
    long_line = last_line([spoken])
    assert long_line is not None
    assert long_line["text"].startswith("…x")
    assert long_line["text"].endswith(" end")
    assert len(long_line["text"]) == LINE + 1
    assert last_line([spoken, failed]) == {"kind": "error", "text": "no credit", "time": 2.0}
    assert last_line([StoredEntry(1, "note", note("renamed", title="t"), 1.0)]) is None


@pytest.mark.parametrize("names", [None, "session", [1]])
async def test_a_list_that_is_none_is_refused(names: object) -> None:
    async with staged({"one": spender}) as stage:
        client = await stage.client().begin()
        assert (await client.refusal(PROGRESS, {"sessionIds": names}))["code"] == -32602
