from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman_local.workspace.policy.act_reader import act_of_call
from tests.dialect.crow.frames import ASKED, CALL, SESSION, Frame, update
from tests.dialect.crow.stage import (
    Side,
    answer,
    crow_agent,
    crow_client,
    failure,
    judged,
    notification,
    request,
)
from tests.every import every
from tests.interop.judges import refused_by_python
from tests.workspace.policy.makers import SETTING, policy

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "a", "name": "Always", "kind": "allow_always"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def chosen(option: str) -> Frame:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def question(request_id: Any = "q", session: str = SESSION, call: str = CALL, **tool: Any) -> Frame:
    call_fields = {"toolCallId": call, "title": "count", **tool}
    params = {"sessionId": session, "toolCall": call_fields, "options": OPTIONS}
    return request(request_id, "session/request_permission", params)


def response(**fields: Any) -> Frame:
    return {"session_id": SESSION, "tool_call_id": CALL, **fields}


def asking(*questions: Frame) -> Side:
    """A crow client that was asked."""
    side = crow_client()
    for one in questions or (question(),):
        ((toward, _),) = side.take(one)
        assert toward == "peer"
    return side


# A v1 agent asks, a crow client answers.


def test_a_question_is_an_update_with_options() -> None:
    side = crow_client()
    ((toward, said),) = side.take(question(rawInput={"deep": True}, kind="execute"))
    assert toward == "peer"
    assert said == update(
        {
            "@type": "permission_request",
            "tool_call_id": CALL,
            "title": "count",
            "arguments": '{"deep":true}',
            "permission_options": [
                {"id": "y", "title": "Yes", "is_primary": True, "kind": "allow_once"},
                {"id": "a", "title": "Always", "kind": "allow_always"},
                {"id": "n", "title": "No", "kind": "reject_once"},
            ],
            "raw_input": {"deep": True},
            "kind": "execute",
        }
    )


FORMS: list[Frame] = [
    {"option_id": "y"},
    {"optionId": "y"},
    {"outcome": "selected", "option_id": "y"},
    {"outcome": {"outcome": "selected", "option_id": "y"}},
    {"outcome": {"outcome": "selected", "optionId": "y"}},
]


@every("form", FORMS, ids=str)
def test_a_choice_reaches_the_agent_and_the_client_is_answered(form: Frame) -> None:
    said = asking().hear(request(8, "permission_response", response(**form)))
    assert said == [("inside", answer("q", chosen("y"))), ("peer", answer(8, {}))]


def test_a_choice_may_be_told_without_asking() -> None:
    side = asking()
    told = {"sessionId": SESSION, "toolCallId": CALL, "option_id": "n"}
    assert side.hear(notification("permission_response", told)) == [("inside", answer("q", chosen("n")))]
    assert side.ledger.entries == []


@pytest.mark.parametrize("outcome", ["cancelled", {"outcome": "cancelled"}], ids=str)
def test_a_client_may_choose_nothing(outcome: Any) -> None:
    side = asking()
    said = side.hear(request(8, "permission_response", response(outcome=outcome)))
    assert said == [("inside", answer("q", CANCELLED)), ("peer", answer(8, {}))]
    assert side.ledger.entries == []


ONLY_LOOKS_LIKE_APPROVAL: list[Frame] = [
    {"option_id": "approve"},
    {"option_id": "Y"},
    {"option_id": True},
    {"option_id": ["y"]},
    {"outcome": "y"},
    {"outcome": "approved"},
    {"outcome": True, "option_id": "y"},
    {"outcome": None, "option_id": "y"},
    {"outcome": "rejected", "option_id": "y"},
    {"outcome": {"outcome": "selected", "option_id": "y"}, "option_id": "n"},
    {"outcome": {"option_id": "y"}},
    {"approved": True},
    {},
]


@every("form", ONLY_LOOKS_LIKE_APPROVAL, ids=str)
def test_what_only_looks_like_approval_is_none(form: Frame) -> None:
    side = asking()
    inside, peer = side.hear(request(8, "permission_response", response(**form)))
    assert inside == ("inside", answer("q", CANCELLED))
    assert (peer[0], peer[1]["id"], peer[1]["error"]["code"]) == ("peer", 8, -32602)
    assert len(side.repaired) == 1


@every(
    "params",
    [
        {"session_id": "another", "tool_call_id": CALL, "option_id": "y"},
        {"session_id": SESSION, "tool_call_id": "another", "option_id": "y"},
        {"tool_call_id": CALL, "option_id": "y"},
        {"session_id": SESSION, "option_id": "y"},
        {"session_id": [SESSION], "tool_call_id": {}, "option_id": "y"},
        ["y"],
        None,
    ],
    ids=str,
)
def test_an_answer_to_no_open_question_approves_nothing_and_leaves_the_question_open(params: Any) -> None:
    side = asking()
    ((toward, said),) = side.hear(request(8, "permission_response", params))
    assert (toward, said["error"]["code"]) == ("peer", -32602)
    assert side.lost == ["an answer to a question that is not open"]
    assert side.hear(notification("permission_response", response(option_id="n"))) == [
        ("inside", answer("q", chosen("n")))
    ]


def test_the_second_answer_to_a_question_approves_nothing() -> None:
    side = asking()
    side.hear(notification("permission_response", response(option_id="n")))
    assert side.hear(notification("permission_response", response(option_id="y"))) == []
    assert side.lost == ["an answer to a question that is not open"]


def test_two_questions_about_one_tool_call_are_never_confused() -> None:
    side = asking(question("q1"))
    ((_, said),) = side.take(question("q2"))
    other = said["params"]["update"]["tool_call_id"]
    assert other not in ("", CALL)
    assert side.repaired[-1] == "a further question about a tool call"
    side.hear(notification("permission_response", response(option_id="y")))
    assert side.hear(notification("permission_response", response(option_id="y"))) == []  # said twice
    second = {"session_id": SESSION, "tool_call_id": other, "option_id": "n"}
    assert side.hear(notification("permission_response", second)) == [("inside", answer("q2", chosen("n")))]


def test_questions_of_two_sessions_about_calls_of_one_name_are_kept_apart() -> None:
    side = asking(question("q1", session="s1"), question("q2", session="s2"))
    for session, request_id in (("s2", "q2"), ("s1", "q1")):
        told = {"session_id": session, "tool_call_id": CALL, "option_id": "n"}
        said = side.hear(notification("permission_response", told))
        assert said == [("inside", answer(request_id, chosen("n")))]


def test_a_cancelled_turn_answers_its_questions_and_no_others() -> None:
    side = asking(question("q1", session="s1"), question("q2", session="s2"))
    said = side.hear(request(9, "cancel", {"session_id": "s1"}))
    assert said == [
        ("inside", notification("session/cancel", {"sessionId": "s1"})),
        ("inside", answer("q1", CANCELLED)),
        ("peer", answer(9, {})),
    ]
    late = {"session_id": "s1", "tool_call_id": CALL, "option_id": "y"}
    assert side.hear(notification("permission_response", late)) == []


def test_a_client_that_leaves_has_allowed_nothing() -> None:
    side = asking(question("q1"), question("q2", call="other"))
    assert side.end() == [("inside", answer("q1", CANCELLED)), ("inside", answer("q2", CANCELLED))]
    assert side.end() == []


def test_a_question_that_the_agent_withdraws_is_closed() -> None:
    side = asking()
    withdrawn = side.take(notification("$/cancel_request", {"requestId": "q"}))
    update = {"@type": "permission_response", "tool_call_id": CALL, "outcome": "settled"}
    told = notification("session/update", {"sessionId": SESSION, "update": update})
    assert withdrawn == [("inside", answer("q", CANCELLED)), ("peer", told)]
    assert side.hear(notification("permission_response", response(option_id="y"))) == []


@every(
    "params",
    [
        None,
        {},
        {"sessionId": SESSION, "toolCall": {"toolCallId": CALL}},
        {"sessionId": SESSION, "toolCall": {"toolCallId": CALL}, "options": [{"optionId": 1}]},
        {"sessionId": 1, "toolCall": {"toolCallId": CALL}, "options": OPTIONS},
    ],
    ids=str,
)
def test_a_question_that_is_none_is_refused(params: Any) -> None:
    ((toward, said),) = crow_client().take(request("q", "session/request_permission", params))
    assert (toward, said["error"]["code"]) == ("inside", -32602)


# A crow agent asks, a v1 client answers.


def asked(side: Side, fields: Frame = ASKED, session: str = SESSION) -> Frame:
    """The request that a v1 client gets."""
    ((toward, said),) = side.hear(update(fields, session))
    assert toward == "inside"
    assert refused_by_python([judged(said)]) == []
    return said


def told(said: Frame) -> Frame:
    """What a crow agent is told."""
    assert (said["method"], "id" in said) == ("permission_response", True)
    params: Frame = said["params"]
    return params


def test_the_choice_is_told_to_the_agent_as_a_request_whose_answer_ends_here() -> None:
    side = crow_agent()
    asked_as = asked(side)["id"]
    ((toward, said),) = side.take(answer(asked_as, chosen("approve")))
    assert toward == "peer"
    assert told(said) == response(option_id="approve")
    assert side.hear(answer(said["id"], {})) == []
    assert side.ledger.entries == []


@every(
    "result",
    [
        CANCELLED,
        chosen("y"),
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"outcome": "approved", "optionId": "approve"}},
        {"outcome": "approve"},
        {"optionId": "approve"},
        None,
        7,
    ],
    ids=str,
)
def test_what_is_no_choice_is_told_as_cancelled(result: Any) -> None:
    side = crow_agent()
    ((_, said),) = side.take(answer(asked(side)["id"], result))
    assert told(said) == response(outcome="cancelled")
    assert len(side.repaired) == (result != CANCELLED)


def test_an_error_allows_nothing() -> None:
    side = crow_agent()
    ((_, said),) = side.take(failure(asked(side)["id"], -32601))
    assert told(said) == response(outcome="cancelled")


@every(
    ("option", "kind"),
    [
        ("approve", "allow_once"),
        ("allow", "allow_once"),
        ("reject", "reject_once"),
        ("deny", "reject_once"),
        ("allow_always", "allow_always"),
        ("reject_always", "reject_always"),
    ],
)
def test_an_option_has_the_kind_that_its_id_says(option: str, kind: str) -> None:
    said = asked(crow_agent(), {**ASKED, "permission_options": [{"id": option, "title": "T"}]})
    assert said["params"]["options"] == [{"optionId": option, "name": "T", "kind": kind}]


UNCLEAR: list[Any] = [
    [{"id": "ok", "title": "Approve"}],
    [{"id": "Approve", "title": "Approve"}],
    [{"id": "approve", "title": "Reject", "kind": "reject_once"}],
    [{"id": "go", "title": "Go", "kind": "allow"}],
    [{"id": "go", "title": "Go", "kind": ["allow_once"]}],
    [{"id": 1, "title": "Go"}],
    ["approve"],
    [],
    None,
]


@every("options", UNCLEAR, ids=str)
def test_a_question_whose_options_are_unclear_is_refused_without_asking(options: Any) -> None:
    side = crow_agent()
    ((toward, said),) = side.hear(update({**ASKED, "permission_options": options}))
    assert toward == "peer"
    assert told(said) == response(outcome="cancelled")
    assert side.lost == ["a question whose options give no kind"]


def test_a_question_is_refused_with_the_option_that_says_so_if_there_is_one() -> None:
    options = [{"id": "sure"}, {"id": "deny", "kind": "allow_once"}, {"id": "reject"}]
    ((_, said),) = crow_agent().hear(update({**ASKED, "permission_options": options}))
    assert told(said) == response(option_id="reject")


def test_a_question_about_no_tool_call_cannot_even_be_refused() -> None:
    side = crow_agent()
    assert side.hear(update({**ASKED, "tool_call_id": None})) == []
    assert side.lost == ["a question that makes no sense"]


def test_two_questions_about_one_tool_call_are_asked_and_answered_in_order() -> None:
    side = crow_agent()
    first = asked(side)
    assert side.hear(update({**ASKED, "arguments": "second"})) == []
    assert asked(side, session="other")["params"]["sessionId"] == "other"  # nobody else waits
    answered, second = side.take(answer(first["id"], chosen("reject")))
    assert told(answered[1]) == response(option_id="reject")
    assert second[1]["params"]["toolCall"]["rawInput"] == {"arguments": "second"}
    ((_, said),) = side.take(answer(second[1]["id"], chosen("approve")))
    assert told(said) == response(option_id="approve")
    assert side.repaired == ["a second open question about a tool call"]


def test_questions_that_the_client_has_not_seen_are_answered_when_it_cancels() -> None:
    side = crow_agent()
    first = asked(side)
    side.hear(update(ASKED))
    cancel, unseen = side.take(notification("session/cancel", {"sessionId": SESSION}))
    assert (cancel[1]["method"], cancel[1]["params"]) == ("cancel", {"session_id": SESSION})
    assert told(unseen[1]) == response(outcome="cancelled")
    ((_, said),) = side.take(answer(first["id"], CANCELLED))  # and nothing is asked after it
    assert told(said) == response(outcome="cancelled")


def test_an_agent_that_refuses_the_choice_is_put_down() -> None:
    side = crow_agent()
    ((_, said),) = side.take(answer(asked(side)["id"], chosen("approve")))
    assert side.hear(failure(said["id"], -32601)) == []
    assert side.lost == ["a permission_response that the agent refused"]


def test_a_question_with_more_than_v1_can_hold_comes_back_whole() -> None:
    options = [{"id": "reject", "title": "No", "is_primary": True}, {"id": "approve", "title": "Yes"}]
    fields = {**ASKED, "permission_options": options, "urgency": 3}
    side = crow_client()
    ((_, said),) = side.take(asked(crow_agent(), fields))
    assert said == update(fields)
    assert side.ledger.entries == []


def test_output_in_a_question_is_shown_to_the_client() -> None:
    diff = {"type": "diff", "path": "/nest", "old_text": "3", "new_text": "4"}
    said = asked(crow_agent(), {**ASKED, "content": [diff], "kind": "edit", "status": "pending"})
    call = said["params"]["toolCall"]
    assert call["content"] == [{"type": "diff", "path": "/nest", "oldText": "3", "newText": "4"}]
    assert (call["kind"], call["status"]) == ("edit", "pending")


LOAD = request(1, "session/load", {"sessionId": "s", "cwd": "/srv", "mcpServers": []})


def replayed(**update: Any) -> Frame:
    return notification("session/update", {"sessionId": "s", "update": update})


OLD_QUESTION = replayed(
    **{"@type": "permission_request", "tool_call_id": "t", "title": "terminal", "arguments": "ls"},
    permission_options=[{"id": "approve", "title": "Approve"}, {"id": "reject", "title": "Reject"}],
)
STARTED = replayed(
    **{"@type": "tool_call_start", "tool_call_id": "t", "title": "terminal", "kind": "execute"}
)


def test_a_question_of_the_past_is_shown_as_its_tool_call_and_asks_nobody() -> None:
    agent = crow_agent()
    agent.take(LOAD)
    ((toward, told),) = agent.hear(OLD_QUESTION)
    assert (toward, told["method"], "id" in told) == ("inside", "session/update", False)
    assert told["params"]["update"] == {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "terminal",
        "rawInput": {"arguments": "ls"},
    }
    ((_, started),) = agent.hear(STARTED)
    assert started["params"]["update"]["sessionUpdate"] == "tool_call_update"
    assert "a permission request in the history of a session" in agent.repaired
    ((toward, loaded),) = agent.hear(answer(1, {}))
    assert (toward, loaded["id"]) == ("inside", 1)


def test_a_question_of_the_past_whose_options_nobody_knows_is_not_answered_either() -> None:
    agent = crow_agent()
    agent.take(LOAD)
    odd = {**OLD_QUESTION["params"]["update"], "permission_options": [{"id": "whatever"}]}
    outs = agent.hear(notification("session/update", {"sessionId": "s", "update": odd}))
    assert [toward for toward, _ in outs] == ["inside"]


def test_the_present_asks_after_a_load_and_beside_one() -> None:
    agent = crow_agent()
    agent.take(LOAD)
    agent.hear(answer(1, {}))
    ((_, asked),) = agent.hear(OLD_QUESTION)
    assert asked["method"] == "session/request_permission"
    busy = crow_agent()
    busy.take(request(2, "session/prompt", {"sessionId": "s", "prompt": []}))
    busy.take(LOAD)
    ((_, asked),) = busy.hear(OLD_QUESTION)
    assert asked["method"] == "session/request_permission"


@every(
    "arguments",
    [
        "git push --force",
        '{"command": "git push --force"}',
        '{"cmd": ["git", "push", "--force"]}',
        '{"line": "git push --force"}',
        '["git push --force"]',
    ],
)
def test_a_rule_that_denies_a_command_finds_it_in_crows_arguments(arguments: str) -> None:
    side = crow_agent()
    (asked,) = side.hear(update({**ASKED, "title": "shell", "arguments": arguments}))
    call = read(msgspec.json.encode(asked[1]["params"]["toolCall"]), v1.ToolCallUpdate)
    rules = '[[rule]]\ndecision = "deny"\ncommand = "git push"\n[[rule]]\ndecision = "allow"\n'
    assert policy(rules).decide(act_of_call(call, SETTING)).outcome in ("ask", "deny")
    assert policy(approve="reads").decide(act_of_call(call, SETTING)).outcome == "deny"
