"""A threads agent behind a v1 client, with the directions that the document prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.dialect import EdgeSettings
from tests.dialect.official import refused
from tests.dialect.threads.stage import Alone, Between, chunk
from tests.every import every

AS_WRITTEN = EdgeSettings(cwd="/field", as_written=True)


def opened() -> tuple[Alone, str]:
    alone = Alone("agent", AS_WRITTEN)
    alone.ask("i", "initialize", {"protocolVersion": 1})
    ((way, told),) = alone.ask("n", "session/new", {"cwd": "/field", "mcpServers": []})
    assert way == "inside", "nobody has to be asked: the threads are ours"
    return alone, told["result"]["sessionId"]


def prompt(alone: Alone, thread: str, *texts: str, request_id: str = "p") -> list[tuple[str, Any]]:
    blocks = [{"type": "text", "text": text} for text in texts]
    return alone.ask(request_id, "session/prompt", {"sessionId": thread, "prompt": blocks})


def post(alone: Alone, thread: str, text: str, role: str = "assistant") -> list[tuple[str, Any]]:
    params = {"threadId": thread, "message": {"role": role, "chunks": [chunk(text)]}}
    return alone.peer({"id": 80, "method": "sendMessage", "params": params})


def stopped(reason: str, request_id: str = "p") -> tuple[str, Any]:
    return ("inside", {"jsonrpc": "2.0", "id": request_id, "result": {"stopReason": reason}})


def test_a_prompt_is_streamed_and_the_message_that_is_posted_ends_the_turn() -> None:
    alone, thread = opened()
    outs = prompt(alone, thread, "Where do ", "beans grow?")
    assert [out["method"] for _, out in outs] == ["streamMessageChunk"] * 2
    for _, out in outs:
        assert alone.peer({"id": out["id"], "result": None}) == []
    update, taken, end = post(alone, thread, "Along the fence.")
    assert update[1]["params"]["update"]["content"]["text"] == "Along the fence."
    assert taken == ("peer", {"id": 80, "result": None})
    assert end == stopped("end_turn")


def test_the_agent_may_look_at_threads_and_entries() -> None:
    alone, thread = opened()
    prompt(alone, thread, "Where?")
    post(alone, thread, "There.")
    ((_, told),) = alone.peer({"id": 1, "method": "getThreads", "params": None})
    assert [one["id"] for one in told["result"]["threads"]] == [thread]
    params = {"threadId": thread}
    assert alone.peer({"id": 2, "method": "openThread", "params": params}) == [
        ("peer", {"id": 2, "result": None})
    ]
    ((_, told),) = alone.peer({"id": 3, "method": "getThreadEntries", "params": params})
    assert [(entry["role"], entry["chunks"]) for entry in told["result"]["entries"]] == [
        ("user", [chunk("Where?")]),
        ("assistant", [chunk("There.")]),
    ]


def test_a_thread_that_the_agent_creates_is_listed_for_the_client() -> None:
    alone, thread = opened()
    ((_, told),) = alone.peer({"id": 1, "method": "createThread", "params": None})
    ((_, listed),) = alone.ask("l", "session/list", {})
    ids = [session["sessionId"] for session in listed["result"]["sessions"]]
    assert ids == [thread, told["result"]["threadId"]]
    assert ("repaired", "a thread that the agent created, as written") in alone.remarks


def test_a_session_is_loaded_from_what_has_passed() -> None:
    alone, thread = opened()
    prompt(alone, thread, "Where?")
    post(alone, thread, "There.")
    loading = {"sessionId": thread, "cwd": "/field", "mcpServers": []}
    outs = alone.ask("l", "session/load", loading)
    kinds = [out["params"]["update"]["sessionUpdate"] for _, out in outs[:-1]]
    assert kinds == ["user_message_chunk", "agent_message_chunk"]
    assert outs[-1][1]["result"] == {}
    ((_, told),) = alone.ask("l", "session/load", {**loading, "sessionId": "lost"})
    assert told["error"]["code"] == -32002


def test_a_cancelled_turn_is_over_at_once_and_its_message_is_left_out() -> None:
    alone, thread = opened()
    prompt(alone, thread, "Where?")
    assert alone.note("session/cancel", {"sessionId": thread}) == [stopped("cancelled")]
    assert prompt(alone, thread, "When?", request_id="q") == []
    taken, streamed = post(alone, thread, "There.")
    assert taken == ("peer", {"id": 80, "result": None})
    assert streamed[1]["params"]["chunk"] == chunk("When?")
    assert post(alone, thread, "Soon.")[-1] == stopped("end_turn", "q")


def test_a_chunk_that_the_agent_refuses_fails_the_turn_once() -> None:
    alone, thread = opened()
    first, second = prompt(alone, thread, "Where ", "do?")
    error = {"code": -32602, "message": "too long"}
    ((way, told),) = alone.peer({"id": first[1]["id"], "error": error})
    assert (way, told["error"]) == ("inside", error)
    assert alone.peer({"id": second[1]["id"], "error": error}) == []


def test_a_users_message_from_the_agent_ends_no_turn() -> None:
    alone, thread = opened()
    prompt(alone, thread, "Where?")
    update, taken = post(alone, thread, "I meant beans.", role="user")
    assert update[1]["params"]["update"]["sessionUpdate"] == "user_message_chunk"
    assert taken[0] == "peer"


def test_the_client_may_read_at_the_agent() -> None:
    alone, thread = opened()
    ((way, asked),) = alone.ask("s", "_dragoman/fs/stat", {"sessionId": thread, "path": "/field"})
    assert (way, asked["method"], asked["params"]) == ("peer", "stat", {"threadId": thread, "path": "/field"})
    answer = {"exists": True, "isDirectory": True}
    assert alone.peer({"id": asked["id"], "result": answer})[0][1]["result"] == answer


def test_a_turn_that_waits_for_an_agent_that_ended_is_answered() -> None:
    alone, thread = opened()
    ((_, streamed),) = prompt(alone, thread, "Where?")
    alone.peer({"id": streamed["id"], "result": None})
    ((way, told),) = alone.ended()
    assert (way, told["id"], told["error"]["code"]) == ("inside", "p", -32603)


@every(
    ("method", "params", "code"),
    [
        ("streamMessageChunk", {}, -32601),
        ("readTextFile", {"threadId": "t", "path": "/field/a"}, -32601),
        ("openThread", {"threadId": "nobody"}, -32002),
        ("getThreadEntries", None, -32002),
        ("sendMessage", {"threadId": 5}, -32002),
    ],
)
def test_what_makes_no_sense_is_refused(method: str, params: Any, code: int) -> None:
    alone, _ = opened()
    ((way, told),) = alone.peer({"id": 1, "method": method, "params": params})
    assert (way, told["error"]["code"]) == ("peer", code)


def test_a_message_without_a_role_is_refused() -> None:
    alone, thread = opened()
    ((way, told),) = post(alone, thread, "hm", role="nobody")
    assert (way, told["error"]["code"]) == ("peer", -32602)


def test_both_peers_as_written_hold_a_conversation_through_v1(tmp_path: Path) -> None:
    between = Between(AS_WRITTEN)
    said = {"threadId": "th-mine", "chunk": chunk("Where do beans grow?")}
    between.client_says({"id": 0, "method": "streamMessageChunk", "params": said})
    answers: list[Any] = [None, {"entries": []}]
    for result in answers:
        between.client_says({"id": between.to_client[-1]["id"], "result": result})
    heard = between.to_agent[-1]
    assert (heard["method"], heard["params"]["chunk"]) == ("streamMessageChunk", said["chunk"])
    between.agent_says({"id": heard["id"], "result": None})
    message = {"role": "assistant", "chunks": [chunk("Along "), chunk("the fence.")]}
    params = {"threadId": heard["params"]["threadId"], "message": message}
    between.agent_says({"id": 5, "method": "sendMessage", "params": params})
    assert between.to_client[-1]["params"] == {"threadId": "th-mine", "message": message}
    assert not between.lost
    assert not refused(between.v1, tmp_path, typescript=False)


def test_the_agent_is_told_real_titles_and_times_and_so_is_the_client() -> None:
    times = iter(["2025-06-01T00:00:00Z", "2025-06-01T00:01:00Z"])
    alone = Alone("agent", EdgeSettings(cwd="/field", as_written=True, clock=lambda: next(times)))
    alone.ask("i", "initialize", {"protocolVersion": 1})
    ((_, told),) = alone.ask("n", "session/new", {"cwd": "/field", "mcpServers": []})
    thread = told["result"]["sessionId"]
    prompt(alone, thread, "Where is", " the shed?")
    ((_, told),) = alone.peer({"id": 1, "method": "getThreads", "params": None})
    known = {"title": "Where is the shed?", "modifiedAt": "2025-06-01T00:01:00Z"}
    assert told["result"]["threads"] == [{"id": thread, **known}]
    ((_, told),) = alone.ask("l", "session/list", {})
    assert told["result"]["sessions"] == [
        {"sessionId": thread, "cwd": "/field", "title": known["title"], "updatedAt": known["modifiedAt"]}
    ]


def test_a_file_that_the_client_read_at_the_agent_is_an_entry() -> None:
    alone, thread = opened()
    ((_, asked),) = alone.ask("r", "fs/read_text_file", {"sessionId": thread, "path": "/field/a"})
    alone.peer({"id": asked["id"], "result": {"version": 1, "content": "peas"}})
    ((_, told),) = alone.peer({"id": 3, "method": "getThreadEntries", "params": {"threadId": thread}})
    assert told["result"]["entries"] == [{"type": "readFile", "path": "/field/a", "content": "peas"}]
