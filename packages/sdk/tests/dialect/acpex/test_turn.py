"""How turns end: reasons, errors that are none, and content in the answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.acpex.stage import BOTH, Stage, text
from tests.dialect.edges import bare
from tests.every import every

SPEECH = {"kind": "agent_message_chunk", "content": {"role": "assistant", "content": [text("All is well.")]}}


def ended(result: Any, *updates: Any, dialect: str = "acpex") -> tuple[list[Any], Stage]:
    """What a v1 client gets at the end of a turn."""
    agent = Stage("agent", dialect)
    agent.asked("session/prompt", {"sessionId": "s", "prompt": [text("go")]}, 2)
    for update in updates:
        agent.updated(update)
    return [frame for _, frame in agent.hear({"id": 2, "result": result})], agent


def told(answer: Any, dialect: str = "acpex") -> tuple[Any, Stage]:
    """What an acpex client is told at the end of a turn."""
    client = Stage("client", dialect)
    client.asked("session/prompt", {"sessionId": "s", "content": [text("go")]}, 2)
    ((_, said),) = client.take({"id": 2, **answer})
    return said, client


@every("dialect", BOTH)
@every(
    ("reason", "v1"),
    [
        ("done", "end_turn"),
        ("cancelled", "cancelled"),
        ("length", "max_tokens"),
        ("refusal", "refusal"),
        ("tired", "end_turn"),
    ],
)
def test_a_reason_is_read_and_comes_back(dialect: str, reason: str, v1: str) -> None:
    (answer,), _ = ended({"stopReason": reason}, dialect=dialect)
    assert answer["result"]["stopReason"] == v1
    assert told(answer, dialect)[0]["result"]["stopReason"] == reason


@every(
    ("v1", "reason"),
    [("end_turn", "done"), ("cancelled", "cancelled"), ("max_tokens", "max_tokens"), ("refusal", "refusal")],
)
def test_a_reason_of_v1_is_said(v1: str, reason: str) -> None:
    said, client = told({"result": {"stopReason": v1}})
    assert said["result"] == {"stopReason": reason, "content": []}
    assert bool(client.repaired) == (v1 not in ("end_turn", "cancelled"))
    assert told({"result": {"stopReason": v1}}, "acpex-wire")[0]["result"] == {"stopReason": reason}


@pytest.mark.parametrize("dialect", BOTH)
def test_an_end_by_error_is_an_error_in_v1_and_comes_back(dialect: str) -> None:
    (answer,), agent = ended({"stopReason": "error"}, dialect=dialect)
    assert answer["error"]["code"] == -32603
    assert agent.repaired[0] == "stop reason error"
    assert told({"error": answer["error"]}, dialect)[0]["result"]["stopReason"] == "error"


def test_content_of_a_silent_turn_is_said_before_the_answer() -> None:
    (speech, answer), agent = ended({"stopReason": "done", "content": [text("Hoo.")]})
    assert speech["params"]["update"] == {"sessionUpdate": "agent_message_chunk", "content": text("Hoo.")}
    assert bare(answer["result"]) == {"stopReason": "end_turn"}
    assert agent.repaired == ["content in a final answer that was not streamed"]


def test_content_that_is_news_after_other_words_is_said_too() -> None:
    (speech, _), _ = ended({"stopReason": "done", "content": [text("And done.")]}, SPEECH)
    assert speech["params"]["update"]["content"] == text("And done.")


def test_content_that_repeats_what_was_streamed_is_not_said_twice_but_comes_back() -> None:
    result = {"stopReason": "done", "content": [text("All is well.")]}
    (answer,), agent = ended(result, SPEECH)
    assert bare(answer["result"]) == {"stopReason": "end_turn"}
    assert agent.repaired == ["content in a final answer that was streamed"]
    assert told(answer)[0]["result"] == result


def test_what_another_session_said_does_not_count() -> None:
    agent = Stage("agent")
    agent.asked("session/prompt", {"sessionId": "s", "prompt": []}, 2)
    agent.asked("session/prompt", {"sessionId": "other", "prompt": []}, 3)
    agent.updated(SPEECH, "other")
    outs = agent.hear({"id": 2, "result": {"stopReason": "done", "content": [text("All is well.")]}})
    assert len(outs) == 2


def test_what_an_earlier_turn_said_does_not_count() -> None:
    agent = Stage("agent")
    for request in (2, 3):
        agent.asked("session/prompt", {"sessionId": "s", "prompt": []}, request)
        if request == 2:
            agent.updated(SPEECH)
        outs = agent.hear({"id": request, "result": {"stopReason": "done", "content": "All is well."}})
        assert len(outs) == request - 1


@every("result", [None, "done", [], {"stopReason": 4}, {"content": {"a": 1}}, {"_meta": 3}])
def test_an_end_of_no_shape_is_still_an_answer(result: Any) -> None:
    answers, _ = ended(result)
    assert len(answers) == 1
    assert answers[0]["id"] == 2
    assert bare(answers[0]["result"])["stopReason"] == "end_turn"
