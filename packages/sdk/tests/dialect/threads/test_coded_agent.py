"""A threads agent behind a v1 client, rule by rule."""

from __future__ import annotations

from typing import Any

from dragoman_local.workspace.versions import version_of
from tests.dialect.threads.stage import Alone, chunk, introduced
from tests.every import every

LENDS = {
    "fs": {"readTextFile": True},
    "_meta": {
        "dragoman": {"extensions": ["_dragoman/fs/stat", "_dragoman/fs/glob", "_dragoman/fs/read_range"]}
    },
}


def prompt(alone: Alone, request_id: Any = "p", *, text: str = "go") -> Any:
    """Prompt; gives the id of the message that the agent gets."""
    asked = {"sessionId": "t", "prompt": [{"type": "text", "text": text}]}
    ((way, sent),) = alone.ask(request_id, "session/prompt", asked)
    assert (way, sent["method"]) == ("peer", "sendMessage")
    return sent["id"]


def stream(alone: Alone, text: str) -> Any:
    params = {"threadId": "t", "chunk": chunk(text)}
    return alone.peer({"id": 70, "method": "streamMessageChunk", "params": params})


def stopped(reason: str, request_id: Any = "p") -> tuple[str, Any]:
    return ("inside", {"jsonrpc": "2.0", "id": request_id, "result": {"stopReason": reason}})


def test_the_interpreter_introduces_the_agent() -> None:
    alone = Alone("agent")
    ((way, told),) = alone.ask(0, "initialize", {"protocolVersion": 1})
    assert way == "inside"
    capabilities = told["result"]["agentCapabilities"]
    assert capabilities["loadSession"] is True
    assert capabilities["sessionCapabilities"] == {"list": {}, "resume": {}}


def test_a_frame_for_the_agent_has_no_jsonrpc_and_an_integer_id() -> None:
    ((_, sent),) = Alone("agent").ask("some-id", "session/list", {})
    assert sent == {"id": 1, "method": "getThreads", "params": None}


def test_the_null_that_answers_a_message_ends_the_turn() -> None:
    alone = introduced()
    sent = prompt(alone)
    (update, taken) = stream(alone, "Rain.")
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Rain."}}
    assert update[1]["params"] == {"sessionId": "t", "update": content}
    assert taken == ("peer", {"id": 70, "result": None})
    assert alone.peer({"id": sent, "result": None}) == [stopped("end_turn")]


def test_links_are_written_as_text_and_what_was_not_offered_is_left_out() -> None:
    alone = introduced()
    blocks = [
        {"type": "text", "text": "Look: "},
        {"type": "resource_link", "name": "rows", "uri": "file:///field/rows.txt"},
        {"type": "image", "data": "", "mimeType": "image/png"},
    ]
    ((_, sent),) = alone.ask("p", "session/prompt", {"sessionId": "t", "prompt": blocks})
    chunks = [chunk("Look: "), chunk("[rows](file:///field/rows.txt)")]
    assert sent["params"]["message"] == {"role": "user", "chunks": chunks}
    assert alone.lost == ["content that is not text"]
    assert ("repaired", "links in a prompt") in alone.remarks


def test_a_cancelled_turn_is_over_at_once_and_the_next_waits_for_the_agent() -> None:
    alone = introduced()
    sent = prompt(alone)
    assert alone.note("session/cancel", {"sessionId": "t"}) == [stopped("cancelled")]
    assert stream(alone, "late") == [("peer", {"id": 70, "result": None})]
    blocks = [{"type": "text", "text": "next"}]
    assert alone.ask("q", "session/prompt", {"sessionId": "t", "prompt": blocks}) == []
    ((way, again),) = alone.peer({"id": sent, "result": None})
    assert (way, again["params"]["message"]["chunks"]) == ("peer", [chunk("next")])
    assert alone.peer({"id": again["id"], "result": None}) == [stopped("end_turn", "q")]
    assert alone.lost == ["a cancel", "what the agent said after a cancel"]


def test_a_prompt_that_waits_is_cancelled_too() -> None:
    alone = introduced()
    sent = prompt(alone)
    alone.ask("q", "session/prompt", {"sessionId": "t", "prompt": [{"type": "text", "text": "next"}]})
    cancelled = [stopped("cancelled"), stopped("cancelled", "q")]
    assert alone.note("session/cancel", {"sessionId": "t"}) == cancelled
    assert alone.note("session/cancel", {"sessionId": "t"}) == []
    assert alone.peer({"id": sent, "error": {"code": 1, "message": "no"}}) == []


def test_a_prompt_that_is_taken_back_is_cancelled() -> None:
    alone = introduced()
    prompt(alone)
    assert alone.note("$/cancel_request", {"requestId": "other"}) == []
    assert alone.note("$/cancel_request", {"requestId": "p"}) == [stopped("cancelled")]


def test_a_cancel_without_a_turn_is_nothing() -> None:
    alone = introduced()
    assert alone.note("session/cancel", {"sessionId": "t"}) == []
    assert alone.lost == []


def test_entries_are_replayed_in_order_before_the_answer() -> None:
    alone = introduced()
    loading = {"sessionId": "old", "cwd": "/field", "mcpServers": []}
    ((_, opening),) = alone.ask("l", "session/load", loading)
    ((_, asking),) = alone.peer({"id": opening["id"], "result": None})
    assert (opening["method"], asking["method"]) == ("openThread", "getThreadEntries")
    entries = [
        {"type": "message", "role": "user", "chunks": [chunk("a"), chunk("b"), {"type": "hum"}]},
        {"type": "readFile", "path": "/field/f", "content": "text"},
        {"type": "song"},
        {"type": "message", "role": "assistant", "chunks": [chunk("c")]},
    ]
    outs = alone.peer({"id": asking["id"], "result": {"entries": entries}})
    updates = [out["params"]["update"] for _, out in outs[:-1]]
    kinds = ["user_message_chunk", "user_message_chunk", "tool_call", "agent_message_chunk"]
    assert [update["sessionUpdate"] for update in updates] == kinds
    assert updates[0]["messageId"] == updates[1]["messageId"] != updates[3]["messageId"]
    assert (updates[2]["kind"], updates[2]["status"]) == ("read", "completed")
    assert outs[-1] == ("inside", {"jsonrpc": "2.0", "id": "l", "result": {}})
    assert alone.lost == ["chunks that are not text", "entries of an unknown kind"]


def test_a_resumed_session_is_a_thread_that_is_opened_and_no_more() -> None:
    alone = introduced()
    ((_, opening),) = alone.ask("l", "session/resume", {"sessionId": "old", "cwd": "/field"})
    ((way, told),) = alone.peer({"id": opening["id"], "result": None})
    assert (way, told["result"]) == ("inside", {})


def test_threads_are_listed_as_sessions_in_their_folders() -> None:
    alone = introduced()
    threads = [
        {"id": "t", "title": "", "modifiedAt": "2025-01-01T00:00:00Z"},
        {"id": "other", "title": "Other", "modifiedAt": "1970-01-01T00:00:00Z"},
        {"title": "nobody"},
    ]
    ((_, asked),) = alone.ask("l", "session/list", {})
    ((_, told),) = alone.peer({"id": asked["id"], "result": {"threads": threads}})
    assert told["result"]["sessions"] == [
        {"sessionId": "t", "cwd": "/field", "updatedAt": "2025-01-01T00:00:00Z"},
        {"sessionId": "other", "cwd": "/field", "title": "Other"},
    ]
    ((_, asked),) = alone.ask("l", "session/list", {"cwd": "/wood"})
    ((_, told),) = alone.peer({"id": asked["id"], "result": {"threads": threads}})
    assert [session["sessionId"] for session in told["result"]["sessions"]] == ["other"]


READS: list[tuple[str, Any, str]] = [
    ("readTextFile", {"path": "/field/a"}, "fs/read_text_file"),
    ("stat", {"path": "/field/a"}, "_dragoman/fs/stat"),
    ("globSearch", {"pattern": "*"}, "_dragoman/fs/glob"),
    ("readBinaryFile", {"path": "/field/a"}, "_dragoman/fs/read_range"),
]


@every(("method", "params", "inside"), READS)
def test_a_client_that_lends_files_is_asked_for_them(method: str, params: Any, inside: str) -> None:
    ((way, asked),) = introduced(LENDS).peer(
        {"id": 5, "method": method, "params": {"threadId": "t", **params}}
    )
    assert (way, asked["method"], asked["params"]) == ("inside", inside, {"sessionId": "t", **params})


@every(("method", "params", "inside"), READS)
def test_otherwise_the_host_is_asked_and_told_the_folders(method: str, params: Any, inside: str) -> None:
    ((way, asked),) = introduced().peer({"id": 5, "method": method, "params": {"threadId": "t", **params}})
    assert (way, asked["method"]) == ("host", inside)
    assert asked["params"] == {"sessionId": "t", **params, "cwd": "/field", "additionalDirectories": []}


@every(
    ("answer", "exists"),
    [
        ({"result": {"content": "unsaved"}}, True),
        ({"result": {"content": ""}}, True),
        ({"result": {}}, False),
        ({"error": {"code": -32002, "message": "no such file"}}, False),
    ],
)
def test_a_file_that_only_the_editor_has_is_there(answer: Any, exists: bool) -> None:
    """The client reads files and knows no `stat`; the host sees the disk alone."""
    alone = introduced({"fs": {"readTextFile": True}})
    params = {"threadId": "t", "path": "/field/new"}
    ((way, asked),) = alone.peer({"id": 5, "method": "stat", "params": params})
    assert way == "host"
    ((way, read),) = alone.host({"id": asked["id"], "result": {"exists": False, "isDirectory": False}})
    assert (way, read["method"]) == ("inside", "fs/read_text_file")
    assert read["params"] == {"sessionId": "t", "path": "/field/new", "line": 1, "limit": 1}
    ((way, told),) = alone.inside({"jsonrpc": "2.0", "id": read["id"], **answer})
    assert (way, told["result"]) == ("peer", {"exists": exists, "isDirectory": False})


def test_what_is_on_disk_is_told_without_asking_the_editor() -> None:
    alone = introduced({"fs": {"readTextFile": True}})
    ((_, asked),) = alone.peer({"id": 5, "method": "stat", "params": {"threadId": "t", "path": "/field"}})
    ((way, told),) = alone.host({"id": asked["id"], "result": {"exists": True, "isDirectory": True}})
    assert (way, told["result"]) == ("peer", {"exists": True, "isDirectory": True})


def test_nothing_is_read_for_a_thread_that_is_no_session_here() -> None:
    params = {"threadId": "stranger", "path": "/etc/passwd"}
    ((way, told),) = introduced().peer({"id": 5, "method": "readTextFile", "params": params})
    assert (way, told["error"]["code"]) == ("peer", -32002)


def test_an_agent_may_read_before_it_has_named_the_thread_that_it_makes() -> None:
    alone = Alone("agent")
    ((_, created),) = alone.ask("n", "session/new", {"cwd": "/wood", "mcpServers": []})
    early = {"id": 5, "method": "stat", "params": {"threadId": "new", "path": "/wood"}}
    ((way, asked),) = alone.peer(early)
    assert (way, asked["params"]["cwd"]) == ("host", "/wood")
    alone.peer({"id": created["id"], "error": {"code": 1, "message": "no"}})
    ((way, _),) = alone.peer(early)
    assert way == "peer"


def test_a_thread_that_could_not_be_opened_is_lent_nothing() -> None:
    alone = introduced()
    ((_, opening),) = alone.ask("l", "session/load", {"sessionId": "old", "cwd": "/", "mcpServers": []})
    alone.peer({"id": opening["id"], "error": {"code": -32602, "message": "no such thread"}})
    ((way, _),) = alone.peer({"id": 5, "method": "stat", "params": {"threadId": "old", "path": "/etc"}})
    assert way == "peer"


def test_a_version_is_made_from_what_was_read_where_there_is_none() -> None:
    alone = introduced()
    versions = []
    for content in ("a", "a", "b"):
        params = {"threadId": "t", "path": "/field/a"}
        ((_, asked),) = alone.peer({"id": 5, "method": "readTextFile", "params": params})
        ((_, told),) = alone.host({"id": asked["id"], "result": {"content": content}})
        versions.append(told["result"]["version"])
    assert versions[0] == versions[1] != versions[2]
    assert all(0 <= version < 2**63 for version in versions)
    assert ("repaired", "versions of files") in alone.remarks


def test_a_code_that_v1_would_take_for_something_else_is_not_passed_through() -> None:
    alone = introduced()
    ((_, told),) = alone.peer({"id": prompt(alone), "error": {"code": -32000, "message": "no model"}})
    assert told["error"] == {"code": -32603, "message": "no model", "data": {"threadsCode": -32000}}


@every("error", [None, [], {}, {"code": "x"}, {"code": 10**30}, {"code": True, "message": 5}])
def test_an_error_that_is_none_is_still_an_answer(error: Any) -> None:
    alone = introduced()
    ((way, told),) = alone.peer({"id": prompt(alone), "error": error})
    assert (way, told["id"], told["error"]["code"]) == ("inside", "p", -32603)


@every("result", [None, [], 5, {"threadId": 5}, {"threadId": ""}, {"threads": {}}])
def test_answers_of_the_wrong_kind_are_answers(result: Any) -> None:
    alone = introduced()
    ((_, asked),) = alone.ask("n", "session/new", {"cwd": "/field", "mcpServers": []})
    ((way, told),) = alone.peer({"id": asked["id"], "result": result})
    assert (way, told["id"], "error" in told) == ("inside", "n", True)
    ((_, asked),) = alone.ask("l", "session/list", {})
    assert alone.peer({"id": asked["id"], "result": result})[0][1]["result"] == {"sessions": []}


@every("params", [None, 5, {"threadId": "t"}, {"threadId": 5, "chunk": chunk("x")}])
def test_a_chunk_that_is_none_is_refused(params: Any) -> None:
    ((way, told),) = introduced().peer({"id": 5, "method": "streamMessageChunk", "params": params})
    assert (way, told["error"]["code"]) == ("peer", -32602)


def test_whatever_else_is_asked_of_either_side_is_refused() -> None:
    alone = introduced()
    for method in ("session/set_mode", "authenticate", "_x/y", "session/close"):
        ((way, told),) = alone.ask("x", method, {})
        assert (way, told["error"]["code"]) == ("inside", -32601)
    ((way, told),) = alone.peer({"id": 5, "method": "getThreads", "params": None})
    assert (way, told["error"]["code"]) == ("peer", -32601)


def test_when_the_agent_ends_every_request_has_its_answer() -> None:
    alone = introduced()
    prompt(alone)
    alone.ask("q", "session/prompt", {"sessionId": "t", "prompt": [{"type": "text", "text": "next"}]})
    alone.ask("l", "session/list", {})
    outs = alone.ended()
    assert sorted(out["id"] for _, out in outs) == ["l", "p", "q"]
    assert all(way == "inside" and out["error"]["code"] == -32603 for way, out in outs)
    assert alone.ended() == []


# Versions: of the whole file, whatever was read of it.

FOREIGN: Any = {"fs": {"readTextFile": True}}
FILE = "peas\nbeans\nleeks\n"


def read_text(alone: Alone, file: str, **window: int) -> Any:
    """A read of the agent at a foreign client, which hands out lines and no version."""
    params = {"threadId": "t", "path": "/field/a", **window}
    outs = alone.peer({"id": 5, "method": "readTextFile", "params": params})
    while outs[0][0] == "inside":
        asked = outs[0][1]
        lines, first = file.splitlines(keepends=True), asked["params"].get("line", 1) - 1
        limit = asked["params"].get("limit", len(lines))
        content = "".join(lines[first : first + limit])
        outs = alone.inside({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content}})
    return outs[0][1]["result"]


def test_one_file_has_one_version_whatever_was_read_of_it() -> None:
    alone = introduced(FOREIGN)
    reads = [
        read_text(alone, FILE),
        read_text(alone, FILE, lineOffset=1, lineLimit=1),
        read_text(alone, FILE, lineOffset=0, lineLimit=1),
        read_text(alone, FILE, lineOffset=99),
    ]
    assert [one["content"] for one in reads] == [FILE, "beans\n", "peas\n", ""]
    assert len({one["version"] for one in reads}) == 1
    assert read_text(alone, FILE + "chard\n", lineLimit=1)["version"] != reads[0]["version"]
    assert alone.lost == []


def test_text_of_a_client_and_bytes_of_our_workspace_have_the_same_version() -> None:
    alone = introduced(FOREIGN)
    text = read_text(alone, FILE)
    params = {"threadId": "t", "path": "/field/a"}
    ((way, asked),) = alone.peer({"id": 6, "method": "readBinaryFile", "params": params})
    assert way == "host"
    held = {"content": "cGVhcw==", "version": version_of(FILE.encode()), "size": 17, "eof": False}
    ((_, told),) = alone.host({"jsonrpc": "2.0", "id": asked["id"], "result": held})
    assert told["result"]["version"] == text["version"]


def test_a_client_that_hands_out_its_versions_is_not_asked_twice() -> None:
    alone = introduced(FOREIGN)
    params = {"threadId": "t", "path": "/field/a", "lineLimit": 1}
    ((_, asked),) = alone.peer({"id": 5, "method": "readTextFile", "params": params})
    result = {"content": "peas\n", "_meta": {"dragoman": {"version": "7"}}}
    ((way, told),) = alone.inside({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    assert (way, told["result"]) == ("peer", {"version": 7, "content": "peas\n"})


def test_the_version_of_a_file_that_cannot_be_read_whole_is_of_the_part_and_said_to_be() -> None:
    alone = introduced(FOREIGN)
    params = {"threadId": "t", "path": "/field/a", "lineLimit": 1}
    ((_, asked),) = alone.peer({"id": 5, "method": "readTextFile", "params": params})
    ((_, whole),) = alone.inside({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": "peas\n"}})
    assert whole["params"] == {"sessionId": "t", "path": "/field/a"}
    error = {"code": -32603, "message": "too large"}
    ((way, told),) = alone.inside({"jsonrpc": "2.0", "id": whole["id"], "error": error})
    assert (way, told["result"]["content"]) == ("peer", "peas\n")
    assert alone.lost == ["the version of a file that cannot be read whole"]
