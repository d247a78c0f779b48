"""The first exchange: what a v1 client and a v2 agent learn of each other, and whom we leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.edge import Edge
from tests.dialect.v2.agent_stage import WELCOME, Stage, answer, text

INFO = {"name": "reed", "version": "0.4"}


def test_the_offer_speaks_to_agents_of_both_versions() -> None:
    stage = Stage()
    wanted = {"fs": {"readTextFile": True}, "elicitation": {"form": {}}, "auth": {"terminal": True}}
    stage.client("a", "initialize", protocolVersion=1, clientInfo=INFO, clientCapabilities=wanted)
    (offer,) = stage.heard_by_agent
    assert offer["params"] == {
        "protocolVersion": 2,
        "clientInfo": INFO,
        "clientCapabilities": wanted,
        "info": INFO,
        "capabilities": {"elicitation": {"form": {}}, "auth": {"terminal": {}}},
    }


def test_a_client_without_a_name_is_unknown() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    assert stage.heard_by_agent[0]["params"]["info"] == {"name": "unknown", "version": "unknown"}


def test_what_a_v2_agent_can_do_is_said_in_v1() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    session: dict[str, Any] = {
        "prompt": {"image": {}},
        "mcp": {"stdio": {}, "http": {}},
        "delete": {},
        "fork": {},
    }
    methods = [
        {"type": "agent", "methodId": "key", "name": "A key"},
        {
            "type": "terminal",
            "methodId": "tty",
            "name": "By hand",
            "args": ["login"],
            "env": [{"name": "N", "value": "1"}],
        },
        {"type": "_rune", "methodId": "rune", "name": "A rune"},
        {"type": "agent", "name": "nameless"},
    ]
    stage.agent_answers(
        1, {**WELCOME, "capabilities": {"session": session}, "authMethods": methods, "_meta": {"a": 1}}
    )
    (told,) = stage.heard_by_client
    assert told["result"] == {
        "protocolVersion": 1,
        "agentInfo": {"name": "heron", "version": "3.1"},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": False},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
            "auth": {"logout": {}},
        },
        "authMethods": [
            {"id": "key", "name": "A key"},
            {"type": "terminal", "id": "tty", "name": "By hand", "args": ["login"], "env": {"N": "1"}},
        ],
        "_meta": {"a": 1},
    }
    assert stage.losses == ["a way to log in of a type that v1 does not know", "a malformed way to log in"]


def test_an_agent_without_sessions_offers_none() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    stage.agent_answers(1, {**WELCOME, "capabilities": {}})
    told = stage.heard_by_client[0]["result"]["agentCapabilities"]
    assert (told["loadSession"], told["sessionCapabilities"], told["auth"]) == (False, {}, {})


def test_an_agent_that_answers_1_is_left_alone() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    stage.agent_answers(1, result)
    assert stage.heard_by_client == [answer(1, result)]
    assert stage.repairs == ["an agent of version 1"]
    stage.prompts(2)
    stage.updates("agent_message_chunk", content=text("splash"))
    stage.agent_answers(2, {"stopReason": "end_turn"})
    assert [frame.get("method") for frame in stage.heard_by_client] == ["session/update", None]
    assert type(stage.edge.succeeded_by()) is Edge


def test_an_agent_of_neither_version_is_refused_in_words_that_a_v1_client_understands() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    refused = {"code": -32022, "message": "no", "data": {"requested": 2, "supported": [3, 4, "five"]}}
    stage.agent_answers(1, error=refused)
    (told,) = stage.heard_by_client
    assert told["error"]["code"] == -32600
    assert told["error"]["message"].endswith("but 3, 4")
    assert told["error"]["data"] == {"requested": 2, "supported": [3, 4]}


def test_an_answer_with_another_version_is_refused_too() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    stage.agent_answers(1, {**WELCOME, "protocolVersion": 3})
    assert stage.heard_by_client[0]["error"]["code"] == -32600
    assert stage.losses == ["a version of the protocol that is neither 1 nor 2"]


def test_any_other_error_reaches_the_client_as_it_is() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    stage.agent_answers(1, error={"code": -32603, "message": "asleep", "data": [1]})
    assert stage.heard_by_client == [answer(1, None, {"code": -32603, "message": "asleep", "data": [1]})]


@pytest.mark.parametrize("version", [1, 2])
def test_a_client_that_does_not_wait_for_the_introduction_is_patient_without_knowing_it(version: int) -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    stage.client(2, "session/load", sessionId="s", cwd="/pond", mcpServers=[])
    stage.client_tells("session/cancel", sessionId="s")
    assert [frame["id"] for frame in stage.heard_by_agent] == [1]
    assert stage.edge.holding
    stage.agent_answers(1, {**WELCOME, "protocolVersion": version})
    opened = "session/load" if version == 1 else "session/resume"
    assert [frame["method"] for frame in stage.heard_by_agent] == [opened, "session/cancel"]
    assert [stage.edge.holding] == [False]


def test_an_agent_that_ends_without_introducing_itself_leaves_nothing_open() -> None:
    stage = Stage()
    stage.client(1, "initialize", protocolVersion=1)
    stage.client(2, "session/list")
    stage.agent_ends()
    assert [frame["id"] for frame in stage.heard_by_client] == [1, 2]


def test_logging_in_and_out_has_other_names() -> None:
    stage = Stage(open=True)
    stage.client(3, "authenticate", methodId="key")
    stage.client(4, "logout")
    assert [frame["method"] for frame in stage.heard_by_agent] == ["auth/login", "auth/logout"]
    stage.agent_answers(3, {})
    stage.agent_answers(4, {})
    assert stage.heard_by_client == [answer(3, {}), answer(4, {})]


def test_a_null_for_an_id_is_another_id_at_the_agent_and_null_again_at_the_client() -> None:
    stage = Stage(open=True)
    stage.client(None, "session/list")
    (asked,) = stage.heard_by_agent
    assert type(asked["id"]) is str
    stage.client_tells("$/cancel_request", requestId=None)
    assert stage.heard_by_agent[0]["params"] == {"requestId": asked["id"]}
    stage.agent_answers(asked["id"], {"sessions": []})
    assert stage.heard_by_client == [answer(None, {"sessions": []})]


def test_what_is_nobodys_passes_both_ways() -> None:
    stage = Stage(open=True)
    stage.client(3, "_reed/bend", far=True)
    stage.agent_answers(3, {"bent": True})
    stage.agent_tells("_heron/look", at="water")
    stage.agent("h1", "_heron/ask", what="?")
    stage.client_answers("h1", {"it": "is"})
    assert [frame.get("method", "answer") for frame in stage.heard_by_client] == [
        "answer",
        "_heron/look",
        "_heron/ask",
    ]
    assert [frame.get("method", "answer") for frame in stage.heard_by_agent] == ["_reed/bend", "answer"]
