"""How a v2 client and a v1 agent get to know each other."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.message import answer, notification, refusal, request
from dragoman.dialect.v2.client_handshake import abilities, initialize_in_v1, initialized_in_v2
from dragoman.dialect.v2.to_v2.writer import V2Writer
from tests.dialect.v2.client_play import AGENT, Play, begun, deviations, shown
from tests.every import every
from tests.interop.judges import Sent, refused_by_python

INFO = {"name": "client", "version": "1"}


def introduce(play: Play, request_id: Any = 0, version: Any = 2) -> list[Any]:
    return play.asks(request_id, "initialize", protocolVersion=version, info=INFO)


def test_the_agent_is_asked_for_v1_and_lent_nothing() -> None:
    play = Play()
    introduce(play)
    (asked,) = play.to_agent
    assert asked.params["protocolVersion"] == 1
    assert asked.params["clientInfo"] == INFO
    offered = asked.params["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert offered["terminal"] is False
    assert offered["session"] == {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}}
    assert refused_by_python([Sent("InitializeRequest", "initialize", asked.params)]) == []


def test_what_the_client_can_do_is_passed_on() -> None:
    asked = initialize_in_v1(
        {
            "capabilities": {"elicitation": {"form": {}}, "auth": {"terminal": {}}, "_meta": {"a": 1}},
            "_meta": {},
        }
    )
    offered = asked["clientCapabilities"]
    assert offered["elicitation"] == {"form": {}}
    assert offered["auth"] == {"terminal": True}
    assert offered["_meta"] == {"a": 1}
    assert asked["_meta"] == {}
    assert "clientInfo" not in asked


def test_the_agent_is_introduced_in_v2() -> None:
    play = Play()
    introduce(play)
    capabilities = {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": True},
        "sessionCapabilities": {"list": {}, "delete": {}, "fork": {}},
        "auth": {"logout": {}, "status": {}},
        "_meta": {"x": 1},
    }
    login = {"id": "shell", "name": "Shell", "type": "terminal", "args": ["login"], "env": {"MODE": "login"}}
    play.answers(
        0,
        protocolVersion=1,
        agentInfo={"name": "agent", "version": "3", "title": "The agent"},
        agentCapabilities=capabilities,
        authMethods=[{"id": "key", "name": "Key", "description": None}, login, {"name": "no id"}],
        _meta={"y": 2},
    )
    (met,) = play.to_client
    assert met.result == {
        "protocolVersion": 2,
        "info": {"name": "agent", "version": "3", "title": "The agent"},
        "capabilities": {
            "session": {
                "prompt": {"image": {}, "embeddedContext": {}},
                "mcp": {"stdio": {}, "http": {}},
                "delete": {},
                "fork": {},
            },
            "auth": {"status": {}},
            "_meta": {"x": 1},
        },
        "authMethods": [
            {"methodId": "key", "name": "Key", "type": "agent"},
            {
                "methodId": "shell",
                "name": "Shell",
                "type": "terminal",
                "args": ["login"],
                "env": [{"name": "MODE", "value": "login"}],
            },
        ],
        "_meta": {"y": 2},
    }
    assert deviations([Sent("InitializeResponse", "initialize", met.result)]) == []
    assert "MCP servers over SSE" in play.noted


def test_an_agent_that_says_nothing_of_itself_is_introduced_as_unknown() -> None:
    told = initialized_in_v2({}, V2Writer(Play().edge))
    assert told["info"] == {"name": "unknown", "version": "unknown"}
    assert told["capabilities"]["session"] == {"prompt": {}, "mcp": {"stdio": {}}}
    assert not abilities({}).load


@every("version", ["2", None, True, -1, 70000, 2.5, [2]])
def test_a_version_that_is_none_is_refused(version: Any) -> None:
    play = Play()
    introduce(play, version=version)
    assert play.to_client[0].error["code"] == -32602
    assert play.to_agent == []


def test_an_older_version_is_refused_with_what_is_spoken() -> None:
    play = Play()
    introduce(play, version=1)
    assert play.to_client[0].error["code"] == -32022
    assert play.to_client[0].error["data"] == {"requested": 1, "supported": [2]}
    assert shown(introduce(play, request_id=1), "inside") == ["initialize"]


def test_a_newer_version_is_answered_with_2() -> None:
    play = Play()
    introduce(play, version=7)
    play.answers(0, **AGENT)
    assert play.to_client[0].result["protocolVersion"] == 2


def test_an_agent_of_another_version_is_not_spoken_with() -> None:
    play = Play()
    introduce(play)
    play.answers(0, protocolVersion=2)
    assert play.to_client[0].error["code"] == -32603
    assert shown(play.asks(1, "session/new", cwd="/")) == ["error 1"]


def test_nothing_is_asked_before_the_handshake_and_nothing_is_told() -> None:
    play = Play()
    play.asks(1, "session/new", cwd="/")
    assert play.to_client[0].error["code"] == -32600
    assert play.client(notification("session/cancel", {"sessionId": "s"})) == []


def test_what_comes_during_the_handshake_waits_for_it_in_order() -> None:
    play = Play()
    introduce(play)
    assert play.asks(1, "session/new", cwd="/") == []
    assert play.client(notification("_note", {})) == []
    outs = play.answers(0, **AGENT)
    assert shown(outs) == ["answer 0"]
    assert shown(outs, "inside") == ["session/new", "_note"]


def test_a_handshake_that_failed_can_be_tried_again() -> None:
    play = Play()
    introduce(play)
    play.asks(1, "session/new", cwd="/")
    assert shown(play.fails(0, -32603)) == ["error 0", "error 1"]
    assert shown(introduce(play, request_id=2), "inside") == ["initialize"]


def test_a_repeated_handshake_is_answered_without_the_agent() -> None:
    play = Play()
    introduce(play)
    play.answers(0, **AGENT)
    outs = introduce(play, request_id=1, version=3)
    assert shown(outs) == ["answer 1"]
    assert shown(outs, "inside") == []
    assert play.to_client[0].result == play.to_client[1].result
    assert "a repeated initialize" in play.noted


@pytest.mark.parametrize("version", [1, 2])
def test_a_handshake_after_the_first_request_is_refused(version: int) -> None:
    play = begun()
    introduce(play, request_id=9, version=version)
    assert play.to_client[-1].error["code"] == -32600


def test_a_handshake_cannot_be_repeated_in_a_lower_version() -> None:
    play = Play()
    introduce(play)
    play.answers(0, **AGENT)
    introduce(play, request_id=1, version=1)
    assert play.to_client[-1].error["code"] == -32600


def test_an_id_of_null_is_refused() -> None:
    play = begun()
    play.client(request(None, "session/list", {}))
    assert play.to_client[-1].id is None
    assert play.to_client[-1].error["code"] == -32600


def test_a_complaint_about_a_frame_reaches_the_client() -> None:
    play = begun()
    assert shown(play.agent(refusal(None, -32700, "Parse error"))) == ["error None"]
    assert play.agent(answer(None, {})) == []
    assert play.agent(answer("never asked", {})) == []
