"""Recordings explained: who speaks what, where it is not v1, and what is said to its author."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect import Message, Position
from dragoman.dialect.explain import Explanation, explain, speaker_of
from tests.dialect.undecided_talk import V1_AGENT, V1_CLIENT, answer, request, update
from tests.every import every

TEXT = {"type": "text", "text": "a quiet word"}


def explained(*said: tuple[Position | None, Any]) -> Explanation:
    return explain([(by, json.dumps(frame).encode()) for by, frame in said])


def conversation(name: str) -> list[tuple[Position | None, Any]]:
    """A story with who says each frame: what is asked here is mostly asked by the client."""
    said: list[tuple[Position | None, Any]] = []
    for frame in map(dict, STORIES[name]):
        asks = "method" in frame and frame["method"] != "session/update"
        by: Position = frame.pop("by", "client" if asks else "agent")
        said.append((by, frame))
    return said


STORIES: dict[str, list[Any]] = {
    "v1": [
        request(1, "initialize", V1_CLIENT),
        answer(1, V1_AGENT),
        request(2, "session/new", {"cwd": "/w", "mcpServers": []}),
        answer(2, {"sessionId": "s"}),
        request(3, "session/prompt", {"sessionId": "s", "prompt": [TEXT]}),
        update(sessionUpdate="agent_message_chunk", content=TEXT),
        answer(3, {"stopReason": "end_turn"}),
    ],
    "crow": [
        request(1, "initialize", {"protocol_version": 1, "client_capabilities": {}}),
        answer(1, {"protocol_version": 1, "agent_capabilities": {}, "agent_info": {"name": "x"}}),
        request(2, "session/prompt", {"session_id": "s", "prompt": [TEXT]}),
        update(**{"@type": "agent_message_text", "text": "hm"}),
        request(3, "cancel", {"session_id": "s"}),
        answer(2, {"stop_reason": "cancelled"}),
    ],
    "threads": [
        {"id": 0, "method": "createThread", "params": None},
        {"id": 0, "result": {"threadId": "t"}},
        {"by": "agent", "id": 0, "method": "readTextFile", "params": {"threadId": "t", "path": "/a"}},
    ],
    "haven": [
        request(1, "initialize", {"protocolVersion": 1, "capabilities": {}}),
        answer(1, {"protocolVersion": 1, "capabilities": {}}),
        request(2, "session/prompt", {"sessionId": "s", "prompt": [TEXT]}),
        update(sessionUpdate="tool_call", id="c", name="Look", status="pending", kind="file"),
    ],
    "koog": [
        request(1, "initialize", V1_CLIENT),
        answer(1, {"protocolVersion": 1, "capabilities": {"tools": []}, "serverInfo": {"name": "k"}}),
        update(sessionUpdate="message", role="assistant", content=[TEXT]),
    ],
    "acpex": [
        request(1, "initialize", {"protocolVersion": 1, "capabilities": {"fileSystem": {}}}),
        answer(1, {"protocolVersion": 1, "agentCapabilities": {"sessions": {}}, "meta": {"name": "a"}}),
        request(2, "session/prompt", {"sessionId": "s", "content": [TEXT]}),
        update(kind="message", content="hm"),
        answer(2, {"content": [TEXT], "stopReason": "done"}),
    ],
    "v2": [
        request(1, "initialize", {"protocolVersion": 2, "info": {"name": "e"}, "capabilities": {}}),
        answer(1, {"protocolVersion": 2, "info": {"name": "a"}, "capabilities": {}}),
    ],
}
CLIENTS = {"koog": "v1"}


@every("name", STORIES)
def test_both_sides_are_told(name: str) -> None:
    explanation = explained(*conversation(name))
    likely = CLIENTS.get(name, name)
    assert (explanation.client.dialect, explanation.agent.dialect) == (likely, name)
    assert explanation.frames == len(STORIES[name])
    assert bool(explanation.deviations) == (name != "v1")


@every("name", STORIES)
def test_who_says_what_is_guessed_where_it_is_not_written_down(name: str) -> None:
    known = explained(*conversation(name))
    guessed = explained(*[(None, frame) for _, frame in conversation(name)])
    assert guessed.client == known.client
    assert guessed.agent.dialect == known.agent.dialect


def found(*said: tuple[Position | None, Any]) -> dict[str, str]:
    return {one.what: one.fix for one in explained(*said).deviations}


def test_each_deviation_has_its_fix_its_count_and_its_first_frame() -> None:
    prompt = request(3, "session/prompt", {"session_id": "s", "content": [TEXT]})
    explanation = explained(("client", STORIES["v1"][0]), ("client", prompt), ("client", {**prompt, "id": 4}))
    assert [(one.what, one.fix, one.count, one.first_frame, one.by) for one in explanation.deviations] == [
        ("session/prompt: session_id", "call it sessionId", 2, 2, "client"),
        ("session/prompt: content", "call it prompt", 2, 2, "client"),
    ]


CASES: list[tuple[Position, Any, str, str]] = [
    (
        "client",
        {"id": 1, "method": "session/list", "params": {}},
        "no jsonrpc in the envelope",
        "begin every",
    ),
    ("client", request(None, "session/list", {}), "a request with the id null", "give requests"),
    ("client", request(1, "session/cancel", {"sessionId": "s"}), "session/cancel as a request", "leave out"),
    ("client", request(1, "getThreads"), "the method getThreads", "call session/list"),
    ("client", request(1, "mine/own", {}), "the method mine/own", "begin names of your own with _"),
    ("agent", update(type="plan", entries=[]), "session/update: type tells", "name the kind in"),
    ("agent", update(sessionUpdate="message", content=[]), "an update message", "one for each block"),
    ("agent", update(sessionUpdate="tool_call", id="c", name="n"), "tool_call: id", "call it toolCallId"),
    ("agent", update(sessionUpdate="tool_call", toolCallId="c"), "params.update.title is missing", "schema"),
    (
        "agent",
        {"jsonrpc": "2.0", "method": "session/request_permission", "params": {}},
        "session/request_permission as a notification",
        "give it an id",
    ),
    (
        "agent",
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "type": "message"}},
        "session/update: no update",
        "params.update",
    ),
]


@pytest.mark.parametrize(("by", "frame", "what", "fix"), CASES, ids=[case[2] for case in CASES])
def test_what_is_not_v1_is_named(by: Position, frame: Any, what: str, fix: str) -> None:
    all_found = found((by, frame))
    assert any(what in one and fix in advice for one, advice in all_found.items()), all_found


def test_fields_that_v1_does_not_know_and_methods_of_ones_own_are_no_deviation() -> None:
    extra = request(1, "session/new", {"cwd": "/w", "mcpServers": [], "models": [], "_meta": {"a": 1}})
    assert found(("client", extra), ("client", request(2, "_mine/own", {"a": 1}))) == {}


def test_quirks_of_known_programs_are_found() -> None:
    info = {**V1_AGENT, "agentInfo": {"name": "gemini-cli", "version": "1"}}
    ask = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []}
    said = [("client", STORIES["v1"][0]), ("agent", answer(1, info))]
    told = found(*said, ("agent", request(1, "session/request_permission", ask)))  # type: ignore[arg-type]
    assert told["permission for a tool call that was never announced"].startswith("send tool_call before")


def test_lines_that_are_no_messages_are_counted() -> None:
    explanation = explain([("agent", b"Starting up..."), ("agent", b"[]"), (None, b"{}")])
    assert [(one.what, one.count) for one in explanation.deviations] == [
        ("a line that is not a JSON-RPC message", 2),
    ]
    assert explanation.frames == 3


def test_an_empty_recording_is_of_nobody() -> None:
    explanation = explain([])
    assert (explanation.client.sure, explanation.agent.sure, explanation.frames) == (False, False, 0)


def test_values_are_never_shown() -> None:
    secret = "hunter2-and-more"
    frames = [
        request(1, "initialize", {"protocolVersion": secret, "capabilities": secret}),
        update(kind=[secret]),
    ]
    explanation = explained(*[("client", frame) for frame in frames], ("agent", frames[1]))
    assert secret not in str(explanation)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "tool_call", "s", "message"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "method", "params", "result", "error", "update", "kind", "content", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
METHODS = st.sampled_from(
    ["initialize", "session/update", "session/prompt", "session/request_permission", "x"]
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["client", "agent", None]),
            st.fixed_dictionaries(
                {}, optional={"id": JSON, "method": METHODS, "params": JSON, "result": JSON}
            ),
        ),
        max_size=6,
    )
)
def test_any_recording_can_be_explained(said: list[tuple[Position | None, Any]]) -> None:
    assert explained(*said).frames == len(said)


def test_methods_of_both_sides_name_nobody() -> None:
    assert speaker_of(Message("2.0", 1, "initialize")) == "client"
    assert speaker_of(Message("2.0", 1, "fs/read_text_file")) == "agent"
    assert speaker_of(Message("2.0", method="$/cancel_request")) is None
