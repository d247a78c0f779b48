"""A v1 client's files and terminals for a v2 agent: what edge and host say to each other."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.edge import EdgeSettings
from tests.dialect.v2.agent_stage import WELCOME, Stage, answer, request

FILES = {"fs": {"readTextFile": True}, "terminal": True}
SERVER = {"name": "client", "command": "/bin/tools", "args": [], "env": []}


def lending(capabilities: dict[str, Any] | None = None, welcome: dict[str, Any] = WELCOME) -> Stage:
    stage = Stage(settings=EdgeSettings(client_tools=True))
    stage.client(1, "initialize", protocolVersion=1, clientCapabilities=capabilities or FILES)
    stage.agent_answers(1, welcome)
    stage.forget()
    return stage


def opened(stage: Stage) -> None:
    stage.client(2, "session/new", cwd="/pond", mcpServers=[])
    (offer,) = stage.heard_by_host
    stage.host(answer(offer["id"], {"server": SERVER}))
    stage.agent_answers(2, {"sessionId": "s"})


def test_a_session_waits_for_its_server() -> None:
    stage = lending()
    stage.client(2, "session/new", cwd="/pond", mcpServers=[])
    assert stage.heard_by_agent == []
    assert stage.edge.holding
    (offer,) = stage.heard_by_host
    assert offer["method"] == "client_tools/offer"
    assert offer["params"] == {"tools": ["read_text_file", "run_command"]}
    stage.host(answer(offer["id"], {"server": SERVER}))
    assert [stage.edge.holding] == [False]
    (asked,) = stage.heard_by_agent
    assert asked["params"]["mcpServers"] == [{"type": "stdio", **SERVER}]
    stage.agent_answers(2, {"sessionId": "s"})
    (bound,) = stage.heard_by_host
    assert (bound["method"], bound["params"]) == (
        "client_tools/bind",
        {"offer": offer["id"], "sessionId": "s"},
    )
    assert stage.losses == []


def test_loading_and_resuming_lend_too() -> None:
    stage = lending()
    stage.client(2, "session/load", sessionId="old", cwd="/pond", mcpServers=[])
    stage.client(3, "session/resume", sessionId="older", cwd="/pond")
    for offer in stage.heard_by_host:
        stage.host(answer(offer["id"], {"server": SERVER}))
    assert [len(frame["params"]["mcpServers"]) for frame in stage.heard_by_agent] == [1, 1]


def test_a_server_of_the_client_with_that_name_wins() -> None:
    stage = lending()
    theirs = {"name": "client", "command": "/bin/theirs", "args": [], "env": []}
    stage.client(2, "session/new", cwd="/pond", mcpServers=[theirs])
    stage.host(answer(stage.heard_by_host[0]["id"], {"server": SERVER}))
    assert stage.heard_by_agent[0]["params"]["mcpServers"] == [{"type": "stdio", **theirs}]


def test_a_host_that_cannot_leaves_the_session_without() -> None:
    stage = lending()
    stage.client(2, "session/new", cwd="/pond", mcpServers=[])
    stage.host(answer(stage.heard_by_host[0]["id"], None, {"code": -32603, "message": "no socket"}))
    assert stage.heard_by_agent[0]["params"]["mcpServers"] == []
    assert stage.losses == ["the client's files and terminals"]


def test_a_call_of_a_tool_is_a_request_to_the_client() -> None:
    stage = lending()
    opened(stage)
    stage.forget()
    stage.host(request("t1", "fs/read_text_file", sessionId="s", path="/pond/a"))
    (asked,) = stage.heard_by_client
    assert (asked["method"], asked["params"]) == ("fs/read_text_file", {"sessionId": "s", "path": "/pond/a"})
    stage.client_answers(asked["id"], {"content": "fish"})
    assert stage.heard_by_host == [answer("t1", {"content": "fish"})]
    assert stage.heard_by_agent == []


def test_a_refusal_of_the_client_reaches_the_host() -> None:
    stage = lending()
    opened(stage)
    stage.forget()
    stage.host(request("t1", "terminal/create", sessionId="s", command="ls"))
    stage.client_answers(stage.heard_by_client[0]["id"], error={"code": -32602, "message": "no", "data": 1})
    assert stage.heard_by_host == [answer("t1", None, {"code": -32602, "message": "no"})]
    stage.host(request("t2", "terminal/create", sessionId="s", command="ls"))
    stage.client_answers(stage.heard_by_client[0]["id"], error={"what": 1})
    assert stage.heard_by_host[0]["error"] == {"code": -32603, "message": "Internal error"}


def test_what_is_lent_ends_with_the_session() -> None:
    stage = lending()
    opened(stage)
    stage.client(3, "session/close", sessionId="s")
    stage.forget()
    stage.agent_answers(3, {})
    assert [frame["method"] for frame in stage.heard_by_host] == ["client_tools/withdraw"]


def test_what_was_offered_to_a_session_that_never_was_is_withdrawn() -> None:
    stage = lending()
    stage.client(2, "session/new", cwd="/pond", mcpServers=[])
    (offer,) = stage.heard_by_host
    stage.host(answer(offer["id"], {"server": SERVER}))
    stage.agent_answers(2, error={"code": -32000, "message": "log in"})
    assert stage.heard_by_host[0]["params"] == {"offer": offer["id"]}


def test_a_session_that_waits_for_its_server_can_be_taken_back() -> None:
    stage = lending()
    stage.client(2, "session/new", cwd="/pond", mcpServers=[])
    (offer,) = stage.heard_by_host
    stage.client_tells("$/cancel_request", requestId=2)
    assert stage.heard_by_client[0]["error"]["code"] == -32800
    stage.host(answer(offer["id"], {"server": SERVER}))
    assert stage.heard_by_agent == []


def test_an_agent_that_ends_meanwhile_leaves_nothing_open() -> None:
    stage = lending()
    stage.client(2, "session/new", cwd="/pond", mcpServers=[])
    stage.agent_ends()
    assert [frame["id"] for frame in stage.heard_by_client] == [2]


def test_what_cannot_be_lent_is_named() -> None:
    without_stdio = {**WELCOME, "capabilities": {"session": {}}}
    assert lending(welcome=without_stdio).losses == ["the client's files and terminals"]
    assert Stage(open=True, capabilities=FILES).losses == ["the client's files and terminals"]
    assert lending({"fs": {"readTextFile": False}}).losses == []
