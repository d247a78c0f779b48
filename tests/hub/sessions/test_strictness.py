"""What a hub refuses because it is wrong, and what it takes up again because it was only closed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import Agent, ClientHandle, Turn
from dragoman.schema import v1
from dragoman.schema.codec import examine
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.raw_agents import eventually, raw_stage
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


UNREADABLE: list[tuple[str, dict[str, Any]]] = [
    ("session/request_permission", {"toolCall": {"toolCallId": "1"}}),
    ("session/request_permission", {"toolCall": None, "options": []}),
    ("session/request_permission", {"toolCall": {"toolCallId": "1"}, "options": [{"optionId": "yes"}]}),
    ("elicitation/create", {"mode": "form", "message": "Who?"}),
    ("fs/read_text_file", {"path": "/tmp/x", "line": -1}),
    ("fs/write_text_file", {"path": None, "content": ""}),
    ("terminal/create", {"command": ["ls"]}),
]


async def test_an_agent_that_asks_what_nobody_can_read_is_told_so_and_nobody_else_is_asked() -> None:
    async with raw_stage("one") as (stage, _):
        client = await stage.client().begin(elicitation={"form": {}})
        prompt = client.prompt(await client.new(), "go")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        for number, (method, params) in enumerate(UNREADABLE):
            agent.ask(f"q{number}", method, agent.prompts[0]["params"]["sessionId"], **params)
        await eventually(lambda: len(agent.answers) == len(UNREADABLE))
        assert {answer["error"]["code"] for answer in agent.answers.values()} == {-32602}
        agent.end_turn()
        await client.answer(prompt)
        assert not [message for message in client.heard if "method" in message]


@pytest.mark.parametrize("nothing", [None, [], "none"])
async def test_the_introduction_of_an_agent_is_told_in_its_proper_form(nothing: Any) -> None:
    capabilities = {"promptCapabilities": nothing, "mcpCapabilities": nothing}
    introduction = {"authMethods": nothing, "agentInfo": nothing}
    async with raw_stage("one", capabilities=capabilities, introduction=introduction) as (stage, _):
        params = {"protocolVersion": 1, "clientCapabilities": {}}
        answer = await stage.client().call("initialize", params)
        _, deviations = examine(json.dumps(answer).encode(), v1.InitializeResponse)
        assert not deviations


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
