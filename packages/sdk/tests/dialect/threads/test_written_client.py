"""A threads client in front of a v1 agent, with the directions that the document prints."""

from __future__ import annotations

from typing import Any

from dragoman.dialect import EdgeSettings
from dragoman.dialect.threads.introduction import MOST_HELD
from dragoman.dialect.threads.written_client import MOST_THREADS
from tests.dialect.threads.stage import INTRODUCED, Alone, chunk
from tests.every import every

AS_WRITTEN = EdgeSettings(cwd="/field", as_written=True)


def stream(alone: Alone, text: str, number: int = 1) -> list[tuple[str, Any]]:
    params = {"threadId": "t", "chunk": chunk(text)}
    return alone.peer({"id": number, "method": "streamMessageChunk", "params": params})


def begun() -> tuple[Alone, Any]:
    """The agent is initialized and the first chunk was taken; gives the question for the thread."""
    alone = Alone("client", AS_WRITTEN)
    ((_, hello),) = stream(alone, "Where do ")
    assert hello["params"]["clientCapabilities"] == {}
    taken, opening = alone.inside({"jsonrpc": "2.0", "id": hello["id"], "result": INTRODUCED})
    assert taken == ("peer", {"id": 1, "result": None})
    assert (opening[1]["method"], opening[1]["params"]) == ("openThread", {"threadId": "t"})
    ((way, looking),) = alone.peer({"id": opening[1]["id"], "result": None})
    assert (way, looking["method"]) == ("peer", "getThreadEntries")
    return alone, looking


def prompted(alone: Alone, looking: Any, entries: Any = ()) -> Any:
    """The message is whole; gives the prompt."""
    ((_, new),) = alone.peer({"id": looking["id"], "result": {"entries": list(entries)}})
    assert new["method"] == "session/new"
    ((_, prompt),) = alone.inside({"jsonrpc": "2.0", "id": new["id"], "result": {"sessionId": "s"}})
    return prompt


def test_a_message_is_whole_when_a_question_was_answered_and_no_chunk_came_in_between() -> None:
    alone, looking = begun()
    assert stream(alone, "beans grow?", 2) == [("peer", {"id": 2, "result": None})]
    ((_, again),) = alone.peer({"id": looking["id"], "result": {"entries": []}})
    assert again["method"] == "getThreadEntries"
    prompt = prompted(alone, again)
    assert prompt["method"] == "session/prompt"
    assert [block["text"] for block in prompt["params"]["prompt"]] == ["Where do ", "beans grow?"]
    assert ("repaired", "the end of a streamed message, as written") in alone.remarks


def test_the_answer_is_posted_as_one_message_of_the_assistant() -> None:
    alone, looking = begun()
    prompt = prompted(alone, looking)
    for text in ("Along ", "the fence."):
        content = {"type": "text", "text": text}
        assert alone.update("s", sessionUpdate="agent_message_chunk", content=content) == []
    result = {"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": "end_turn"}}
    ((way, posted),) = alone.inside(result)
    assert (way, posted["method"]) == ("peer", "sendMessage")
    message = {"role": "assistant", "chunks": [chunk("Along "), chunk("the fence.")]}
    assert posted["params"] == {"threadId": "t", "message": message}
    assert alone.peer({"id": posted["id"], "result": None}) == []
    assert alone.lost == []


def test_what_is_streamed_during_a_turn_is_the_next_message() -> None:
    alone, looking = begun()
    prompt = prompted(alone, looking)
    _, looking_again = stream(alone, "And peas?", 2)
    assert alone.peer({"id": looking_again[1]["id"], "error": {"code": -32601, "message": "no"}}) == []
    outs = alone.inside({"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": "end_turn"}})
    assert [out["method"] for _, out in outs] == ["sendMessage", "session/prompt"]
    assert outs[1][1]["params"] == {"sessionId": "s", "prompt": [{"type": "text", "text": "And peas?"}]}


def test_a_failing_turn_is_posted_because_there_is_nothing_to_answer() -> None:
    alone, looking = begun()
    prompt = prompted(alone, looking)
    error = {"code": -32603, "message": "no water"}
    ((_, posted),) = alone.inside({"jsonrpc": "2.0", "id": prompt["id"], "error": error})
    assert posted["params"]["message"]["chunks"] == [chunk("The turn failed: no water")]
    assert ("repaired", "a failing turn, as written") in alone.remarks


def test_what_a_thread_held_before_is_noted_as_lost() -> None:
    alone, looking = begun()
    past = [{"type": "message", "role": "assistant", "chunks": []}, {"type": "message", "role": "user"}]
    prompted(alone, looking, past)
    assert alone.lost == ["the entries of a thread from before this conversation"]


def test_the_client_reads_at_the_host() -> None:
    alone = Alone("client", AS_WRITTEN)
    params = {"threadId": "t", "path": "/field/a", "lineOffset": 0}
    ((way, asked),) = alone.peer({"id": 1, "method": "readTextFile", "params": params})
    assert (way, asked["method"], asked["params"]["cwd"]) == ("host", "fs/read_text_file", "/field")
    told = {"content": "x", "_meta": {"dragoman": {"version": "7"}}}
    assert alone.host({"id": asked["id"], "result": told}) == [
        ("peer", {"id": 1, "result": {"version": 7, "content": "x"}})
    ]


def test_the_agent_is_offered_nothing_and_decides_nothing() -> None:
    alone, looking = begun()
    prompted(alone, looking)
    ((_, told),) = alone.ask("r", "fs/read_text_file", {"sessionId": "s", "path": "/field/a"})
    assert told["error"]["code"] == -32601
    ((_, told),) = alone.ask("p", "session/request_permission", {"sessionId": "s", "options": []})
    assert told["result"] == {"outcome": {"outcome": "cancelled"}}
    (cancel,) = alone.ended()
    assert cancel[1]["method"] == "session/cancel"


@every("method", ["getThreads", "createThread", "sendMessage", "x"])
def test_methods_of_the_other_direction_are_refused(method: str) -> None:
    ((way, told),) = Alone("client", AS_WRITTEN).peer({"id": 1, "method": method, "params": None})
    assert (way, told["error"]["code"]) == ("peer", -32601)


def test_threads_and_messages_without_end_are_refused() -> None:
    alone, _ = begun()
    for number in range(1, MOST_THREADS + 1):
        params = {"threadId": str(number), "chunk": chunk("x")}
        outs = alone.peer({"id": 1, "method": "streamMessageChunk", "params": params})
        assert ("error" in outs[0][1]) is (number == MOST_THREADS)
    ((_, refused),) = stream(alone, "x" * MOST_HELD)
    assert refused["error"]["code"] == -32603
