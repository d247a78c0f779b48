"""What a session tells a v2 client: messages with ids, calls as upserts, options as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.message import Message, notification, update_of
from tests.dialect.v2.client_play import Play, begun, shown
from tests.every import every

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def ids(play: Play) -> list[str]:
    return [update["messageId"] for update in map(update_of, play.to_client) if "messageId" in update]


def test_chunks_of_one_kind_in_a_row_are_one_message() -> None:
    play = begun()
    for kind in ("agent_thought_chunk", "agent_thought_chunk", "agent_message_chunk", "agent_thought_chunk"):
        play.tells(kind, content=text("x"))
    first, second, third, fourth = ids(play)
    assert first == second
    assert len({first, third, fourth}) == 3
    assert "a chunk without a message id" in play.noted


def test_a_tool_call_ends_a_message() -> None:
    play = begun()
    play.tells("agent_message_chunk", content=text("a"))
    play.tells("tool_call", toolCallId="t", title="T")
    play.tells("agent_message_chunk", content=text("b"))
    assert len(set(ids(play))) == 2


def test_an_id_that_the_agent_gives_is_kept() -> None:
    play = begun()
    play.tells("agent_message_chunk", content=text("a"), messageId="m")
    play.tells("agent_message_chunk", content=text("b"), messageId="m")
    assert ids(play) == ["m", "m"]
    assert play.noted == set()


def test_what_stands_beside_an_update_stays_there() -> None:
    play = begun()
    update = {
        "sessionUpdate": "agent_message_chunk",
        "messageId": "m",
        "content": text("a"),
        "_meta": {"a": 1},
    }
    params = {"sessionId": "s", "update": update, "_meta": {"b": 2}}
    assert play.agent(notification("session/update", params)) == [
        ("peer", notification("session/update", params))
    ]


def test_a_tool_call_is_an_upsert_without_nulls() -> None:
    play = begun()
    play.tells("tool_call", toolCallId="t", title="T", kind="read", rawInput=None, content=[], _meta={"a": 1})
    assert update_of(play.to_client[-1]) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "title": "T",
        "kind": "read",
        "content": [],
        "_meta": {"a": 1},
    }
    play.tells("tool_call_update", toolCallId="t", status="completed", title=None, rawOutput={"n": None})
    assert update_of(play.to_client[-1]) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "completed",
        "rawOutput": {"n": None},
    }


def test_a_terminal_is_shown_before_the_call_that_shows_it() -> None:
    play = begun()
    shows = {"content": [{"type": "terminal", "terminalId": "x"}]}
    assert shown(play.tells("tool_call", toolCallId="t", title="T", **shows)) == [
        "terminal_update",
        "tool_call_update",
    ]
    assert shown(play.tells("tool_call_update", toolCallId="t", **shows)) == ["tool_call_update"]


def test_a_change_of_mode_tells_all_options() -> None:
    play = begun(new={"modes": MODES})
    play.tells("current_mode_update", currentModeId="do")
    (option,) = update_of(play.to_client[-1])["configOptions"]
    assert (option["configId"], option["currentValue"]) == ("mode", "do")


@pytest.mark.parametrize("mode", ["unheard of", None, ["do"]])
def test_a_mode_that_nobody_offered_is_not_told(mode: Any) -> None:
    assert begun(new={"modes": MODES}).tells("current_mode_update", currentModeId=mode) == []
    assert begun().tells("current_mode_update", currentModeId=mode) == []


def test_a_change_of_options_keeps_the_modes() -> None:
    play = begun(new={"modes": MODES})
    play.tells("current_mode_update", currentModeId="do")
    play.tells(
        "config_option_update",
        configOptions=[{"id": "x", "type": "boolean", "name": "X", "currentValue": True}],
    )
    told = update_of(play.to_client[-1])["configOptions"]
    assert [(one["configId"], one["currentValue"]) for one in told] == [("x", True), ("mode", "do")]


@every("update", [None, [], {}, {"sessionUpdate": None}, {"sessionUpdate": ["plan"]}])
def test_an_update_of_nothing_is_not_told(update: Any) -> None:
    play = begun()
    assert play.agent(notification("session/update", {"sessionId": "s", "update": update})) == []
    assert play.agent(notification("session/update", {"update": {"sessionUpdate": "plan"}})) == []
    assert play.agent(Message("2.0", method="session/update")) == []


def test_an_update_of_a_kind_that_nobody_knows_is_passed_on() -> None:
    play = begun()
    assert shown(play.tells("_weather", sunny=True)) == ["_weather"]


def test_a_session_that_speaks_before_it_has_a_name_is_heard_after_it() -> None:
    play = begun()
    play.asks(2, "session/new", cwd="/")
    play.asks(3, "session/new", cwd="/")
    assert play.tells("session_info_update", "t", title="T") == []
    assert play.tells("session_info_update", "u", title="U") == []
    assert shown(play.tells("session_info_update", "s", title="S")) == ["session_info_update"]
    assert shown(play.answers(2, sessionId="t")) == ["answer 2", "session_info_update"]
    assert shown(play.fails(3, -32603)) == ["error 3", "session_info_update"]


def test_a_session_that_nobody_asked_for_is_heard() -> None:
    play = begun()
    assert shown(play.tells("agent_message_chunk", "child", content=text("hi"))) == ["agent_message_chunk"]
