from __future__ import annotations

from typing import Any

from dragoman.dialect import EdgeSettings
from tests.dialect.crow.frames import CANCEL, INITIALIZE, LOAD, NEW, PROMPT, SESSION, Frame, update
from tests.dialect.crow.stage import (
    Side,
    answer,
    crow_client,
    failure,
    judged,
    notification,
    request,
)
from tests.every import every
from tests.interop.judges import refused_by_python

SERVER = {"name": "eggs", "command": "/bin/eggs", "args": [], "env": []}


def inside(side: Side, frame: Frame) -> Frame:
    """The one thing that the agent hears."""
    ((toward, said),) = side.hear(frame)
    assert toward == "inside"
    assert refused_by_python([judged(said)]) == []
    return said


def refused(side: Side, frame: Frame) -> int:
    ((toward, said),) = side.hear(frame)
    assert (toward, said["id"]) == ("peer", frame["id"])
    code: int = said["error"]["code"]
    return code


def test_a_whole_turn() -> None:
    side = crow_client()
    inside(side, INITIALIZE)
    side.take(answer(1, {"protocolVersion": 1, "agentInfo": {"name": "jay", "version": "1"}}))
    assert inside(side, NEW)["params"] == NEW["params"]
    assert side.take(answer(2, {"sessionId": SESSION})) == [("peer", answer(2, {"sessionId": SESSION}))]
    said = inside(side, PROMPT)
    assert said["params"] == {"sessionId": SESSION, "prompt": PROMPT["params"]["prompt"]}
    text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Four."}}
    assert side.take(update(text)) == [("peer", update({"@type": "agent_message_text", "text": "Four."}))]
    ended = side.take(answer(3, {"stopReason": "end_turn"}))
    assert ended == [("peer", answer(3, {"stop_reason": "end_turn"}))]
    assert side.ledger.entries == []


def test_cancel_is_answered_at_once_and_the_prompt_ends_cancelled() -> None:
    side = crow_client()
    inside(side, PROMPT)
    assert side.hear(CANCEL) == [
        ("inside", notification("session/cancel", {"sessionId": SESSION})),
        ("peer", answer(5, {})),
    ]
    ended = side.take(answer(3, {"stopReason": "cancelled"}))
    assert ended == [("peer", answer(3, {"stop_reason": "cancelled"}))]


def test_cancel_may_be_told_without_asking() -> None:
    cancelled = [("inside", notification("session/cancel", {"sessionId": SESSION}))]
    assert crow_client().hear(notification("cancel", CANCEL["params"])) == cancelled


def test_load_replays_everything_before_it_is_answered() -> None:
    side = crow_client(EdgeSettings(mcp_servers=(SERVER,)))
    said = inside(side, LOAD)
    assert said["params"] == {"sessionId": SESSION, "cwd": "/srv/nest", "mcpServers": [SERVER]}
    chunk = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Count."}}
    assert side.take(update(chunk)) == [("peer", update({"@type": "user_message_text", "text": "Count."}))]
    assert side.take(answer(4, {})) == [("peer", answer(4, {}))]


def test_what_a_session_offers_is_told_in_the_spelling_of_the_answer() -> None:
    side = crow_client()
    modes = {"currentModeId": "day", "availableModes": []}
    inside(side, NEW)
    ((_, said),) = side.take(answer(2, {"sessionId": SESSION, "modes": modes}))
    assert said["result"]["modes"] == modes
    inside(side, LOAD)
    ((_, said),) = side.take(answer(4, {"modes": modes}))
    assert said["result"]["modes"] == {"current_mode_id": "day", "available_modes": []}
    assert side.repaired == ["modes and options of a session"]


def test_a_session_without_a_folder_opens_in_the_configured_one() -> None:
    side = crow_client(EdgeSettings(cwd="/configured"))
    assert inside(side, request(2, "session/new", {}))["params"] == {"cwd": "/configured", "mcpServers": []}
    assert side.repaired == ["a session without a folder"]


def test_prompts_may_hold_blocks_in_either_spelling() -> None:
    image = {"type": "image", "data": "aGk=", "mime_type": "image/png"}
    params = {"session_id": SESSION, "prompt": [image, {**image, "mimeType": "image/gif"}]}
    said = inside(crow_client(), request(3, "session/prompt", params))
    kinds = [block["mimeType"] for block in said["params"]["prompt"]]
    assert kinds == ["image/png", "image/gif"]


def test_members_that_nobody_knows_do_no_harm() -> None:
    block = {"type": "text", "text": "Count.", "mood": "grim"}
    side = crow_client()
    frame = request(3, "session/prompt", {"session_id": SESSION, "prompt": [block], "urgency": 3})
    said = inside(side, frame)
    assert said["params"]["prompt"] == [block]
    assert side.repaired == ["members that v1 does not name"]


@every(
    ("method", "params"),
    [
        ("session/new", {"cwd": 7}),
        ("session/new", {"mcpServers": "all"}),
        ("session/new", {"mcpServers": [{"name": "x"}]}),
        ("session/load", {"cwd": "/srv"}),
        ("session/load", {"session_id": [], "cwd": "/srv"}),
        ("session/prompt", {"session_id": SESSION}),
        ("session/prompt", {"session_id": SESSION, "prompt": "hello"}),
        ("session/prompt", {"session_id": SESSION, "prompt": [{"type": "text"}]}),
        ("session/prompt", {"session_id": SESSION, "prompt": [7]}),
        ("session/prompt", {"prompt": []}),
        ("session/prompt", None),
        ("session/prompt", [1]),
        ("cancel", {}),
        ("cancel", {"session_id": 3}),
        ("cancel", 7),
    ],
)
def test_params_that_make_no_sense_are_refused_before_the_agent_hears_of_them(
    method: str, params: Any
) -> None:
    assert refused(crow_client(), request(9, method, params)) == -32602


@every("method", ["session/set_mode", "session/list", "authenticate", "fs/read_text_file", ""])
def test_what_is_not_crows_is_no_method(method: str) -> None:
    side = crow_client()
    assert refused(side, request(9, method, {})) == -32601
    assert side.hear(notification(method, {})) == []
    assert side.lost == ["a request that is not crow's", "a notification that is not crow's"]


@every("method", ["fs/read_text_file", "terminal/create", "elicitation/create", "sing"])
def test_what_crow_has_no_method_for_is_refused_to_the_agent(method: str) -> None:
    side = crow_client()
    ((toward, said),) = side.take(request("x", method, {}))
    assert (toward, said["id"], said["error"]["code"]) == ("inside", "x", -32601)
    assert side.take(notification(method, {})) == []
    assert side.lost == ["a request that crow has no method for", "a notification that crow does not know"]


def test_extensions_pass_both_ways_with_their_answers() -> None:
    side = crow_client()
    for ask, reply in ((side.hear, side.take), (side.take, side.hear)):
        asked, told = request("e", "_nest/look", {"session_id": "s"}), notification("_nest/hint", {})
        assert [said for _, said in ask(asked)] == [asked]
        assert [said for _, said in ask(told)] == [told]
        assert [said for _, said in reply(answer("e", {"sessionId": 1}))] == [answer("e", {"sessionId": 1})]
    assert side.ledger.entries == []


def test_answers_to_nothing_go_nowhere() -> None:
    side = crow_client()
    assert side.hear(answer(77, {})) == []
    assert side.take(answer(77, {})) == []
    assert side.lost == ["an answer to nothing"]


def test_a_complaint_about_a_frame_is_passed_on() -> None:
    complaint = failure(None, -32700, "Parse error")
    assert crow_client().take(complaint) == [("peer", complaint)]
    assert crow_client().hear(complaint) == [("inside", complaint)]


def test_an_id_that_is_in_use_is_refused_and_the_first_request_still_gets_its_answer() -> None:
    side = crow_client()
    inside(side, PROMPT)
    assert refused(side, {**NEW, "id": 3}) == -32600
    ended = side.take(answer(3, {"stopReason": "end_turn"}))
    assert ended == [("peer", answer(3, {"stop_reason": "end_turn"}))]


@every("result", [None, 7, {}, {"sessionId": 7}])
def test_a_session_without_an_id_is_an_error(result: Any) -> None:
    side = crow_client()
    inside(side, NEW)
    ((_, said),) = side.take(answer(2, result))
    assert said["error"]["code"] == -32603


def test_two_sessions_at_once_are_kept_apart() -> None:
    side = crow_client()
    for number in (1, 2):
        params = {"session_id": f"s{number}", "prompt": [{"type": "text", "text": "go"}]}
        assert inside(side, request(number, "session/prompt", params))["params"]["sessionId"] == f"s{number}"
    for number in (2, 1, 2):
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": str(number)}}
        ((_, said),) = side.take(update(chunk, f"s{number}"))
        assert said["params"]["sessionId"] == f"s{number}"
        assert said["params"]["update"]["text"] == str(number)
    assert side.hear(request(3, "cancel", {"session_id": "s2"}))[0][1]["params"] == {"sessionId": "s2"}
    assert side.take(answer(2, {"stopReason": "cancelled"}))[0][1] == answer(2, {"stop_reason": "cancelled"})
    assert side.take(answer(1, {"stopReason": "end_turn"}))[0][1] == answer(1, {"stop_reason": "end_turn"})
