"""Prompts of a v2 client: acknowledged when the agent works on them, done when the session is idle."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.message import notification, update_of
from tests.dialect.v2.client_play import Outs, Play, begun, shown
from tests.every import every
from tests.interop.judges import Sent, refused_by_python

TEXT = {"type": "text", "text": "hello"}


def prompt(play: Play, request_id: Any = 5, *blocks: Any) -> Outs:
    return play.asks(request_id, "session/prompt", sessionId="s", prompt=list(blocks) or [TEXT])


def say(play: Play, text: str = "hi") -> Outs:
    return play.tells("agent_message_chunk", content={"type": "text", "text": text})


def last_state(play: Play) -> dict[str, Any]:
    return [one for one in map(update_of, play.to_client) if one.get("sessionUpdate") == "state_update"][-1]


def test_a_prompt_is_acknowledged_by_the_first_update_of_its_turn() -> None:
    play = begun()
    assert shown(prompt(play)) == []
    assert shown(say(play)) == ["answer 5", "user_message", "running", "agent_message_chunk"]
    acknowledged, message = play.to_client[-4], update_of(play.to_client[-3])
    assert acknowledged.result == {"messageId": message["messageId"]}
    assert message["content"] == [TEXT]
    assert shown(say(play)) == ["agent_message_chunk"]
    assert shown(play.answers(5, stopReason="end_turn")) == ["idle"]
    assert last_state(play) == {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}


def test_a_prompt_whose_turn_says_nothing_is_acknowledged_by_its_answer() -> None:
    play = begun()
    prompt(play)
    outs = play.answers(
        5, stopReason="refusal", usage={"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
    )
    assert shown(outs) == ["answer 5", "user_message", "running", "idle"]
    assert last_state(play)["stopReason"] == "refusal"
    assert "usage" not in last_state(play)


def test_usage_is_told_to_a_client_that_asked_for_it() -> None:
    play = begun(offers={"_meta": {"dragoman": {"usage": True}}})
    prompt(play)
    play.answers(5, stopReason="end_turn", usage={"totalTokens": 3, "inputTokens": 1, "outputTokens": 2})
    assert last_state(play)["usage"]["totalTokens"] == 3


@every(
    ("kind", "fields"),
    [
        ("available_commands_update", {"availableCommands": []}),
        ("session_info_update", {"title": "A title"}),
        ("usage_update", {"used": 1, "size": 2}),
        ("notice", {"severity": "info", "title": "By the way"}),
    ],
)
def test_what_any_session_may_tell_acknowledges_nothing(kind: str, fields: dict[str, Any]) -> None:
    play = begun()
    prompt(play)
    assert shown(play.tells(kind, **fields)) == [kind]


def test_a_prompt_that_the_agent_refuses_was_never_said() -> None:
    play = begun()
    prompt(play)
    assert shown(play.fails(5, -32000)) == ["error 5"]
    assert play.to_client[-1].error["code"] == -32000
    assert shown(prompt(play, 6), "inside") == ["session/prompt"]


def test_a_failure_after_the_acknowledgement_is_a_state() -> None:
    play = begun()
    prompt(play)
    say(play)
    assert shown(play.fails(5, -32603)) == ["idle"]
    assert last_state(play)["stopReason"] == "error"
    assert last_state(play)["error"] == {"code": -32603, "message": "it failed"}
    assert "an error after a prompt was acknowledged" in play.noted


@pytest.mark.parametrize(
    "answer", [{}, {"stopReason": 3}, {"stopReason": None, "usage": {"totalTokens": -1}}]
)
def test_an_answer_that_says_nothing_ends_the_turn_all_the_same(answer: dict[str, Any]) -> None:
    play = begun()
    prompt(play)
    assert shown(play.answers(5, **answer))[-1] == "idle"
    assert "stopReason" not in last_state(play)


def test_a_second_prompt_waits_unacknowledged_until_the_session_is_idle() -> None:
    play = begun()
    prompt(play, 5)
    say(play)
    assert prompt(play, 6) == []
    assert prompt(play, 7) == []
    outs = play.answers(5, stopReason="end_turn")
    assert shown(outs) == ["idle"]
    assert [(message.method, message.id) for way, message in outs if way == "inside"] == [
        ("session/prompt", 6)
    ]
    assert shown(say(play)) == ["answer 6", "user_message", "running", "agent_message_chunk"]
    assert shown(play.answers(6, stopReason="end_turn"), "inside") == ["session/prompt"]


def test_each_message_has_an_id_of_its_own() -> None:
    play = begun(nonce="abc")
    ids = []
    for n in range(3):
        prompt(play, n + 10)
        say(play)
        play.answers(n + 10, stopReason="end_turn")
        ids += [update["messageId"] for update in map(update_of, play.to_client) if "messageId" in update]
    assert len(set(ids)) == 6
    assert all(one.startswith("dragoman-abc-") for one in ids)


@every("blocks", [[], None, "hello", [{"type": "text"}], [TEXT, 3]])
def test_a_prompt_without_content_never_reaches_the_agent(blocks: Any) -> None:
    play = begun()
    outs = play.asks(5, "session/prompt", sessionId="s", prompt=blocks)
    assert shown(outs) == ["error 5"]
    assert play.to_client[-1].error["code"] == -32602


def test_a_prompt_without_a_session_is_refused() -> None:
    play = begun()
    assert shown(play.asks(5, "session/prompt", prompt=[TEXT])) == ["error 5"]


def test_content_that_v1_does_not_know_is_described_to_the_agent_and_shown_as_it_was() -> None:
    play = begun()
    hologram = {"type": "_hologram", "beams": 3}
    prompt(play, 5, hologram)
    given = play.to_agent[-1].params
    assert given["prompt"][0]["type"] == "text"
    assert refused_by_python([Sent("PromptRequest", "session/prompt", given)]) == []
    say(play)
    assert update_of(play.to_client[-3])["content"] == [hologram]


def test_an_agent_that_echoes_the_prompt_does_not_say_it_twice() -> None:
    play = begun()
    prompt(play, 5, TEXT, {"type": "text", "text": "again"})
    echoed = play.tells("user_message_chunk", content=TEXT)
    assert shown(echoed) == ["answer 5", "user_message", "running"]
    assert shown(play.tells("user_message_chunk", content={"type": "text", "text": "again"})) == []
    other = play.tells("user_message_chunk", content={"type": "text", "text": "something else"})
    assert shown(other) == ["user_message_chunk"]


def test_a_cancel_reaches_the_agent_and_ends_what_is_held() -> None:
    play = begun()
    prompt(play, 5)
    prompt(play, 6)
    say(play)
    outs = play.client(notification("session/cancel", {"sessionId": "s"}))
    assert shown(outs, "inside") == ["session/cancel"]
    assert shown(outs) == ["error 6"]
    assert play.to_client[-1].error["code"] == -32800
    assert prompt(play, 7) == []  # said after the cancel: it is not meant
    outs = play.answers(5, stopReason="cancelled")
    assert last_state(play)["stopReason"] == "cancelled"
    assert shown(outs, "inside") == ["session/prompt"]


def test_a_failure_after_a_cancel_is_a_cancelled_turn() -> None:
    play = begun()
    prompt(play)
    say(play)
    play.client(notification("session/cancel", {"sessionId": "s"}))
    play.fails(5, -32603)
    assert last_state(play)["stopReason"] == "cancelled"


def test_a_failure_after_a_cancel_that_came_before_any_sign_is_a_cancelled_prompt() -> None:
    play = begun()
    prompt(play)
    play.client(notification("session/cancel", {"sessionId": "s"}))
    assert shown(play.fails(5, -32603)) == ["error 5"]
    assert play.to_client[-1].error["code"] == -32800


def test_a_held_prompt_can_be_withdrawn() -> None:
    play = begun()
    prompt(play, 5)
    prompt(play, 6)
    outs = play.client(notification("$/cancel_request", {"requestId": 6}))
    assert shown(outs) == ["error 6"]
    assert shown(outs, "inside") == []
    assert shown(play.answers(5, stopReason="end_turn"), "inside") == []


def test_an_open_prompt_can_be_withdrawn_but_not_an_acknowledged_one() -> None:
    play = begun()
    prompt(play, 5)
    withdrawal = notification("$/cancel_request", {"requestId": 5})
    assert shown(play.client(withdrawal), "inside") == ["$/cancel_request"]
    say(play)
    assert play.client(withdrawal) == []
    assert play.client(notification("$/cancel_request", {"requestId": [5]})) == []


def test_the_id_of_an_acknowledged_prompt_may_be_used_again() -> None:
    play = begun()
    prompt(play, 5)
    say(play)
    (listed,) = play.asks(5, "session/list")
    assert listed[1].id != 5
    assert shown(play.answers(listed[1].id, sessions=[])) == ["answer 5"]
    assert shown(play.answers(5, stopReason="end_turn")) == ["idle"]
    play.asks("x", "session/list")
    withdrawn = play.client(notification("$/cancel_request", {"requestId": "x"}))
    assert shown(withdrawn, "inside") == ["$/cancel_request"]


def test_updates_after_the_answer_start_no_turn() -> None:
    play = begun()
    prompt(play)
    play.answers(5, stopReason="end_turn")
    assert shown(say(play)) == ["agent_message_chunk"]
    assert last_state(play)["state"] == "idle"
