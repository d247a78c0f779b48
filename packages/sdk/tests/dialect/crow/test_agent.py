from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.crow.frames import CANCEL, ENDED, LOAD, NEW, PROMPT, SAID, SESSION, Frame, update
from tests.dialect.crow.stage import (
    Side,
    answer,
    crow_agent,
    failure,
    judged,
    notification,
    request,
)
from tests.every import every
from tests.interop.judges import refused_by_python


def peer(side: Side, frame: Frame) -> Frame:
    """The one thing that the agent hears."""
    ((toward, said),) = side.take(frame)
    assert toward == "peer"
    return said


def prompt(request_id: Any = 3, session: str = SESSION) -> Frame:
    return request(request_id, "session/prompt", {"sessionId": session, "prompt": PROMPT["params"]["prompt"]})


def test_a_whole_turn() -> None:
    side = crow_agent()
    assert peer(side, NEW) == NEW
    assert side.hear(answer(2, {"sessionId": SESSION})) == [("inside", answer(2, {"sessionId": SESSION}))]
    assert peer(side, prompt()) == PROMPT
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": SAID["text"]}}
    assert side.hear(update(SAID)) == [("inside", update(chunk))]
    assert side.hear(ENDED) == [("inside", answer(3, {"stopReason": "end_turn"}))]
    assert side.ledger.entries == []


def test_cancel_is_asked_for_under_an_id_of_its_own_and_its_answer_ends_here() -> None:
    side = crow_agent()
    peer(side, prompt())
    said = peer(side, notification("session/cancel", {"sessionId": SESSION}))
    assert (said["method"], said["params"]) == ("cancel", CANCEL["params"])
    assert said["id"] != 3
    assert side.hear(answer(said["id"], {})) == []
    assert side.hear(answer(3, {"stop_reason": "cancelled"})) == [
        ("inside", answer(3, {"stopReason": "cancelled"}))
    ]
    assert side.ledger.entries == []


def test_an_id_that_the_client_uses_is_not_used_for_a_cancel() -> None:
    side = crow_agent()
    first = peer(side, notification("session/cancel", {"sessionId": "s"}))["id"]
    side.hear(answer(first, {}))
    peer(side, prompt(first.replace("1", "2")))
    assert peer(side, notification("session/cancel", {"sessionId": "s"}))["id"] == first.replace("1", "3")


def test_withdrawing_a_prompt_cancels_its_turn() -> None:
    side = crow_agent()
    peer(side, prompt())
    assert peer(side, notification("$/cancel_request", {"requestId": 3}))["params"] == CANCEL["params"]
    assert side.take(notification("$/cancel_request", {"requestId": 99})) == []
    assert side.take(notification("$/cancel_request", {"requestId": {}})) == []


def test_a_session_is_loaded_without_servers_and_what_is_replayed_comes_before_the_answer() -> None:
    side = crow_agent()
    server = {"name": "eggs", "command": "/bin/eggs", "args": [], "env": []}
    params = {"sessionId": SESSION, "cwd": "/srv/nest", "mcpServers": [server]}
    assert peer(side, request(4, "session/load", {**params, "additionalDirectories": ["/x"]})) == LOAD
    assert side.lost == [
        "MCP servers of a session that is loaded",
        "further folders of a session that is loaded",
    ]
    ((_, said),) = side.hear(update({"@type": "user_message_text", "text": "Count."}))
    assert said["params"]["update"]["sessionUpdate"] == "user_message_chunk"
    assert side.hear(answer(4, None)) == [("inside", answer(4, {}))]


def test_more_than_v1_can_hold_in_an_answer_is_kept() -> None:
    side = crow_agent()
    for request_id, method, result in ((2, "session/new", {"session_id": "s"}), (4, "session/load", {})):
        side.take(request(request_id, method, {"cwd": "/srv", "sessionId": "s", "mcpServers": []}))
        ((_, said),) = side.hear(answer(request_id, {**result, "eggs": 4}))
        assert refused_by_python([judged(said, method)]) == []
        assert said["result"]["_meta"]["dragoman/dialect"]["raw"] == {**result, "eggs": 4}


@every("result", [None, 7, [], {}, {"sessionId": None}])
def test_a_session_without_an_id_is_an_error(result: Any) -> None:
    side = crow_agent()
    peer(side, NEW)
    ((_, said),) = side.hear(answer(2, result))
    assert said["error"]["code"] == -32603
    assert side.lost == ["an answer that makes no sense"]


@every("method", ["session/set_mode", "session/list", "authenticate", "sing"])
def test_what_crow_has_no_method_for_is_refused_to_the_client(method: str) -> None:
    side = crow_agent()
    ((toward, said),) = side.take(request(9, method, {}))
    assert (toward, said["error"]["code"]) == ("inside", -32601)
    assert side.take(notification(method, {})) == []
    assert side.lost == ["a request that crow has no method for", "a notification that crow does not know"]


@pytest.mark.parametrize("method", ["fs/read_text_file", "session/request_permission", "cancel"])
def test_what_is_not_crows_is_no_method(method: str) -> None:
    side = crow_agent()
    ((toward, said),) = side.hear(request(9, method, {}))
    assert (toward, said["error"]["code"]) == ("peer", -32601)
    assert side.hear(notification(method, {})) == []
    assert side.lost == ["a request that is not crow's", "a notification that is not crow's"]


def test_extensions_pass_both_ways_with_their_answers() -> None:
    side = crow_agent()
    for ask, reply in ((side.hear, side.take), (side.take, side.hear)):
        asked, told = request("e", "_nest/look", {"session_id": "s"}), notification("_nest/hint", {})
        assert [said for _, said in ask(asked)] == [asked]
        assert [said for _, said in ask(told)] == [told]
        assert [said for _, said in reply(failure("e", -32601))] == [failure("e", -32601)]
    assert side.ledger.entries == []


def test_answers_to_nothing_go_nowhere_and_complaints_are_passed_on() -> None:
    side = crow_agent()
    assert side.hear(answer(77, {})) == []
    assert side.take(answer(77, {})) == []
    assert side.lost == ["an answer to nothing"]
    complaint = failure(None, -32700, "Parse error")
    assert side.hear(complaint) == [("inside", complaint)]
    assert side.take(complaint) == [("peer", complaint)]


def test_ids_that_are_in_use_are_refused() -> None:
    side = crow_agent()
    peer(side, prompt())
    ((toward, said),) = side.take(prompt())
    assert (toward, said["error"]["code"]) == ("inside", -32600)
    side.hear(request("e", "_nest/look", {}))
    ((toward, said),) = side.hear(request("e", "_nest/look", {}))
    assert (toward, said["error"]["code"]) == ("peer", -32600)


def test_an_agent_that_ends_leaves_nobody_waiting() -> None:
    side = crow_agent()
    peer(side, prompt())
    peer(side, notification("session/cancel", {"sessionId": SESSION}))
    ((toward, said),) = side.end()
    assert (toward, said["id"], said["error"]["code"]) == ("inside", 3, -32603)
    assert side.end() == []
