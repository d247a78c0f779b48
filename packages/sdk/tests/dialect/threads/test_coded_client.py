"""A threads client in front of a v1 agent, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import EdgeSettings
from dragoman.dialect.threads.introduction import MOST_HELD
from tests.dialect.threads.stage import INTRODUCED, Alone, chunk, ready, user
from tests.every import every

TEXT = {"type": "text", "text": "Rain."}


def said(request_id: Any, **rest: Any) -> Any:
    return {"jsonrpc": "2.0", "id": request_id, **rest}


def prompt(alone: Alone, number: int = 5, *texts: str) -> Any:
    """Send a message; gives the id of the prompt."""
    params = user("t", *(texts or ("go",)))
    ((way, asked),) = alone.peer({"id": number, "method": "sendMessage", "params": params})
    assert (way, asked["method"]) == ("inside", "session/prompt")
    return asked["id"]


# The introduction.


def test_the_agent_is_initialized_before_anything_is_forwarded() -> None:
    alone = Alone("client")
    ((way, hello),) = alone.peer({"id": 0, "method": "getThreads", "params": None})
    assert (way, hello["method"]) == ("inside", "initialize")
    assert hello["params"]["protocolVersion"] == 1
    assert hello["params"]["clientCapabilities"]["fs"] == {"readTextFile": True, "writeTextFile": False}
    assert alone.peer({"id": 1, "method": "createThread", "params": None}) == []
    outs = alone.inside(said(hello["id"], result=INTRODUCED))
    assert [(way, out["method"]) for way, out in outs] == [
        ("inside", "session/list"),
        ("inside", "session/new"),
    ]
    assert outs[1][1]["params"] == {"cwd": "/field", "mcpServers": []}


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32000, "message": "Authentication required", "data": {"a": 1}}},
        {"result": {"protocolVersion": 2}},
        {"result": None},
    ],
)
def test_an_agent_that_cannot_be_initialized_is_an_error_and_is_tried_again(answer: Any) -> None:
    alone = Alone("client")
    ((_, hello),) = alone.peer({"id": 0, "method": "getThreads", "params": None})
    alone.peer({"id": 1, "method": "createThread", "params": None})
    outs = alone.inside(said(hello["id"], **answer))
    assert [(way, out["id"], "error" in out) for way, out in outs] == [("peer", 0, True), ("peer", 1, True)]
    assert all(out["error"].keys() == {"code", "message"} for _, out in outs)
    ((_, again),) = alone.peer({"id": 2, "method": "getThreads", "params": None})
    assert again["method"] == "initialize"


def test_what_is_held_meanwhile_has_a_bound() -> None:
    alone = Alone("client")
    alone.peer({"id": 0, "method": "getThreads", "params": None})
    ((way, refused),) = alone.peer({"id": 1, "method": "sendMessage", "params": user("t", "x" * MOST_HELD)})
    assert way == "peer"
    assert refused["error"]["code"] == -32603


# Threads.


def test_threads_are_listed_page_by_page_with_those_that_are_open_here() -> None:
    alone = ready(settings=EdgeSettings(cwd="/field", clock=lambda: "2025-02-02T00:00:00Z"))
    ((_, first),) = alone.peer({"id": 1, "method": "getThreads", "params": None})
    assert first["params"] == {}
    page = {"sessions": [{"sessionId": "a", "cwd": "/x", "title": "A", "updatedAt": "2025-01-02T03:04:05Z"}]}
    ((_, second),) = alone.inside(said(first["id"], result={**page, "nextCursor": "more"}))
    assert second["params"] == {"cursor": "more"}
    ((way, told),) = alone.inside(
        said(second["id"], result={"sessions": [{"sessionId": "b", "cwd": "/y"}, 5]})
    )
    assert way == "peer"
    assert told["result"]["threads"] == [
        {"id": "a", "title": "A", "modifiedAt": "2025-01-02T03:04:05Z"},
        {"id": "b", "title": "Untitled thread", "modifiedAt": "2025-02-02T00:00:00Z"},
        {"id": "t", "title": "Untitled thread", "modifiedAt": "2025-02-02T00:00:00Z"},
    ]
    assert ("repaired", "threads without a time") in alone.remarks


def test_pages_that_never_end_are_not_followed_for_ever() -> None:
    alone = ready()
    outs = alone.peer({"id": 1, "method": "getThreads", "params": None})
    asked = 0
    while outs[0][0] == "inside":
        asked += 1
        outs = alone.inside(said(outs[0][1]["id"], result={"sessions": [], "nextCursor": "again"}))
    assert asked == 100
    assert "threads beyond the hundredth page" in alone.lost


def test_an_agent_without_a_list_has_the_threads_that_were_seen_here() -> None:
    alone = ready({"protocolVersion": 1, "agentCapabilities": {}})
    alone.update("t", sessionUpdate="session_info_update", title="Weather", updatedAt="2025-06-01T00:00:00Z")
    ((way, told),) = alone.peer({"id": 1, "method": "getThreads", "params": None})
    assert way == "peer"
    assert told["result"]["threads"] == [
        {"id": "t", "title": "Weather", "modifiedAt": "2025-06-01T00:00:00Z"}
    ]


def test_opening_a_thread_that_is_open_asks_nobody() -> None:
    alone = ready()
    assert alone.peer({"id": 1, "method": "openThread", "params": {"threadId": "t"}}) == [
        ("peer", {"id": 1, "result": None})
    ]


def test_a_replay_becomes_entries_and_is_not_streamed() -> None:
    alone = ready()
    ((_, load),) = alone.peer({"id": 1, "method": "openThread", "params": {"threadId": "old"}})
    assert (load["method"], load["params"]["sessionId"]) == ("session/load", "old")
    assert alone.peer({"id": 2, "method": "getThreadEntries", "params": {"threadId": "old"}}) == []
    for update in (
        {"sessionUpdate": "user_message_chunk", "content": TEXT},
        {"sessionUpdate": "agent_thought_chunk", "content": TEXT},
        {"sessionUpdate": "agent_message_chunk", "content": TEXT},
    ):
        assert alone.update("old", **update) == []
    assert alone.inside(said(load["id"], result={})) == [
        ("peer", {"id": 1, "result": None}),
        (
            "peer",
            {
                "id": 2,
                "result": {
                    "entries": [
                        {"type": "message", "role": "user", "chunks": [chunk("Rain.")]},
                        {"type": "message", "role": "assistant", "chunks": [chunk("Rain.")]},
                    ]
                },
            },
        ),
    ]
    assert alone.lost == ["thoughts"]


def test_a_thread_is_opened_in_the_folder_that_the_agent_listed_it_with() -> None:
    alone = ready()
    ((_, listed),) = alone.peer({"id": 1, "method": "getThreads", "params": None})
    alone.inside(said(listed["id"], result={"sessions": [{"sessionId": "old", "cwd": "/elsewhere"}]}))
    ((_, load),) = alone.peer({"id": 2, "method": "openThread", "params": {"threadId": "old"}})
    assert load["params"]["cwd"] == "/elsewhere"


def test_an_agent_that_only_resumes_gives_a_thread_without_a_past() -> None:
    alone = ready({"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"resume": {}}}})
    ((_, resume),) = alone.peer({"id": 1, "method": "openThread", "params": {"threadId": "old"}})
    assert resume["method"] == "session/resume"
    alone.inside(said(resume["id"], result={}))
    ((_, told),) = alone.peer({"id": 2, "method": "getThreadEntries", "params": {"threadId": "old"}})
    assert told["result"] == {"entries": []}
    assert alone.lost == ["the entries of a thread whose agent does not replay"]


def test_a_thread_that_nobody_can_open_is_an_error_for_everyone_who_waits() -> None:
    alone = ready({"protocolVersion": 1})
    ((way, told),) = alone.peer({"id": 1, "method": "openThread", "params": {"threadId": "old"}})
    assert (way, told["error"]["code"]) == ("peer", -32002)
    alone = ready()
    ((_, load),) = alone.peer({"id": 1, "method": "openThread", "params": {"threadId": "old"}})
    alone.peer({"id": 2, "method": "sendMessage", "params": user("old", "hm")})
    outs = alone.inside(said(load["id"], error={"code": -32002, "message": "gone"}))
    assert [out["id"] for _, out in outs] == [1, 2]
    assert all(out["error"] == {"code": -32002, "message": "gone"} for _, out in outs)


# Messages.


def test_a_message_is_answered_when_its_turn_ends_and_chunks_come_before() -> None:
    alone = ready()
    turn = prompt(alone)
    ((way, streamed),) = alone.update("t", sessionUpdate="agent_message_chunk", content=TEXT)
    assert way == "peer"
    assert streamed == {
        "id": streamed["id"],
        "method": "streamMessageChunk",
        "params": {"threadId": "t", "chunk": chunk("Rain.")},
    }
    assert alone.peer({"id": streamed["id"], "result": None}) == []
    assert alone.inside(said(turn, result={"stopReason": "end_turn"})) == [
        ("peer", {"id": 5, "result": None})
    ]
    assert alone.lost == []


def test_a_second_message_waits_for_the_first() -> None:
    alone = ready()
    turn = prompt(alone)
    assert alone.peer({"id": 6, "method": "sendMessage", "params": user("t", "and?")}) == []
    outs = alone.inside(said(turn, error={"code": -32603, "message": "tired"}))
    assert outs[0] == ("peer", {"id": 5, "error": {"code": -32603, "message": "tired"}})
    assert outs[1][1]["params"]["prompt"] == [{"type": "text", "text": "and?"}]


def test_why_a_turn_ended_is_noted_if_it_did_not_end_by_itself() -> None:
    alone = ready()
    ((way, told),) = alone.inside(said(prompt(alone), result={"stopReason": "refusal"}))
    assert (way, told) == ("peer", {"id": 5, "result": None})
    assert alone.lost == ["a stop reason other than end_turn"]


@every(
    "message",
    [
        {"role": "assistant", "chunks": [chunk("mine")]},
        {"role": "user", "chunks": [{"type": "image", "chunk": "x"}]},
        {"role": "user", "chunks": "text"},
        {"role": "god", "chunks": []},
        {"role": ["user"], "chunks": []},
        None,
    ],
)
def test_what_is_no_message_of_a_user_is_refused(message: Any) -> None:
    alone = ready()
    params = {"threadId": "t", "message": message}
    ((way, told),) = alone.peer({"id": 1, "method": "sendMessage", "params": params})
    assert (way, told["error"]["code"]) == ("peer", -32602)


def test_a_users_words_told_back_in_a_turn_are_not_entered_twice() -> None:
    alone = ready()
    turn = prompt(alone)
    assert alone.update("t", sessionUpdate="user_message_chunk", content=TEXT) == []
    alone.inside(said(turn, result={"stopReason": "end_turn"}))
    ((_, told),) = alone.peer({"id": 9, "method": "getThreadEntries", "params": {"threadId": "t"}})
    assert told["result"]["entries"] == [{"type": "message", "role": "user", "chunks": [chunk("go")]}]


def test_what_is_said_before_a_thread_has_an_id_is_in_its_entries() -> None:
    alone = ready()
    ((_, new),) = alone.peer({"id": 1, "method": "createThread", "params": None})
    assert alone.update("u", sessionUpdate="agent_message_chunk", content=TEXT) == []
    alone.inside(said(new["id"], result={"sessionId": "u"}))
    ((_, told),) = alone.peer({"id": 2, "method": "getThreadEntries", "params": {"threadId": "u"}})
    assert told["result"]["entries"][0]["chunks"] == [chunk("Rain.")]


# What the agent asks.


def test_a_version_that_the_client_hands_out_reaches_the_agent() -> None:
    alone = ready()
    ((_, asked),) = alone.ask("r", "fs/read_text_file", {"sessionId": "t", "path": "/field/a", "line": 3})
    assert asked["params"] == {"threadId": "t", "path": "/field/a", "lineOffset": 2}
    ((_, told),) = alone.peer({"id": asked["id"], "result": {"version": 9, "content": "c"}})
    assert told["result"] == {"content": "c", "_meta": {"dragoman": {"version": "9"}}}


def test_a_file_that_was_handed_out_is_the_content_of_the_read() -> None:
    alone = ready()
    turn = prompt(alone)
    call: Any = {"toolCallId": "c", "kind": "read", "locations": [{"path": "/field/a"}]}
    alone.update("t", sessionUpdate="tool_call", title="Reading", **call)
    ((_, asked),) = alone.ask("r", "fs/read_text_file", {"sessionId": "t", "path": "/field/a"})
    alone.peer({"id": asked["id"], "result": {"version": 9, "content": "all of it"}})
    shown = [{"type": "content", "content": {"type": "text", "text": "1 line"}}]
    alone.update("t", sessionUpdate="tool_call_update", toolCallId="c", status="completed", content=shown)
    alone.inside(said(turn, result={"stopReason": "end_turn"}))
    ((_, told),) = alone.peer({"id": 9, "method": "getThreadEntries", "params": {"threadId": "t"}})
    assert told["result"]["entries"][1:] == [{"type": "readFile", "path": "/field/a", "content": "all of it"}]
    assert alone.lost == []


def test_bytes_are_refused_if_the_file_has_another_version_than_expected() -> None:
    alone = ready()
    params = {"sessionId": "t", "path": "/field/a", "ifVersion": "8"}
    ((_, asked),) = alone.ask("r", "_dragoman/fs/read_range", params)
    ((_, told),) = alone.peer({"id": asked["id"], "result": {"version": 9, "content": ""}})
    assert told["error"]["code"] == 409


@every("result", [None, [], {"content": 5}, {"version": 1}, "text"])
def test_a_clients_nonsense_is_an_error_for_the_agent(result: Any) -> None:
    alone = ready()
    for method in ("fs/read_text_file", "_dragoman/fs/stat", "_dragoman/fs/read_range"):
        ((_, asked),) = alone.ask("r", method, {"sessionId": "t", "path": "/field/a"})
        ((way, told),) = alone.peer({"id": asked["id"], "result": result})
        assert (way, told["id"], told["error"]["code"]) == ("inside", "r", -32603)


@every("method", ["fs/write_text_file", "terminal/create", "elicitation/create", "_x/y"])
def test_what_was_not_offered_is_refused(method: str) -> None:
    ((way, told),) = ready().ask("w", method, {"sessionId": "t"})
    assert (way, told["id"], told["error"]["code"]) == ("inside", "w", -32601)


OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "never", "name": "Never", "kind": "reject_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@every(
    ("chosen", "options", "outcome"),
    [
        (None, OPTIONS, {"outcome": "selected", "optionId": "no"}),
        (None, OPTIONS[:2], {"outcome": "cancelled"}),
        ("yes", OPTIONS, {"outcome": "selected", "optionId": "yes"}),
        ("made up", OPTIONS, {"outcome": "selected", "optionId": "no"}),
        ("made up", OPTIONS[:1], {"outcome": "cancelled"}),
        ("", [{"optionId": ""}, 7], {"outcome": "cancelled"}),
        ("yes", "yes", {"outcome": "cancelled"}),
    ],
)
def test_only_the_policy_consents_and_only_to_what_was_offered(
    chosen: Any, options: Any, outcome: Any
) -> None:
    alone = ready(settings=EdgeSettings(cwd="/field", consent=lambda question: chosen))
    asked = {"sessionId": "t", "toolCall": {"toolCallId": "c"}, "options": options}
    ((way, told),) = alone.ask("p", "session/request_permission", asked)
    assert (way, told["result"]) == ("inside", {"outcome": outcome})
    assert alone.lost == ["a request for permission"]


def test_nothing_that_the_client_says_is_consent() -> None:
    """By default nobody consents, and an answer to a question that was not asked is left out."""
    alone = ready()
    asked = {"sessionId": "t", "toolCall": {"toolCallId": "c"}, "options": OPTIONS}
    alone.ask("p", "session/request_permission", asked)
    yes = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert alone.peer({"id": "p", "result": yes}) == []
    assert alone.peer({"id": 900, "result": yes}) == []
    assert alone.peer({"method": "session/request_permission", "params": yes}) == []
    assert {"answers to nothing", "notifications"} <= set(alone.lost)


# The end, and nonsense.


def test_when_the_client_ends_open_questions_are_answered_and_turns_cancelled() -> None:
    alone = ready()
    prompt(alone)
    alone.ask("r", "fs/read_text_file", {"sessionId": "t", "path": "/field/a"})
    (gone, cancel) = alone.ended()
    assert (gone[0], gone[1]["id"], gone[1]["error"]["code"]) == ("inside", "r", -32603)
    assert cancel[1] == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "t"}}
    assert alone.ended() == [cancel]


@every("params", [None, 5, [], {}, {"threadId": None}, {"threadId": 7}, {"threadId": ["t"]}])
@every("method", ["openThread", "getThreadEntries", "sendMessage"])
def test_a_request_that_names_no_thread_is_refused(method: str, params: Any) -> None:
    ((way, told),) = ready().peer({"id": 1, "method": method, "params": params})
    assert (way, told["error"]["code"]) == ("peer", -32602)


def test_an_unknown_method_is_refused_in_the_words_of_the_dialect() -> None:
    assert Alone("client").peer({"id": 1, "method": "flyToTheMoon", "params": None}) == [
        ("peer", {"id": 1, "error": {"code": -32601, "message": "Method not found - 'flyToTheMoon'"}})
    ]


def test_an_update_of_nobodys_session_is_left_out() -> None:
    alone = ready()
    assert alone.update("stranger", sessionUpdate="agent_message_chunk", content=TEXT) == []
    assert alone.lost == ["other updates"]


# Titles, times, and reads without a tool call.


class Clock:
    """Every look at it is a minute later."""

    def __init__(self) -> None:
        self.minutes = 0

    def __call__(self) -> str:
        self.minutes += 1
        return f"2025-06-01T00:{self.minutes:02}:00Z"


def listed(alone: Alone) -> Any:
    ((_, told),) = alone.peer({"id": 50, "method": "getThreads", "params": None})
    return told["result"]["threads"]


PLAIN: Any = {"protocolVersion": 1, "agentCapabilities": {}}


def test_a_thread_is_named_by_its_first_message_and_dated_by_its_last_change() -> None:
    alone = ready(PLAIN, EdgeSettings(cwd="/field", clock=Clock()))
    assert listed(alone) == [{"id": "t", "title": "Untitled thread", "modifiedAt": "2025-06-01T00:01:00Z"}]
    turn = prompt(alone)
    named = listed(alone)[0]
    assert named["title"] not in ("", "Untitled thread")
    alone.inside(said(turn, result={"stopReason": "end_turn"}))
    assert listed(alone)[0]["modifiedAt"] > named["modifiedAt"] > "2025-06-01T00:01:00Z"
    prompt(alone)
    assert listed(alone)[0]["title"] == named["title"]


def test_what_a_session_says_of_itself_wins() -> None:
    alone = ready(PLAIN, EdgeSettings(cwd="/field", clock=Clock()))
    prompt(alone)
    alone.update("t", sessionUpdate="session_info_update", title="Rain", updatedAt="2025-07-01T00:00:00Z")
    assert listed(alone) == [{"id": "t", "title": "Rain", "modifiedAt": "2025-07-01T00:00:00Z"}]
    alone.update("t", sessionUpdate="session_info_update", title=None)
    assert listed(alone)[0]["title"] != "Rain"


def test_a_long_first_message_is_cut_to_a_line() -> None:
    alone = ready(PLAIN)
    long = {"role": "user", "chunks": [chunk("What\nis " + "the weather " * 20)]}
    alone.peer({"id": 3, "method": "sendMessage", "params": {"threadId": "t", "message": long}})
    (thread,) = listed(alone)
    assert thread["title"].startswith("What is the weather the")
    assert len(thread["title"]) <= 80


@pytest.mark.parametrize("window", [{}, {"line": 3, "limit": 1}])
def test_every_read_is_an_entry_even_without_a_tool_call(window: Any) -> None:
    alone = ready()
    ((_, asked),) = alone.ask("r", "fs/read_text_file", {"sessionId": "t", "path": "/field/a", **window})
    alone.peer({"id": asked["id"], "result": {"version": 9, "content": "peas"}})
    ((_, told),) = alone.peer({"id": 9, "method": "getThreadEntries", "params": {"threadId": "t"}})
    assert told["result"]["entries"] == [{"type": "readFile", "path": "/field/a", "content": "peas"}]
