"""An agent of ACPex behind a v1 client."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.acpex.stage import BOTH, Stage, text
from tests.every import every

READ = {"id": 30, "method": "fs/read_text_file", "params": {"path": "/a"}}


def with_session(*sessions: str) -> Stage:
    agent = Stage("agent")
    for number, session in enumerate(sessions, 50):
        agent.asked("session/new", {"cwd": "/", "mcpServers": []}, number)
        agent.hear({"id": number, "result": {"sessionId": session}})
    return agent


def test_the_prompt_is_its_content() -> None:
    params = {"sessionId": "s", "prompt": [text("a")]}
    assert Stage("agent").asked("session/prompt", params)["params"] == {
        "sessionId": "s",
        "content": [text("a")],
    }
    assert Stage("agent", "acpex-wire").asked("session/prompt", params)["params"] == params


@every("dialect", BOTH)
@every("method", ["session/list", "session/resume", "session/set_config_option", "logout"])
def test_a_request_that_the_agent_does_not_know_is_refused_for_it(dialect: str, method: str) -> None:
    agent = Stage("agent", dialect)
    ((way, said),) = agent.take({"id": 7, "method": method, "params": {}})
    assert way == "inside"
    assert said["error"]["code"] == -32601
    assert agent.lost == ["a request that the dialect does not have"]


def test_extensions_pass_and_other_notifications_do_not() -> None:
    agent = Stage("agent")
    note = {"jsonrpc": "2.0", "method": "_owl/note", "params": {}}
    assert agent.take(note) == [("peer", note)]
    assert agent.take({"method": "$/cancel_request", "params": {"requestId": 1}}) == []
    assert agent.lost == ["a notification that the dialect does not have"]


def test_a_request_without_its_session_gets_the_only_one() -> None:
    agent = with_session("s-1")
    ((way, said),) = agent.hear(READ)
    assert way == "inside"
    assert said["params"] == {"path": "/a", "sessionId": "s-1"}
    assert agent.repaired == ["a request without its session"]


@pytest.mark.parametrize("sessions", [(), ("s-1", "s-2")])
def test_a_request_without_its_session_is_refused_where_it_is_not_clear(sessions: tuple[str, ...]) -> None:
    agent = with_session(*sessions)
    ((way, said),) = agent.hear(READ)
    assert way == "peer"
    assert (said["id"], said["error"]["code"]) == (30, -32602)
    assert agent.lost == ["a request of an agent that names no session"]


def test_a_file_that_the_client_does_not_have_is_missing_in_the_overviews_numbers() -> None:
    agent = with_session("s-1")
    agent.hear(READ)
    ((way, said),) = agent.take({"id": 30, "error": {"code": -32002, "message": "No such file"}})
    assert way == "peer"
    assert said["error"]["code"] == -32001


def test_what_the_client_answers_passes_as_it_is() -> None:
    agent = with_session("s-1")
    agent.hear(READ)
    answer = {"jsonrpc": "2.0", "id": 30, "result": {"content": "x"}}
    assert agent.take(answer) == [("peer", answer)]


@every(
    ("code", "v1"), [(-32001, -32002), (-32002, -32603), (-32003, -32600), (-32004, -32601), (-32000, -32603)]
)
def test_its_errors_are_read_by_what_they_mean(code: int, v1: int) -> None:
    agent = Stage("agent")
    agent.asked("session/prompt", {"sessionId": "s", "prompt": []}, 2)
    ((_, said),) = agent.hear({"id": 2, "error": {"code": code, "message": "so it is"}})
    assert said["error"] == {"code": v1, "message": "so it is", "data": {"acpexCode": code}}


def test_a_login_that_failed_is_a_login_that_failed() -> None:
    agent = Stage("agent")
    agent.asked("authenticate", {"methodId": "feather"}, 2)
    ((_, said),) = agent.hear({"id": 2, "error": {"code": -32001, "message": "No"}})
    assert said["error"]["code"] == -32000


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    agent = Stage("agent")
    assert agent.hear({"id": 99, "result": {"stopReason": "done"}}) == []
    assert agent.lost == ["an answer to no open question"]


def test_a_question_of_its_own_is_asked_in_v1() -> None:
    ask = {"jsonrpc": "2.0", "id": 9, "method": "session/request_permission", "params": {"sessionId": "s"}}
    assert Stage("agent").hear(ask) == [("inside", ask)]


def test_an_answer_to_load_may_be_nothing() -> None:
    agent = Stage("agent")
    agent.asked("session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []}, 2)
    assert agent.hear({"id": 2, "result": None}) == [("inside", {"jsonrpc": "2.0", "id": 2, "result": {}})]


def test_what_the_client_waits_for_is_answered_when_the_agent_is_gone() -> None:
    agent = Stage("agent")
    agent.asked("session/prompt", {"sessionId": "s", "prompt": []}, 2)
    assert [(way, said["id"], said["error"]["code"]) for way, said in agent.end()] == [("inside", 2, -32603)]
    assert agent.hear({"id": 2, "result": {"stopReason": "done"}}) == []


def test_originals_of_another_side_do_not_reach_the_agent() -> None:
    agent = Stage("agent")
    kept = {"dragoman/dialect": {"name": "crow", "raw": {}}, "theirs": 1}
    asked = agent.asked("session/new", {"cwd": "/", "mcpServers": [], "_meta": kept})
    assert asked["params"] == {"cwd": "/", "mcpServers": [], "_meta": {"theirs": 1}}


@every("params", [None, [], 3, {"update": 7}, {"sessionId": [], "update": {"kind": {}}}])
def test_an_update_of_no_shape_says_nothing(params: Any) -> None:
    agent = Stage("agent")
    assert agent.hear({"method": "session/update", "params": params}) == []
    assert agent.lost == ["an update of no known kind"]
