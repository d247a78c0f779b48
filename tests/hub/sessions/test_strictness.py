"""What a hub refuses because it is wrong, and what it takes up again because it was only closed."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Agent, ClientHandle, Turn
from dragoman.schema import v1
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged

pytestmark = pytest.mark.bound(25)


@pytest.mark.parametrize("version", [None, "1", 1.5, -1, 65536, True, [1]])
async def test_a_version_that_is_none_is_refused(version: Any) -> None:
    async with staged({"one": obedient}) as stage:
        client = stage.client()
        params = {} if version is None else {"protocolVersion": version}
        assert (await client.refusal("initialize", params))["code"] == -32602
        await client.begin()  # it may try again


async def test_params_of_the_wrong_kind_are_refused_as_such() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("session/list", {"cwd": 7}),
            ("session/list", {"cursor": []}),
            ("session/load", {"sessionId": session, "cwd": 7, "mcpServers": []}),
            ("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": "none"}),
            ("session/new", {"cwd": "/tmp", "mcpServers": [], "additionalDirectories": [7]}),
            ("session/close", {"sessionId": {}}),
        ]
        for method, params in wrong:
            assert (await client.refusal(method, params))["code"] == -32602, method


def closing(known: set[str]) -> Agent:
    """Forgets what is closed, and remembers what is loaded."""
    agent = Agent("closing")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        assert turn.session.id in known
        await turn.say("here")

    @agent.load_session
    async def load(message: v1.LoadSessionRequest, client: ClientHandle) -> None:
        known.add(message.session_id)

    @agent.close_session
    async def close(message: v1.CloseSessionRequest, client: ClientHandle) -> None:
        known.discard(message.session_id)

    return agent


async def test_a_session_that_was_closed_is_brought_back_to_its_agent() -> None:
    known: set[str] = set()
    async with staged({"one": lambda: closing(known)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        known.add(session)
        assert "result" in await client.answer(client.prompt(session, "one"))
        await client.call("session/close", {"sessionId": session})
        assert not known
        assert (await client.answer(client.prompt(session, "no")))["error"]["code"] == -32002
        await client.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert "result" in await client.answer(client.prompt(session, "two"))
        assert known == {session}


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"result": {}},
        {"result": {"outcome": "allow"}},
        {"result": {"outcome": {"outcome": "selected", "optionId": "not offered"}}},
        {"error": {"code": -32603, "message": "Internal error"}},
    ],
)
async def test_an_answer_that_chooses_nothing_leaves_the_question_to_others(answer: dict[str, Any]) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        turn = client.prompt(session, "ask")
        client.say({"id": (await client.asked())["id"], **answer})
        other = await stage.client().begin()
        await other.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        other.allow(await other.asked())
        assert "result" in await client.answer(turn)
        assert client.texts() == ["yes"]
