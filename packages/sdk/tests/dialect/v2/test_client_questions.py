"""What a v1 agent asks a v2 client: nothing but an offered option, chosen in time, is consent."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.message import answer, notification, refusal, request, update_of
from tests.dialect.v2.client_play import Outs, Play, begun, deviations, judged, shown
from tests.every import every
from tests.interop.judges import Sent, refused_by_python

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
CALL = {"toolCallId": "t", "title": "Write a file", "kind": "edit", "status": "pending"}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def running() -> Play:
    play = begun()
    play.asks(5, "session/prompt", sessionId="s", prompt=[{"type": "text", "text": "go"}])
    play.tells("agent_message_chunk", content={"type": "text", "text": "well"})
    return play


def ask(play: Play, request_id: Any = 90, **params: Any) -> Outs:
    asked = {"sessionId": "s", "toolCall": CALL, "options": OPTIONS, **params}
    return play.agent(request(request_id, "session/request_permission", asked))


def choose(play: Play, request_id: Any, option: Any = "yes") -> Outs:
    return play.client(answer(request_id, {"outcome": {"outcome": "selected", "optionId": option}}))


def test_a_permission_is_asked_with_title_and_subject() -> None:
    play = running()
    assert shown(ask(play, _meta={"why": "because"})) == ["requires_action", "session/request_permission"]
    asked = play.to_client[-1]
    assert asked.params == {
        "sessionId": "s",
        "title": "Write a file",
        "options": OPTIONS,
        "subject": {"type": "tool_call", "toolCall": CALL},
        "_meta": {"why": "because"},
    }
    assert deviations(judged([asked], {})) == []


def test_a_choice_is_passed_on_and_the_session_runs() -> None:
    play = running()
    ask(play)
    outs = choose(play, 90)
    assert outs[0] == ("inside", answer(90, {"outcome": {"outcome": "selected", "optionId": "yes"}}))
    assert shown(outs) == ["running"]


def test_a_question_acknowledges_the_prompt_it_is_about() -> None:
    play = begun()
    play.asks(5, "session/prompt", sessionId="s", prompt=[{"type": "text", "text": "go"}])
    wanted = ["answer 5", "user_message", "running", "requires_action", "session/request_permission"]
    assert shown(ask(play)) == wanted


@every(
    "said",
    [
        {"outcome": {"outcome": "selected", "optionId": "sure"}},
        {"outcome": {"outcome": "selected", "optionId": ["yes"]}},
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"outcome": "_approved", "optionId": "yes"}},
        {"outcome": "selected", "optionId": "yes"},
        {"outcome": {"outcome": "cancelled"}},
        {"approved": True},
        {},
        None,
        "yes",
    ],
)
def test_whatever_only_looks_like_consent_is_none(said: Any) -> None:
    play = running()
    ask(play)
    ((_, given), *_rest) = play.client(answer(90, said))
    assert given.result["outcome"] == {"outcome": "cancelled"}
    assert refused_by_python([Sent("RequestPermissionResponse", "", given.result)]) == []


def test_an_error_is_no_consent() -> None:
    play = running()
    ask(play)
    ((toward, given), *_rest) = play.client(refusal(90, -32601, "What?"))
    assert (toward, given.id, given.error["code"]) == ("inside", 90, -32601)


def test_an_answer_to_nothing_means_nothing() -> None:
    play = running()
    assert choose(play, 90) == []
    ask(play, 90)
    assert choose(play, "90") == []
    choose(play, 90)
    assert choose(play, 90) == []


def test_a_question_without_options_is_not_asked() -> None:
    play = running()
    outs = ask(play, options=[{"optionId": "yes"}, 3])
    assert outs == [("inside", answer(90, CANCELLED))]
    assert "a permission request without options" in play.noted


def test_a_question_about_no_session_is_refused() -> None:
    play = running()
    ((_, given),) = ask(play, sessionId=3)
    assert given.error["code"] == -32602


def test_a_question_about_no_tool_call_has_a_title_all_the_same() -> None:
    play = running()
    ask(play, toolCall=None)
    assert play.to_client[-1].params["title"] == "Permission required"
    assert "subject" not in play.to_client[-1].params


def test_a_cancel_answers_every_open_question_at_once() -> None:
    play = running()
    ask(play, 90)
    ask(play, 91)
    outs = play.client(notification("session/cancel", {"sessionId": "s"}))
    assert shown(outs, "inside") == ["session/cancel", "answer 90", "answer 91"]
    assert [message.result for way, message in outs if way == "inside"][1:] == [CANCELLED, CANCELLED]
    assert shown(outs) == ["$/cancel_request", "$/cancel_request", "running"]
    assert choose(play, 90) == []  # too late
    assert ask(play, 92) == [("inside", answer(92, CANCELLED))]


def test_a_cancel_leaves_the_questions_of_other_sessions_open() -> None:
    play = running()
    ask(play, 90, sessionId="other")
    outs = play.client(notification("session/cancel", {"sessionId": "s"}))
    assert shown(outs, "inside") == ["session/cancel"]
    assert shown(choose(play, 90), "inside") == ["answer 90"]


def test_the_session_waits_for_the_user_until_the_last_question_is_answered() -> None:
    play = running()
    assert shown(ask(play, 90))[0] == "requires_action"
    assert shown(ask(play, 91)) == ["session/request_permission"]
    assert shown(choose(play, 90)) == []
    assert shown(choose(play, 91)) == ["running"]


def test_an_agent_that_goes_on_working_is_not_waiting() -> None:
    play = running()
    ask(play)
    outs = play.tells("tool_call_update", toolCallId="other", status="completed")
    assert shown(outs) == ["running", "tool_call_update"]
    assert shown(choose(play, 90)) == []


def test_a_question_outside_of_a_turn_ends_in_idle() -> None:
    play = begun()
    assert shown(ask(play)) == ["requires_action", "session/request_permission"]
    assert shown(choose(play, 90)) == ["idle"]


def test_a_question_can_be_withdrawn_by_the_agent() -> None:
    play = running()
    ask(play, "q")
    outs = play.agent(notification("$/cancel_request", {"requestId": "q"}))
    assert outs == [("peer", notification("$/cancel_request", {"requestId": "q"}))]
    assert play.agent(notification("$/cancel_request", {"requestId": "other"})) == []
    assert shown(play.client(refusal("q", -32800, "Request cancelled")), "inside") == ["error q"]


def test_an_id_that_v2_cannot_hold_is_replaced() -> None:
    play = running()
    ask(play, None)
    outer = play.to_client[-1].id
    assert type(outer) is str
    assert choose(play, outer)[0][1].id is None


def test_an_id_that_is_open_is_not_used_twice() -> None:
    play = running()
    ask(play, 90)
    ask(play, 90)
    first, second = [
        message.id for message in play.to_client if message.method == "session/request_permission"
    ]
    assert first != second
    assert choose(play, second, "no")[0][1].result["outcome"]["optionId"] == "no"


def test_questions_are_answered_when_the_client_is_gone() -> None:
    play = running()
    ask(play, 90)
    play.agent(request(91, "elicitation/create", {"sessionId": "s", "message": "Who?", "mode": "form"}))
    play.agent(request(92, "_vendor/ask", {}))
    given: list[Any] = [message for _, message in play.edge.peer_ended()]
    assert given[0] == answer(90, CANCELLED)
    assert given[1] == answer(91, {"action": "cancel"})
    assert given[2].error["code"] == -32601


FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def elicit(play: Play, request_id: Any = 70, **params: Any) -> Outs:
    asked = {"mode": "form", "message": "Who?", "requestedSchema": FORM, **params}
    return play.agent(request(request_id, "elicitation/create", asked))


def test_a_form_is_asked_and_filled_in() -> None:
    play = running()
    assert shown(elicit(play, sessionId="s", requestId=5)) == ["requires_action", "elicitation/create"]
    asked = play.to_client[-1]
    assert asked.params == {"mode": "form", "message": "Who?", "requestedSchema": FORM, "sessionId": "s"}
    assert deviations(judged([asked], {})) == []
    filled = {"action": "accept", "content": {"name": "Ann", "age": 3, "tags": ["a"], "pet": {"kind": "cat"}}}
    ((_, given), *rest) = play.client(answer(70, filled))
    expected = {"name": "Ann", "age": 3, "tags": ["a"], "pet": '{"kind":"cat"}'}
    assert given.result == {"action": "accept", "content": expected}
    assert shown(rest) == ["running"]
    assert "a form's value that v1 cannot hold" in play.noted


@every(
    ("said", "heard"),
    [
        ({"action": "decline"}, {"action": "decline"}),
        ({"action": "cancel"}, {"action": "cancel"}),
        ({"action": "_later"}, {"action": "cancel"}),
        ({"content": {"name": "Ann"}}, {"action": "cancel"}),
        (None, {"action": "cancel"}),
        ({"action": "accept", "content": None, "_meta": {}}, {"action": "accept", "_meta": {}}),
    ],
)
def test_only_accept_is_accept(said: Any, heard: Any) -> None:
    play = running()
    elicit(play, sessionId="s")
    ((_, given), *_rest) = play.client(answer(70, said))
    assert given.result == heard


def test_a_form_of_a_prompt_that_was_acknowledged_belongs_to_its_session() -> None:
    play = running()
    elicit(play, requestId=5)
    assert play.to_client[-1].params["sessionId"] == "s"
    assert "requestId" not in play.to_client[-1].params


def test_a_form_of_an_open_request_belongs_to_it() -> None:
    play = running()
    play.asks("login", "auth/login", methodId="key")
    elicit(play, requestId="login")
    assert play.to_client[-1].params["requestId"] == "login"


@every("scope", [{}, {"requestId": 12}, {"requestId": None}, {"sessionId": 3}])
def test_a_form_of_nothing_is_refused(scope: dict[str, Any]) -> None:
    play = running()
    ((_, given),) = elicit(play, **scope)
    assert given.error["code"] == -32602
    assert "a form that belongs to no open request or session" in play.noted


def test_a_page_to_visit_is_shown_and_its_end_told() -> None:
    play = running()
    visit = {"mode": "url", "url": "https://example.org/in", "elicitationId": "e", "requestedSchema": None}
    elicit(play, sessionId="s", **visit)
    assert play.to_client[-1].params["url"] == "https://example.org/in"
    assert deviations(judged([play.to_client[-1]], {})) == []
    done = notification("elicitation/complete", {"elicitationId": "e"})
    assert play.agent(done) == [("peer", done)]
    assert shown(elicit(play, 71, sessionId="s", mode="url"), "inside") == ["error 71"]


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create"])
def test_files_and_terminals_are_not_lent(method: str) -> None:
    play = running()
    ((_, given),) = play.agent(request(60, method, {"sessionId": "s", "path": "/x"}))
    assert given.error["code"] == -32601
    assert "a wish for the client's files or terminals" in play.noted


def test_methods_of_extensions_pass_both_ways_and_those_of_nobody_do_not() -> None:
    play = running()
    asked = request(60, "_vendor/ask", {"a": 1})
    assert play.agent(asked) == [("peer", asked)]
    assert play.client(answer(60, [1])) == [("inside", answer(60, [1]))]
    note = notification("_vendor/note", {"a": 1})
    assert play.agent(note) == [("peer", note)]
    assert play.client(note) == [("inside", note)]
    assert shown(play.agent(request(61, "vendor/ask", {})), "inside") == ["error 61"]
    assert play.agent(notification("vendor/note", {})) == []
    assert {"a request of the agent that is not the protocol's"} < play.noted


def test_what_was_asked_is_what_the_client_sees() -> None:
    play = running()
    diff = {"type": "diff", "path": "a.txt", "oldText": "old\n", "newText": "new\n"}
    ask(play, toolCall={**CALL, "content": [diff], "locations": [{"path": "/home/ann/a.txt", "line": 0}]})
    call = play.to_client[-1].params["subject"]["toolCall"]
    assert call["content"][0]["changes"] == [
        {"operation": "modify", "path": "/home/ann/a.txt", "fileType": "text"}
    ]
    assert call["locations"] == [{"path": "/home/ann/a.txt"}]
    assert update_of(play.to_client[-2])["state"] == "requires_action"


def test_a_child_is_announced_speaks_and_asks_under_its_own_name() -> None:
    play = running()
    play.tells("subagent_update", sessionId="kid", title="Look", state={"state": "running"})
    play.tells("agent_message_chunk", "kid", content={"type": "text", "text": "hm"})
    told = [(one.params["sessionId"], update_of(one)["sessionUpdate"]) for one in play.to_client[-2:]]
    assert told == [("s", "subagent_update"), ("kid", "agent_message_chunk")]
    assert shown(ask(play, sessionId="kid")) == ["session/request_permission"]
    asked = play.to_client[-1]
    assert asked.params["sessionId"] == "kid"
    assert deviations(judged([asked], {})) == []
    outs = choose(play, 90)
    assert outs == [("inside", answer(90, {"outcome": {"outcome": "selected", "optionId": "yes"}}))]


def test_an_agent_is_told_that_every_v2_client_knows_children() -> None:
    play = Play()
    play.asks(1, "initialize", protocolVersion=2, capabilities={}, info={"name": "c", "version": "1"})
    assert play.to_agent[0].params["clientCapabilities"]["subagents"] == {}
