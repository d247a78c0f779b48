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


@pytest.mark.parametrize(
    "folders", [{"cwd": "src"}, {"cwd": "~/src"}, {"cwd": "/tmp", "additionalDirectories": ["/tmp", "./src"]}]
)
async def test_a_session_in_a_relative_folder_is_refused_and_no_agent_hears_of_it(
    folders: dict[str, Any],
) -> None:
    async with raw_stage("one") as (_, client):
        error = await client.refusal("session/new", {"mcpServers": [], **folders})
        assert (error["code"], "must be absolute" in error["message"]) == (-32602, True)
        session = await client.new("C:\\work")
        assert session == "one-1"  # absolute where that agent is
        for method in ("session/load", "session/resume", "session/fork"):
            error = await client.refusal(method, {"sessionId": session, "mcpServers": [], **folders})
            assert (error["code"], "must be absolute" in error["message"]) == (-32602, True), method
        await client.call("session/load", {"sessionId": session, "cwd": "", "mcpServers": []})


async def test_a_request_without_a_version_is_refused_under_its_id() -> None:
    async with raw_stage("one") as (_, client):
        client.transport.write(b'{"id":"old","method":"session/list","params":{}}\n')
        answer = await client.until(lambda message: message.get("id") == "old")
        assert answer["error"]["code"] == -32600
        assert await client.call("session/list") == {"sessions": []}


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "session/set_mode": ({"modeId": "fast"}, {}, {"currentModeId": "fast"}),
    "session/set_config_option": (
        {"configId": "x", "value": "fast"},
        {"configOptions": [{"id": "x", "currentValue": "fast"}]},
        {"configOptions": [{"id": "x", "currentValue": "fast"}]},
    ),
}
"""What a client asks for, what the agent answers, and what an update says of it then."""


@pytest.mark.parametrize("agent_tells", [True, False])
@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("session/set_mode", "current_mode_update"),
        ("session/set_config_option", "config_option_update"),
    ],
)
async def test_a_change_is_told_once_whether_its_agent_tells_it_or_not(
    method: str, kind: str, agent_tells: bool
) -> None:
    params, result, update = CHANGES[method]
    async with raw_stage("one") as (stage, client):
        session = await client.new()
        other = await stage.client().begin()
        await other.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        agent = stage.agents["one"]
        request = client.ask(method, {"sessionId": session, **params})
        await eventually(lambda: agent.calls)
        if agent_tells:
            note = {"sessionId": session, "update": {"sessionUpdate": kind, **update}}
            agent.say(method="session/update", params=note)
        agent.say(id=agent.calls[0]["id"], result=result)
        assert (await client.answer(request))["result"] == result
        agent.tell(session, "and on")
        for listener in (client, other):
            await listener.until(lambda message: "and on" in str(message))
            updates = [
                message["params"]["update"]
                for message in listener.heard
                if message.get("method") == "session/update"
            ]
            assert [found for found in updates if found["sessionUpdate"] == kind] == [
                {"sessionUpdate": kind, **update}
            ]
        late = await stage.client().begin()
        load = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        options = (await late.call("session/load", load)).get("configOptions")
        assert options == update.get("configOptions")


async def test_secrets_in_an_agents_error_are_covered_and_the_rest_is_as_it_was_said() -> None:
    key = "ghp_" + "a1B2" * 9
    error = {"code": -32050, "message": f"{key} is bad", "data": {"why": [f"no {key}"], "apiKey": "word"}}
    covered = {
        "code": -32050,
        "message": "[redacted] is bad",
        "data": {"why": ["no [redacted]"], "apiKey": "[redacted]"},
    }
    async with raw_stage("one") as (stage, client):
        session = await client.new()
        agent = stage.agents["one"]
        prompt = client.prompt(session, "go")
        call = client.ask("session/set_mode", {"sessionId": session, "modeId": "fast"})
        await eventually(lambda: agent.prompts and agent.calls)
        agent.say(id=agent.prompts[0]["id"], error=error)
        agent.say(id=agent.calls[0]["id"], error=error)
        assert (await client.answer(prompt))["error"] == covered
        assert (await client.answer(call))["error"] == covered


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
