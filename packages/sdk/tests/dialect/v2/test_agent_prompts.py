"""Prompts of a v1 client as turns of a v2 agent: acknowledged, worked at, ended by a state."""

from __future__ import annotations

import pytest

from tests.dialect.v2.agent_stage import Stage, answer, request, text
from tests.every import every

CANCELLED = answer(3, {"stopReason": "cancelled"})


def test_a_prompt_is_answered_when_the_session_is_idle() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    assert stage.heard_by_agent == [request(3, "session/prompt", sessionId="s", prompt=[text("swim")])]
    stage.state("running")
    stage.agent_answers(3, {"messageId": "u1"})
    stage.state("requires_action")
    stage.state("running")
    assert stage.heard_by_client == []
    usage = {"totalTokens": 5, "inputTokens": 3, "outputTokens": 2}
    stage.state("idle", stopReason="max_tokens", usage=usage, _meta={"k": 1})
    told = {"stopReason": "max_tokens", "_meta": {"k": 1}, "usage": usage}
    assert stage.heard_by_client == [answer(3, told)]


@every("echo", [("user_message", [text("swim")]), ("user_message_chunk", text("swim"))])
@every("when", ["before", "after"])
def test_the_prompt_itself_is_not_shown_again(echo: tuple[str, object], when: str) -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    if when == "after":
        stage.agent_answers(3, {"messageId": "u1"})
    stage.updates(echo[0], messageId="u1", content=echo[1])
    stage.updates("agent_message_chunk", messageId="a1", content=text("ok"))
    if when == "before":
        assert stage.heard_by_client == []  # it waits for the name of the prompt
        stage.agent_answers(3, {"messageId": "u1"})
    assert stage.shown == [{"sessionUpdate": "agent_message_chunk", "messageId": "a1", "content": text("ok")}]


def test_another_message_of_the_user_is_shown_in_its_place() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.updates("user_message", messageId="elsewhere", content=[text("from a phone")])
    stage.updates("user_message", messageId="u1", content=[text("swim")])
    stage.updates("agent_message_chunk", messageId="a1", content=text("ok"))
    stage.agent_answers(3, {"messageId": "u1"})
    assert [update["messageId"] for update in stage.shown] == ["elsewhere", "a1"]


def test_updates_before_any_message_of_the_user_do_not_wait() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.updates("session_info_update", title="Pond")
    assert len(stage.shown) == 1


def test_a_question_does_not_wait_for_the_acknowledgement() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.updates("user_message", messageId="u1", content=[text("swim")])
    stage.updates("tool_call_update", toolCallId="c", title="Dive")
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "c"}}
    stage.agent(
        9, "session/request_permission", sessionId="s", title="May I?", subject=subject, options=options
    )
    assert [frame["method"] for frame in stage.heard_by_client] == [
        "session/update",
        "session/request_permission",
    ]


def test_an_older_agent_acknowledges_without_a_name() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.updates("user_message", messageId="u1", content=[text("swim")])
    stage.agent_answers(3, {})
    stage.state("idle", stopReason="end_turn")
    assert stage.heard_by_client == [answer(3, {"stopReason": "end_turn"})]


def test_an_agent_that_is_done_before_it_acknowledges_is_done() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.state("running")
    stage.updates("user_message", messageId="u1", content=[text("swim")])
    stage.state("idle", stopReason="end_turn")
    assert stage.heard_by_client == []
    stage.agent_answers(3, {"messageId": "u1"})
    assert stage.heard_by_client == [answer(3, {"stopReason": "end_turn"})]


def test_an_idle_state_of_before_the_prompt_ends_nothing() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.state("idle")
    stage.agent_answers(3, {"messageId": "u1"})
    assert stage.heard_by_client == []
    stage.state("running")
    stage.state("idle", stopReason="refusal")
    assert stage.heard_by_client == [answer(3, {"stopReason": "refusal"})]


def test_a_repeated_state_ends_nothing() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.agent_answers(3, {"messageId": "u1"})
    stage.state("idle", stopReason="end_turn")
    stage.forget()
    stage.prompts(4)
    stage.agent_answers(4, {"messageId": "u2"})
    stage.state("idle", stopReason="end_turn")
    assert stage.heard_by_client == []
    stage.state("running")
    stage.state("idle", stopReason="end_turn")
    assert stage.heard_by_client == [answer(4, {"stopReason": "end_turn"})]


@pytest.mark.parametrize(
    ("ended", "told", "ledger"),
    [
        ({}, {"stopReason": "end_turn"}, "a turn that ended without a reason"),
        (
            {"stopReason": "_bored"},
            {
                "stopReason": "end_turn",
                "_meta": {"dragoman/dialect": {"name": "v2", "raw": {"stopReason": "_bored"}}},
            },
            "a stop reason that v1 does not know",
        ),
    ],
)
def test_a_reason_that_v1_does_not_know(ended: dict[str, str], told: dict[str, str], ledger: str) -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.agent_answers(3, {"messageId": "u1"})
    stage.state("idle", **ended)
    assert stage.heard_by_client == [answer(3, told)]
    assert [*stage.losses, *stage.repairs] == [ledger]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            {"code": -32000, "message": "log in", "data": {"x": 1}},
            {"code": -32000, "message": "log in", "data": {"x": 1}},
        ),
        ({"code": "bad"}, {"code": -32603, "message": "Internal error: the agent failed"}),
        (None, {"code": -32603, "message": "Internal error: the agent failed"}),
    ],
)
def test_a_turn_that_failed_is_an_error(error: object, told: object) -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.agent_answers(3, {"messageId": "u1"})
    stage.state("idle", stopReason="error", error=error)
    assert stage.heard_by_client == [answer(3, None, told)]


def test_a_prompt_that_was_not_taken_is_an_error_and_what_was_held_is_shown() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.updates("user_message", messageId="x", content=[text("from a phone")])
    stage.agent_answers(3, error={"code": -32602, "message": "too long"})
    shown, told = stage.heard_by_client
    assert shown["params"]["update"]["content"] == text("from a phone")
    assert told == answer(3, None, {"code": -32602, "message": "too long"})


def test_an_empty_prompt_is_refused_here() -> None:
    stage = Stage(open=True)
    stage.client(3, "session/prompt", sessionId="s", prompt=[])
    assert stage.heard_by_agent == []
    assert stage.heard_by_client[0]["error"]["code"] == -32602


def test_a_second_prompt_waits_for_the_first() -> None:
    stage = Stage(open=True)
    stage.prompts(3, "one")
    stage.prompts(4, "two")
    stage.prompts(5, "three")
    assert [frame["id"] for frame in stage.heard_by_agent] == [3]
    for number in (3, 4, 5):
        stage.agent_answers(number, {"messageId": f"u{number}"})
        stage.state("running")
        stage.state("idle", stopReason="end_turn")
    assert [frame["id"] for frame in stage.heard_by_agent] == [4, 5]
    assert [frame["id"] for frame in stage.heard_by_client] == [3, 4, 5]
    assert stage.repairs == ["a prompt while another is open"]


def test_a_cancel_reaches_the_agent_and_those_that_wait() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.prompts(4)
    stage.agent_answers(3, {"messageId": "u1"})
    stage.forget()
    stage.client_tells("session/cancel", sessionId="s")
    stage.prompts(5)
    assert [frame["method"] for frame in stage.heard_by_agent] == ["session/cancel"]
    stage.state("idle", stopReason="cancelled")
    assert stage.heard_by_client == [CANCELLED, answer(4, {"stopReason": "cancelled"})]
    assert [frame["id"] for frame in stage.heard_by_agent] == [5]  # it came after the cancel


def test_withdrawing_a_prompt_depends_on_how_far_it_is() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.prompts(4)
    stage.forget()
    stage.client_tells("$/cancel_request", requestId=4)
    assert stage.heard_by_client[0]["error"]["code"] == -32800
    stage.client_tells("$/cancel_request", requestId=3)
    assert stage.heard_by_agent == [
        {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 3}}
    ]
    stage.agent_answers(3, {"messageId": "u1"})
    stage.client_tells("$/cancel_request", requestId=3)
    assert stage.heard_by_agent == [
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
    ]
    stage.client_tells("$/cancel_request", requestId=99)
    stage.client_tells("$/cancel_request", requestId=[3])
    assert stage.heard_by_agent == []


def test_sessions_do_not_wait_for_each_other() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.client(4, "session/prompt", sessionId="other", prompt=[text("fly")])
    assert [frame["id"] for frame in stage.heard_by_agent] == [3, 4]


def test_work_that_nobody_asked_for_is_shown_outside_of_a_turn() -> None:
    stage = Stage(open=True)
    stage.state("running", background=[{"type": "terminal", "terminalId": "t"}])
    stage.updates("agent_message_chunk", messageId="a1", content=text("a fish!"))
    stage.state("idle", stopReason="end_turn")
    assert [update["content"]["text"] for update in stage.shown] == ["a fish!"]
    assert stage.repairs == ["work that no prompt asked for"]
    assert stage.losses == ["work in the background"]


def test_closing_a_session_ends_its_turns_first() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.prompts(4)
    stage.agent_answers(3, {"messageId": "u1"})
    stage.client(5, "session/close", sessionId="s")
    stage.agent_answers(5, {})
    assert stage.heard_by_client == [CANCELLED, answer(4, {"stopReason": "cancelled"}), answer(5, {})]


def test_an_agent_that_ends_leaves_no_request_open() -> None:
    stage = Stage(open=True)
    stage.prompts(3)
    stage.prompts(4)
    stage.agent_answers(3, {"messageId": "u1"})
    stage.client(5, "session/list")
    stage.client(6, "session/prompt", sessionId="other", prompt=[text("fly")])
    stage.agent_ends()
    heard = stage.heard_by_client
    assert sorted(frame["id"] for frame in heard) == [3, 4, 5, 6]
    assert {frame["error"]["code"] for frame in heard} == {-32603}
    stage.agent_ends()
    assert stage.heard_by_client == []
