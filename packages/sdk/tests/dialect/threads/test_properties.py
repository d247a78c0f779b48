"""What holds whatever is said."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect import EdgeSettings, Message
from tests.dialect.threads.round_trips import answer, entries, streamed
from tests.dialect.threads.stage import Alone, Between, chunk

names = st.text(min_size=1, max_size=8)
chunks = st.builds(chunk, st.text(max_size=8))
messages = st.fixed_dictionaries(
    {
        "type": st.just("message"),
        "role": st.sampled_from(["user", "assistant"]),
        "chunks": st.lists(chunks, min_size=1, max_size=3),
    }
)
reads = st.fixed_dictionaries({"type": st.just("readFile"), "path": names, "content": st.text(max_size=9)})
threads = st.fixed_dictionaries({"id": names, "title": st.text(min_size=1, max_size=8), "modifiedAt": names})


@given(
    st.lists(messages | reads, max_size=5),
    st.lists(threads, max_size=3, unique_by=lambda one: one["id"]),
    chunks,
)
def test_through_v1_and_back_is_the_identity_on_what_the_dialect_can_say(
    listed: list[Any], metadata: list[Any], said: Any
) -> None:
    between = Between()
    assert answer(between, {"id": 9, "result": {"threads": metadata}})["result"]["threads"] == metadata
    assert entries(between, listed) == listed
    assert streamed(between, said) == said
    assert not between.lost


METHODS = [
    *("getThreads", "createThread", "openThread", "getThreadEntries", "sendMessage", "streamMessageChunk"),
    *("readTextFile", "readBinaryFile", "stat", "globSearch", "initialize", "session/new", "session/load"),
    *("session/list", "session/prompt", "session/cancel", "session/update", "session/request_permission"),
    *("fs/read_text_file", "_dragoman/fs/stat", "_dragoman/fs/glob", "_dragoman/fs/read_range"),
    *("$/cancel_request", "session/resume", "other"),
]
WORDS = [
    *("threadId", "sessionId", "message", "role", "chunks", "chunk", "type", "text", "update", "options"),
    *("sessionUpdate", "content", "entries", "threads", "sessions", "path", "pattern", "cwd", "toolCallId"),
    *("protocolVersion", "agentCapabilities", "loadSession", "error", "code", "kind", "status", "locations"),
]
VALUES = ["t", "user", "read", "completed", "agent_message_chunk", "tool_call", "message", "text"]
scalars = (
    st.none() | st.booleans() | st.integers(-2, 2**65) | st.sampled_from(VALUES) | st.floats(allow_nan=False)
)
json = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=8,
)
ids = st.integers(0, 6) | st.sampled_from(["threads-1", "threads-2", "threads-3", "p"]) | st.none()
frames = (
    st.builds(
        lambda id_, method, params: Message("2.0", id_, method, params), ids, st.sampled_from(METHODS), json
    )
    | st.builds(lambda method, params: Message(method=method, params=params), st.sampled_from(METHODS), json)
    | st.builds(lambda id_, result: Message(id=id_, result=result), ids, json)
    | st.builds(lambda id_, error: Message(id=id_, error=error), ids, json)
)


@given(
    st.lists(st.tuples(st.sampled_from(["from_peer", "from_inside", "from_host"]), frames), max_size=8),
    st.sampled_from(["client", "agent"]),
    st.booleans(),
)
def test_no_frame_makes_an_edge_raise_and_every_request_is_answered_at_most_once(
    said: list[tuple[str, Message]], position: Any, as_written: bool
) -> None:
    alone = Alone(position, EdgeSettings(cwd="/field", as_written=as_written))
    asked: dict[str, list[Any]] = {"peer": [], "inside": []}
    answered: dict[str, list[Any]] = {"peer": [], "inside": []}
    outs = []
    for way, message in said:
        if way != "from_host" and message.is_request:
            asked[way.removeprefix("from_")].append(message.id)
        outs += getattr(alone.edge, way)(message)
    outs += alone.edge.peer_ended()
    for toward, out in outs:
        if out.is_answer:
            answered[toward].append(out.id)
    for side, ids_asked in asked.items():
        assert all(answered[side].count(one) <= ids_asked.count(one) for one in answered[side])
    if position == "agent":  # whoever waits for an agent that is gone has been told
        assert sorted(map(repr, asked["inside"])) == sorted(map(repr, answered["inside"]))
