"""A client of ACPex in front of a v1 agent."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import EdgeSettings
from tests.dialect.acpex.frames import GREETING, INTRODUCTION
from tests.dialect.acpex.stage import BOTH, Stage, text
from tests.every import every

QUESTION = {
    "sessionId": "s",
    "toolCall": {"toolCallId": "t", "title": "Cut the tree"},
    "options": [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ],
}
ASK = {"id": "p-1", "method": "session/request_permission", "params": QUESTION}


def outcome(client: Stage, question: Any = QUESTION) -> Any:
    ((way, said),) = client.take({**ASK, "params": question})
    assert way == "inside"
    assert said["id"] == "p-1"
    return said["result"]["outcome"]


@pytest.mark.parametrize("dialect", BOTH)
def test_nobody_consents_where_nobody_was_asked(dialect: str) -> None:
    client = Stage("client", dialect)
    assert outcome(client) == {"outcome": "selected", "optionId": "no"}
    assert client.lost == ["a permission request"]


def test_without_a_way_to_say_no_the_question_is_cancelled() -> None:
    allowing = {**QUESTION, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}
    assert outcome(Stage("client"), allowing) == {"outcome": "cancelled"}
    assert outcome(Stage("client"), {}) == {"outcome": "cancelled"}
    assert outcome(Stage("client"), {"options": [{"kind": "reject_once", "optionId": 4}]}) == {
        "outcome": "cancelled"
    }


def test_the_policy_decides() -> None:
    seen = []

    def consent(question: dict[str, Any]) -> str | None:
        seen.append(question)
        return "yes"

    assert outcome(Stage("client", settings=EdgeSettings(consent=consent))) == {
        "outcome": "selected",
        "optionId": "yes",
    }
    assert seen == [QUESTION]


def test_an_option_that_was_not_offered_is_no_approval() -> None:
    client = Stage("client", settings=EdgeSettings(consent=lambda question: "certainly"))
    assert outcome(client) == {"outcome": "selected", "optionId": "no"}


def test_an_answer_to_a_question_that_it_was_never_asked_is_dropped() -> None:
    client = Stage("client")
    outcome(client)
    forged = {"id": "p-1", "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
    assert client.hear(forged) == []
    assert client.lost == ["a permission request", "an answer to no open question"]


def test_a_second_answer_is_dropped() -> None:
    client = Stage("client")
    client.take({"id": 7, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/a"}})
    assert len(client.hear({"id": 7, "result": {"content": "x"}})) == 1
    assert client.hear({"id": 7, "result": {"content": "y"}}) == []


def test_credentials_are_refused_and_go_nowhere() -> None:
    client = Stage("client")
    params = {"methodId": "feather", "data": {"apiKey": "owl-secret"}}
    ((way, said),) = client.hear({"id": 2, "method": "authenticate", "params": params})
    assert way == "peer"
    assert said["id"] == 2
    assert said["error"]["code"] == -32001
    assert client.lost == ["credentials of authenticate"]
    assert "owl-secret" not in str(client.ledger.entries) + str(said)


def test_credentials_go_on_to_an_agent_that_takes_them() -> None:
    agent, client = Stage("agent"), Stage("client")
    agent.asked("initialize", {"protocolVersion": 1})
    ((_, introduced),) = agent.hear({"id": 1, "result": INTRODUCTION})
    client.asked("initialize", GREETING)
    ((_, told),) = client.take(introduced)
    assert "dragoman/credentials" not in str(told)
    params = {"methodId": "feather", "data": {"apiKey": "owl-secret"}}
    asked = client.asked("authenticate", params, 2)
    assert asked["params"] == {
        "methodId": "feather",
        "_meta": {"dragoman/credentials": {"apiKey": "owl-secret"}},
    }
    assert agent.asked("authenticate", asked["params"], 2)["params"] == params
    closed = Stage("agent", "acpex-wire")
    assert closed.asked("authenticate", asked["params"])["params"] == {"methodId": "feather"}
    assert closed.lost == ["credentials of authenticate"]


@pytest.mark.parametrize("data", [{}, None])
def test_a_login_without_credentials_passes(data: Any) -> None:
    asked = Stage("client").asked("authenticate", {"methodId": "feather", "data": data})
    assert asked["params"] == {"methodId": "feather"}


def test_a_session_is_completed_from_the_settings() -> None:
    client = Stage("client")
    assert client.asked("session/new", {})["params"] == {"cwd": "/srv", "mcpServers": []}
    assert client.asked("session/load", {"session_id": "s"})["params"] == {
        "sessionId": "s",
        "cwd": "/srv",
        "mcpServers": [],
    }
    assert client.repaired == ["a session without cwd or mcpServers", "snake_case names"]
    whole = {"cwd": "/barn", "mcpServers": []}
    assert client.asked("session/new", whole)["params"] == whole


@every(("content", "prompt"), [([text("a")], [text("a")]), ("a", [text("a")]), (None, []), (7, []), ({}, [])])
def test_content_is_the_prompt(content: Any, prompt: Any) -> None:
    asked = Stage("client").asked("session/prompt", {"sessionId": "s", "content": content})
    assert asked["params"] == {"sessionId": "s", "prompt": prompt}


def test_a_prompt_in_the_codes_form_is_read_too() -> None:
    params = {"sessionId": "s", "prompt": [text("a")]}
    assert Stage("client", "acpex-wire").asked("session/prompt", params)["params"] == params


@pytest.mark.parametrize("dialect", BOTH)
def test_cancel_passes_as_it_is(dialect: str) -> None:
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
    assert Stage("client", dialect).hear(cancel) == [("inside", cancel)]
    assert Stage("agent", dialect).take(cancel) == [("peer", cancel)]


def test_a_frame_without_jsonrpc_is_completed() -> None:
    client = Stage("client")
    ((_, said),) = client.hear({"jsonrpc": "", "method": "session/cancel", "params": {"sessionId": "s"}})
    assert said["jsonrpc"] == "2.0"
    assert client.repaired == ["a frame without jsonrpc"]


def test_files_and_terminals_pass_both_ways() -> None:
    client = Stage("client")
    ask = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "terminal/create",
        "params": {"sessionId": "s", "command": "ls"},
    }
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"terminalId": "t"}}
    assert client.take(ask) == [("peer", ask)]
    assert client.hear(answer) == [("inside", answer)]


@every(
    ("method", "result", "v1"),
    [
        ("terminal/output", {"output": "x"}, {"output": "x", "truncated": False}),
        ("fs/write_text_file", None, {}),
        ("terminal/release", None, {}),
        ("terminal/create", {"terminal_id": "t"}, {"terminalId": "t"}),
    ],
)
def test_answers_are_completed(method: str, result: Any, v1: Any) -> None:
    client = Stage("client")
    client.take({"id": 7, "method": method, "params": {"sessionId": "s"}})
    assert client.hear({"id": 7, "result": result}) == [("inside", {"jsonrpc": "2.0", "id": 7, "result": v1})]


def test_permission_denied_by_the_client_is_no_missing_file() -> None:
    client = Stage("client")
    client.take({"id": 7, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/a"}})
    ((_, said),) = client.hear({"id": 7, "error": {"code": -32002, "message": "Permission denied"}})
    assert said["error"]["code"] == -32603


@pytest.mark.parametrize("method", ["elicitation/create", "mcp/connect", "session/feathers"])
def test_a_request_that_the_client_does_not_know_is_refused_for_it(method: str) -> None:
    client = Stage("client")
    ((way, said),) = client.take({"id": 7, "method": method, "params": {}})
    assert way == "inside"
    assert said["error"]["code"] == -32601
    assert client.lost == ["a request that the dialect does not have"]


def test_extensions_pass_and_other_notifications_do_not() -> None:
    client = Stage("client")
    ours = {"jsonrpc": "2.0", "id": 7, "method": "_owl/ask", "params": {}}
    hint = {"jsonrpc": "2.0", "method": "_owl/hint", "params": {}}
    assert client.take(ours) == [("peer", ours)]
    assert client.take(hint) == [("peer", hint)]
    assert client.take({"method": "$/cancel_request", "params": {"requestId": 7}}) == []
    assert client.lost == ["a notification that the dialect does not have"]


def test_what_the_agent_waits_for_is_answered_when_the_client_is_gone() -> None:
    client = Stage("client")
    client.take({"id": 7, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/a"}})
    client.take({"id": "x", "method": "terminal/output", "params": {"sessionId": "s"}})
    assert [(way, said["id"], said["error"]["code"]) for way, said in client.end()] == [
        ("inside", 7, -32603),
        ("inside", "x", -32603),
    ]
    assert client.end() == []


def test_an_error_of_the_agent_is_said_in_the_overviews_numbers() -> None:
    client = Stage("client")
    client.asked("session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []}, 4)
    ((_, said),) = client.take({"id": 4, "error": {"code": -32002, "message": "Session not found"}})
    assert said["error"] == {"code": -32001, "message": "Session not found", "data": {"v1Code": -32002}}


def test_a_parse_error_without_an_id_passes() -> None:
    complaint = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    assert Stage("client").hear(complaint) == [("inside", complaint)]


def test_an_error_of_null_beside_a_result_is_none() -> None:
    client = Stage("client")
    client.take({"id": 7, "method": "terminal/create", "params": {}})
    answer = {"id": 7, "result": {"terminalId": "t"}, "error": None}
    assert client.hear(answer) == [("inside", {"jsonrpc": "2.0", "id": 7, "result": {"terminalId": "t"}})]
