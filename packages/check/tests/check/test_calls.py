"""Tool calls of a story, and the questions about them."""

from __future__ import annotations

from dragoman_check.calls import contents, permission_exchanges, tool_calls, turn_of, was_cancelled
from dragoman_check.conversation import Conversation
from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, says
from tests.check.rules.test_tools import asked, call, now


def conversation(talk: Talk) -> Conversation:
    return Conversation(talk.recording)


def test_a_call_that_is_replayed_has_another_life() -> None:
    load = {"sessionId": "s", "cwd": "/w", "mcpServers": []}
    talk = Talk().new("s").prompt("s", call(), now("completed"))
    talk.begin("session/load", load).add(call("completed")).answer()
    first, again = tool_calls(conversation(talk))
    assert [status for _, status in first.statuses()] == ["pending", "completed"]
    assert (first.is_replayed, again.is_replayed) == (False, True)


def test_a_replay_may_come_after_its_answer_and_ends_with_the_next_prompt() -> None:
    load = {"sessionId": "s", "cwd": "/w", "mcpServers": []}
    talk = Talk().call("session/load", load).add(call("completed")).prompt("s", call(id="d"))
    assert [one.is_replayed for one in tool_calls(conversation(talk))] == [True, False]


def test_a_choice_is_the_kind_of_the_chosen_option() -> None:
    talk = (
        Talk().new("s").prompt("s", *asked("yes")).prompt("s", *asked("no")).prompt("s", *asked("nobody's"))
    )
    assert [one.choice for one in permission_exchanges(conversation(talk))] == [
        "allow_once",
        "reject_once",
        "",
    ]
    assert [one.is_refused for one in permission_exchanges(conversation(talk))] == [False, True, False]


def test_a_question_without_an_answer_is_neither() -> None:
    (one,) = permission_exchanges(conversation(Talk().new("s").prompt("s", asked()[0])))
    assert not one.is_answered
    assert not one.is_allowed
    assert not one.is_refused


def test_content_is_found_in_updates_and_questions() -> None:
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", "content": [2]}, "options": []}
    talk = Talk().new("s").add(call(content=[1]), agent("session/request_permission", params, id=5))
    assert [item for _, item in contents(conversation(talk))] == [1, 2]


def test_a_frame_belongs_to_the_turn_around_it() -> None:
    one = conversation(Talk().new("s").prompt("s", says("s", "a")).prompt("s", says("s", "b")))
    frames = one.updates("agent_message_chunk")
    assert [turn_of(one, frame, "s") for frame in frames] == one.turns
    assert turn_of(one, frames[0], "other") is None


def test_a_turn_was_cancelled_if_somebody_tried() -> None:
    cancel = client("session/cancel", {"sessionId": "s"})
    one = conversation(Talk().new("s").prompt("s", cancel).prompt("s"))
    assert [was_cancelled(one, turn) for turn in one.turns] == [True, False]
