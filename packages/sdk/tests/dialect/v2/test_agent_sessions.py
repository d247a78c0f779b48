"""Opening, listing and closing sessions of a v2 agent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.v2.agent_stage import WELCOME, Stage, answer, text
from tests.every import every

STDIO = {"name": "net", "command": "/bin/net", "args": ["-v"], "env": []}
HTTP = {"type": "http", "name": "sky", "url": "http://127.0.0.1:1/", "headers": []}


def test_mcp_servers_say_their_type() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/new", cwd="/pond", mcpServers=[STDIO, HTTP], additionalDirectories=["/lake"])
    (asked,) = stage.heard_by_agent
    assert asked["params"] == {
        "cwd": "/pond",
        "mcpServers": [{"type": "stdio", **STDIO}, HTTP],
        "additionalDirectories": ["/lake"],
    }


@pytest.mark.parametrize(
    ("server", "lost"),
    [
        (
            {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/", "headers": []},
            "an MCP server over SSE",
        ),
        (STDIO, "an MCP server that the agent should start"),
    ],
)
def test_a_server_that_the_agent_cannot_have_is_refused(server: dict[str, Any], lost: str) -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    stage.agent_answers(1, {**WELCOME, "capabilities": {"session": {"mcp": {"http": {}}}}})
    stage.forget()
    stage.client(3, "session/new", cwd="/pond", mcpServers=[server])
    assert stage.heard_by_agent == []
    assert stage.heard_by_client[0]["error"]["code"] == -32602
    assert stage.losses == [lost]


def test_loading_is_resuming_from_the_start() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/load", sessionId="old", cwd="/pond", mcpServers=[])
    stage.client(4, "session/resume", sessionId="older", cwd="/pond")
    load, resume = stage.heard_by_agent
    assert (load["method"], resume["method"]) == ("session/resume", "session/resume")
    assert load["params"] == {
        "sessionId": "old",
        "cwd": "/pond",
        "mcpServers": [],
        "replayFrom": {"type": "start"},
    }
    assert "replayFrom" not in resume["params"]
    told = {"sessionUpdate": "agent_message", "messageId": "a", "content": [text("as I said")]}
    stage.agent_tells("session/update", sessionId="old", update=told)
    stage.agent_tells(
        "session/update", sessionId="old", update={"sessionUpdate": "state_update", "state": "idle"}
    )
    stage.agent_answers(3, {"configOptions": []})
    replayed, loaded = stage.heard_by_client
    assert replayed["params"]["update"]["content"] == text("as I said")
    assert loaded == answer(3, {"configOptions": []})


def test_updates_of_a_session_that_the_client_does_not_know_yet_come_after_its_name() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/new", cwd="/pond", mcpServers=[])
    for title in ("Pond", "Lake"):
        update = {"sessionUpdate": "session_info_update", "title": title}
        stage.agent_tells("session/update", sessionId="t", update=update)
    assert stage.heard_by_client == []
    stage.agent_answers(3, {"sessionId": "t"})
    named, *told = stage.heard_by_client
    assert named == answer(3, {"sessionId": "t"})
    assert [frame["params"]["update"]["title"] for frame in told] == ["Pond", "Lake"]


def test_an_opening_that_fails_lets_the_rest_go_on() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/new", cwd="/pond", mcpServers=[])
    update = {"sessionUpdate": "session_info_update", "title": "Other"}
    stage.agent_tells("session/update", sessionId="other", update=update)
    error = {"code": -32000, "message": "log in"}
    stage.agent_answers(3, error=error)
    failed, told = stage.heard_by_client
    assert failed == answer(3, None, error)
    assert told["params"]["update"] == update


@pytest.mark.parametrize("result", [{}, {"sessionId": 5}, None])
def test_a_session_without_an_id_is_none(result: Any) -> None:
    stage = Stage(open=True)
    stage.client(3, "session/new", cwd="/pond", mcpServers=[])
    stage.agent_answers(3, result)
    (told,) = stage.heard_by_client
    assert (told["id"], told["error"]["code"]) == (3, -32603)


def test_a_forked_session_is_new() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/fork", sessionId="s", cwd="/pond", mcpServers=[STDIO])
    assert stage.heard_by_agent[0]["params"]["mcpServers"] == [{"type": "stdio", **STDIO}]
    stage.agent_answers(3, {"sessionId": "f", "availableCommands": []})
    named, commands = stage.heard_by_client
    assert named == answer(3, {"sessionId": "f"})
    assert commands["params"]["sessionId"] == "f"


def test_lists_pass_without_what_is_no_session() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/list", cwd="/pond")
    good = {"sessionId": "s", "cwd": "/pond", "updatedAt": "2031-01-01T00:00:00Z"}
    stage.agent_answers(3, {"sessions": [good, {"cwd": "/lake"}], "nextCursor": None})
    assert stage.heard_by_client == [answer(3, {"sessions": [good]})]
    assert stage.losses == ["a malformed session in the list"]
    stage.client(4, "session/list")
    stage.agent_answers(4, {"sessions": [good], "nextCursor": "n"})
    assert stage.heard_by_client == [answer(4, {"sessions": [good], "nextCursor": "n"})]


def test_a_closed_session_is_forgotten() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", toolCallId="c")
    stage.client(3, "session/delete", sessionId="s")
    stage.agent_answers(3, None)
    stage.forget()
    stage.updates("tool_call_update", toolCallId="c")
    assert [update["sessionUpdate"] for update in stage.shown] == ["tool_call"]


@every(
    ("error", "told"),
    [
        ({"code": -32002, "message": "gone", "data": {"sessionId": "x"}}, None),
        ({"code": -32022, "message": "odd"}, {"code": -32603, "message": "odd"}),
        ({"message": 5}, {"code": -32603, "message": "Internal error: the agent failed"}),
        ("wrong", {"code": -32603, "message": "Internal error: the agent failed"}),
    ],
)
def test_errors_are_errors_of_v1(error: Any, told: Any) -> None:
    stage = Stage(open=True)
    stage.client(3, "session/resume", sessionId="x", cwd="/pond")
    stage.agent_answers(3, error=error)
    assert stage.heard_by_client == [answer(3, None, told or error)]


def test_an_answer_to_nothing_is_nobodys() -> None:
    stage = Stage(open=True)
    stage.agent_answers(77, {})
    stage.client_answers(78, {})
    stage.agent_answers(None, error={"code": -32700, "message": "what?"})
    assert [frame["id"] for frame in stage.heard_by_client] == [None]
    assert stage.heard_by_agent == []
    assert stage.losses == ["an answer to nothing that was asked"]
