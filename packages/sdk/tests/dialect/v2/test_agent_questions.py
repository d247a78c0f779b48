"""What a v2 agent asks a v1 client, and that only the client consents."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.v2.agent_stage import Stage, answer, text
from tests.every import every

YES = {"optionId": "y", "name": "Yes", "kind": "allow_once"}
NO = {"optionId": "n", "name": "No", "kind": "reject_once"}
CALL = {"toolCallId": "c", "title": "Dive", "kind": "edit", "status": "pending"}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def asked(stage: Stage, **more: Any) -> None:
    params = {"sessionId": "s", "title": "May I?", "options": [YES, NO], **more}
    stage.agent(9, "session/request_permission", **params)


def test_a_question_about_a_known_call_names_it() -> None:
    stage = Stage(open=True)
    stage.updates("tool_call_update", **CALL)
    stage.forget()
    asked(stage, description="it is deep", subject={"type": "tool_call", "toolCall": CALL})
    (question,) = stage.heard_by_client
    assert question["params"] == {
        "sessionId": "s",
        "toolCall": CALL,
        "options": [YES, NO],
        "_meta": {"dragoman/question": {"title": "May I?", "description": "it is deep"}},
    }


def test_a_call_that_nobody_announced_is_announced_before_it_is_asked_about() -> None:
    stage = Stage(open=True)
    asked(stage, subject={"type": "tool_call", "toolCall": {"toolCallId": "c", "kind": "edit"}})
    announced, question = stage.heard_by_client
    assert announced["params"]["update"]["sessionUpdate"] == "tool_call"
    assert question["params"]["toolCall"] == {"toolCallId": "c", "kind": "edit", "title": "May I?"}


def test_a_question_about_a_command_is_about_a_call_that_runs_it() -> None:
    stage = Stage(open=True)
    asked(stage, subject={"type": "command", "command": "ls -l", "cwd": "/pond"}, description="why not")
    (question,) = stage.heard_by_client
    call = question["params"]["toolCall"]
    assert (call["title"], call["kind"]) == ("ls -l", "execute")
    assert call["rawInput"] == {"command": "ls -l", "cwd": "/pond"}
    assert call["content"] == [{"type": "content", "content": text("why not")}]


MORE = {"command": "ls", "args": ["-l"]}


@every(
    "subject",
    [
        ({"type": "_shell", **MORE}, MORE),
        ({"type": "command", **MORE}, MORE),
        (
            {"type": "tool_call", "toolCall": {"toolCallId": "c", "rawInput": {"a": 1}}, **MORE},
            {"a": 1, "subject": MORE},
        ),
    ],
)
def test_all_that_a_subject_says_is_in_the_input_of_its_call(subject: tuple[Any, Any]) -> None:
    about, raw_input = subject
    stage = Stage(open=True)
    asked(stage, subject=about)
    assert stage.heard_by_client[-1]["params"]["toolCall"]["rawInput"] == raw_input


@every("subject", [None, {"type": "_mood"}, {"type": "tool_call"}, "odd"])
def test_a_question_about_nothing_in_particular_is_its_own_call(subject: Any) -> None:
    stage = Stage(open=True)
    asked(stage, subject=subject)
    asked(stage, subject=subject)
    first, second = (frame["params"]["toolCall"] for frame in stage.heard_by_client)
    assert first["title"] == second["title"] == "May I?"
    assert first["toolCallId"] != second["toolCallId"]


@pytest.mark.parametrize("outcome", [{"outcome": "selected", "optionId": "y"}, {"outcome": "cancelled"}])
def test_the_clients_answer_is_the_agents(outcome: dict[str, str]) -> None:
    stage = Stage(open=True)
    asked(stage)
    stage.client_answers(9, {"outcome": outcome})
    assert stage.heard_by_agent == [answer(9, {"outcome": outcome})]


@every(
    "result",
    [
        {"outcome": {"outcome": "selected", "optionId": "yes"}},
        {"outcome": {"outcome": "selected", "optionId": ["y"]}},
        {"outcome": {"outcome": "approved", "optionId": "y"}},
        {"outcome": "selected", "optionId": "y"},
        {"optionId": "y"},
        None,
        True,
    ],
)
def test_what_is_none_of_the_options_is_no_consent(result: Any) -> None:
    stage = Stage(open=True)
    asked(stage)
    stage.client_answers(9, result)
    assert stage.heard_by_agent == [answer(9, CANCELLED)]
    assert stage.repairs == ["an answer to a permission request that is none of its options"]


def test_an_answer_counts_once_and_only_for_an_open_question() -> None:
    stage = Stage(open=True)
    asked(stage)
    stage.client_answers(8, {"outcome": {"outcome": "selected", "optionId": "y"}})
    stage.client_answers(9, CANCELLED)
    stage.client_answers(9, {"outcome": {"outcome": "selected", "optionId": "y"}})
    assert stage.heard_by_agent == [answer(9, CANCELLED)]


def test_an_error_of_the_client_is_an_error() -> None:
    stage = Stage(open=True)
    asked(stage)
    stage.client_answers(9, error={"code": -32601, "message": "what?"})
    assert stage.heard_by_agent == [answer(9, None, {"code": -32601, "message": "what?"})]


@pytest.mark.parametrize(
    ("options", "lost"),
    [
        ([], "a permission request without options to choose from"),
        (
            [{"optionId": 1, "name": "x", "kind": "allow_once"}],
            "a permission request without options to choose from",
        ),
        (
            [YES, {"optionId": "m", "name": "Maybe", "kind": "_maybe"}],
            "a permission option of a kind of its own",
        ),
    ],
)
def test_a_question_that_v1_cannot_ask_is_answered_with_no(options: Any, lost: str) -> None:
    stage = Stage(open=True)
    asked(stage, options=options)
    assert stage.heard_by_client == []
    assert stage.heard_by_agent == [answer(9, CANCELLED)]
    assert stage.losses == [lost]


def test_a_question_without_a_session_is_refused() -> None:
    stage = Stage(open=True)
    stage.agent(9, "session/request_permission", title="May I?", options=[YES])
    assert stage.heard_by_agent[0]["error"]["code"] == -32602


def test_an_agent_takes_back_only_what_is_open() -> None:
    stage = Stage(open=True)
    asked(stage)
    stage.forget()
    stage.agent_tells("$/cancel_request", requestId=9)
    stage.agent_tells("$/cancel_request", requestId=10)
    stage.agent_tells("$/cancel_request", requestId={})
    assert [frame["params"]["requestId"] for frame in stage.heard_by_client] == [9]


FORM = {
    "mode": "form",
    "message": "Who?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "n": {"type": "string", "format": "email"},
            "p": {"type": "string", "format": "_plume"},
        },
    },
}


def test_a_form_passes_without_formats_of_its_own() -> None:
    stage = Stage(open=True)
    stage.agent(9, "elicitation/create", sessionId="s", requestId=5, **FORM)
    (question,) = stage.heard_by_client
    assert "requestId" not in question["params"]
    properties = question["params"]["requestedSchema"]["properties"]
    assert properties == {"n": {"type": "string", "format": "email"}, "p": {"type": "string"}}
    assert stage.losses == ["a format of text that v1 does not know"]
    stage.client_answers(9, {"action": "accept", "content": {"n": "h@pond"}})
    assert stage.heard_by_agent == [answer(9, {"action": "accept", "content": {"n": "h@pond"}})]


def test_a_question_about_a_request_names_it_as_the_client_does() -> None:
    stage = Stage(open=True)
    stage.client(None, "authenticate", methodId="key")
    (login,) = stage.heard_by_agent
    stage.agent(9, "elicitation/create", requestId=login["id"], **FORM)
    assert stage.heard_by_client[0]["params"]["requestId"] is None


def test_a_question_about_a_prompt_is_possible_until_the_turn_ends() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.agent_answers(3, {"messageId": "u"})
    stage.forget()
    stage.agent(9, "elicitation/create", requestId=3, **FORM)
    assert stage.heard_by_client[0]["params"]["requestId"] == 3
    stage.state("idle", stopReason="end_turn")
    stage.forget()
    stage.agent(10, "elicitation/create", requestId=3, **FORM)
    assert stage.heard_by_client == []
    assert stage.heard_by_agent[0]["error"]["code"] == -32602
    assert "a question about a request that is not open" in stage.losses


def test_a_child_of_the_agent_is_announced_and_asks_under_its_own_name() -> None:
    stage = Stage(open=True, capabilities={"subagents": {}})
    kid = {"sessionId": "kid", "title": "Dive", "state": {"state": "running"}}
    stage.updates("subagent_update", **kid)
    assert stage.shown == [{"sessionUpdate": "subagent_update", **kid}]
    stage.forget()
    asked(stage, sessionId="kid", subject={"type": "tool_call", "toolCall": CALL})
    announced, question = stage.heard_by_client
    assert announced["params"]["sessionId"] == question["params"]["sessionId"] == "kid"
    stage.forget()
    stage.client_answers(9, {"outcome": {"outcome": "selected", "optionId": "y"}})
    assert stage.heard_by_agent == [answer(9, {"outcome": {"outcome": "selected", "optionId": "y"}})]
