"""Sessions that begin, end and come back, with agents that know less of this than v2 asks for."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.message import answer, notification, request, update_of
from tests.dialect.v2.client_play import Outs, Play, begun, shown
from tests.every import every

TEXT = {"type": "text", "text": "hello"}
NOTHING: dict[str, Any] = {}
ONLY_LOAD = {"loadSession": True}
START = {"type": "start"}
MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]}


def prompt(play: Play, request_id: Any = 5) -> Outs:
    return play.asks(request_id, "session/prompt", sessionId="s", prompt=[TEXT])


def say(play: Play, kind: str = "agent_message_chunk", **more: Any) -> Outs:
    return play.tells(kind, content=TEXT, **more)


def resume(play: Play, request_id: Any = 8, **more: Any) -> Outs:
    return play.asks(request_id, "session/resume", sessionId="s", cwd="/home/ann", **more)


def close(play: Play, request_id: Any = 9) -> Outs:
    return play.asks(request_id, "session/close", sessionId="s")


def inside(outs: Outs) -> list[Any]:
    return [message for way, message in outs if way == "inside"]


def test_a_replay_from_the_start_is_what_v1_calls_a_load() -> None:
    play = begun()
    (asked,) = inside(
        resume(play, replayFrom=START, mcpServers=[{"type": "stdio", "name": "m", "command": "/m"}])
    )
    assert asked.method == "session/load"
    assert asked.params == {
        "sessionId": "s",
        "cwd": "/home/ann",
        "mcpServers": [{"name": "m", "command": "/m", "args": [], "env": []}],
    }
    assert shown(say(play, "user_message_chunk")) == ["user_message", "user_message_chunk"]
    assert shown(say(play)) == ["agent_message", "agent_message_chunk"]
    assert shown(play.answers(8, modes=MODES)) == ["idle", "answer 8"]
    assert [option["configId"] for option in play.to_client[-1].result["configOptions"]] == ["mode"]


def test_each_replay_empties_a_message_once_before_its_chunks() -> None:
    # v2, session setup: a client that has the message already would append to it.
    play = begun()
    for number in (8, 9):
        resume(play, number, replayFrom=START)
        first = [update_of(message) for _, message in say(play, "user_message_chunk", messageId="m")]
        assert [(update["sessionUpdate"], update["messageId"]) for update in first] == [
            ("user_message", "m"),
            ("user_message_chunk", "m"),
        ]
        assert first[0]["content"] == []
        assert shown(say(play, "user_message_chunk", messageId="m")) == ["user_message_chunk"]
        play.answers(number)
    assert shown(say(play, "agent_message_chunk", messageId="n")) == ["agent_message_chunk"]


def test_a_resume_without_replay_is_a_resume() -> None:
    play = begun()
    (asked,) = inside(resume(play, replayFrom=None))
    assert asked.method == "session/resume"
    assert "replayFrom" not in asked.params
    assert shown(play.answers(8)) == ["idle", "answer 8"]
    assert play.to_client[-1].result == {}


def test_an_agent_that_can_only_load_resumes_without_showing_it() -> None:
    play = begun(capabilities=ONLY_LOAD)
    (asked,) = inside(resume(play))
    assert asked.method == "session/load"
    assert say(play, "user_message_chunk") == []
    assert shown(play.tells("session_info_update", title="Old")) == ["session_info_update"]
    assert shown(play.answers(8)) == ["idle", "answer 8"]
    assert shown(say(play)) == ["agent_message_chunk"]
    assert "session/resume at an agent that can only load" in play.noted


def test_a_replay_after_the_answer_is_swallowed_too_until_the_next_prompt() -> None:
    play = begun(capabilities=ONLY_LOAD)
    resume(play)
    play.answers(8)
    assert say(play, "user_message_chunk") == []
    assert say(play) == []
    prompt(play)
    assert shown(say(play))[-1] == "agent_message_chunk"


@every("cursor", [{"type": "_message", "id": "m"}, {}, "start", 3])
def test_a_replay_from_elsewhere_is_refused(cursor: Any) -> None:
    play = begun()
    assert shown(resume(play, replayFrom=cursor)) == ["error 8"]
    assert play.to_client[-1].error["code"] == -32602


def test_a_replay_by_an_agent_that_cannot_is_refused() -> None:
    play = begun(capabilities={"sessionCapabilities": {"resume": {}}})
    resume(play, replayFrom=START)
    assert play.to_client[-1].error["code"] == -32602
    assert shown(resume(play, 10), "inside") == ["session/resume"]


def test_an_agent_that_can_neither_is_answered_for() -> None:
    play = begun(capabilities=NOTHING, new={"modes": MODES})
    assert shown(resume(play)) == ["idle", "answer 8"]
    assert play.to_client[-1].result["configOptions"][0]["currentValue"] == "ask"
    play.asks(10, "session/resume", sessionId="unheard of", cwd="/")
    assert play.to_client[-1].error["code"] == -32002
    assert play.to_client[-1].error["data"] == {"sessionId": "unheard of"}
    assert "session/resume at an agent that cannot" in play.noted


def test_a_load_that_fails_is_told_as_it_failed() -> None:
    play = begun()
    resume(play, replayFrom=START)
    assert shown(play.fails(8, -32002)) == ["error 8"]
    assert play.to_client[-1].error["data"] == {"sessionId": "s"}


def test_a_prompt_during_a_load_waits_for_it() -> None:
    play = begun()
    resume(play, replayFrom=START)
    assert prompt(play) == []
    assert shown(say(play)) == ["agent_message", "agent_message_chunk"]
    assert shown(play.answers(8), "inside") == ["session/prompt"]


def test_a_session_that_runs_is_resumed_as_running() -> None:
    play = begun()
    prompt(play)
    say(play)
    resume(play)
    assert shown(play.answers(8)) == ["running", "answer 8"]


def test_a_resume_without_session_or_folder_is_refused() -> None:
    play = begun()
    assert shown(play.asks(8, "session/resume", cwd="/")) == ["error 8"]
    assert shown(play.asks(9, "session/resume", sessionId="s")) == ["error 9"]


def test_a_close_waits_for_the_last_updates_and_for_idle() -> None:
    play = begun()
    prompt(play, 5)
    say(play)
    prompt(play, 6)
    outs = close(play)
    assert shown(outs) == ["error 6"]
    assert play.to_client[-1].error["code"] == -32800
    assert shown(outs, "inside") == ["session/close"]
    assert play.answers(9) == []
    assert shown(say(play)) == ["agent_message_chunk"]
    assert shown(play.answers(5, stopReason="cancelled")) == ["idle", "answer 9"]
    assert say(play) == []
    assert "an update of a closed session" in play.noted


def test_a_close_whose_turn_ended_first_is_answered_when_the_agent_answers() -> None:
    play = begun()
    prompt(play)
    close(play)
    assert shown(play.answers(5, stopReason="cancelled"))[-1] == "idle"
    assert shown(play.answers(9)) == ["answer 9"]


def test_a_session_that_is_not_there_is_closed() -> None:
    play = begun()
    close(play)
    play.fails(9, -32002)
    assert play.to_client[-1].result == {}
    play.asks(10, "session/close", sessionId="other")
    assert shown(play.fails(10, -32603)) == ["error 10"]


def test_an_agent_without_close_is_cancelled_and_its_session_forgotten() -> None:
    play = begun(capabilities=NOTHING)
    prompt(play)
    say(play)
    assert shown(close(play), "inside") == ["session/cancel"]
    assert shown(prompt(play, 6)) == ["error 6"]
    assert shown(play.answers(5, stopReason="cancelled")) == ["idle", "answer 9"]
    assert shown(prompt(play, 7)) == ["error 7"]
    assert play.to_client[-1].error["code"] == -32002
    assert "session/close at an agent without it" in play.noted


def test_an_agent_without_close_has_nothing_to_do_for_an_idle_session() -> None:
    play = begun(capabilities=NOTHING)
    assert close(play) == [("peer", answer(9, {}))]
    assert play.asks(10, "session/close", sessionId="other") == [("peer", answer(10, {}))]


def test_a_close_cancels_open_questions() -> None:
    play = begun()
    prompt(play)
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    asked = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
    play.agent(request(90, "session/request_permission", asked))
    outs = close(play)
    assert shown(outs, "inside") == ["answer 90", "session/close"]


def test_a_closed_session_can_be_resumed() -> None:
    play = begun()
    close(play)
    play.answers(9)
    resume(play, replayFrom=START)
    assert shown(say(play)) == ["agent_message", "agent_message_chunk"]
    play.answers(8)
    assert shown(prompt(play), "inside") == ["session/prompt"]


def test_a_cancel_of_a_session_that_nobody_knows_is_the_agents_business() -> None:
    play = begun()
    cancel = notification("session/cancel", {"sessionId": "other"})
    assert play.client(cancel) == [("inside", cancel)]
    assert update_of(play.to_client[-1]) == {}
