"""What holds for any input: no edge raises, what a dialect can say comes back, each request is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.dialect import Edge, EdgeSettings, Ledger, make_edge
from dragoman.dialect.message import encode
from tests.dialect.acpex.stage import BOTH
from tests.dialect.edges import Pair, message

plain = (
    st.none()
    | st.booleans()
    | st.integers(-9, 99)
    | st.floats(allow_nan=False, width=32)
    | st.text(max_size=5)
)
NAMED = (
    "kind type content sessionUpdate toolCallId function arguments name output steps entries text "
    "source data uri resource role thought _meta sessionId update stopReason options optionId code "
    "message title status locations raw capabilities terminal fileSystem meta authMethods session_id "
    "dragoman/dialect"
)
WORDS = st.sampled_from(NAMED.split())
VALUED = (
    "tool_call tool_call_update plan agent_message_chunk thought message usage_update acpex "
    "acpex-wire text image resource resource_link base64 user done error running diff"
)
VALUES = st.sampled_from(VALUED.split())
anything: st.SearchStrategy[Any] = st.recursive(
    plain | VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=12,
)
ASKED = (
    "initialize authenticate session/new session/load session/prompt session/cancel session/update "
    "session/request_permission fs/read_text_file terminal/output _x nope"
)
METHODS = st.sampled_from(ASKED.split())
ids = st.integers(0, 3)
updates = st.builds(lambda update: {"sessionId": "s", "update": update}, anything)
messages = st.one_of(
    st.builds(lambda i, m, p: {"id": i, "method": m, "params": p}, ids, METHODS, anything | updates),
    st.builds(lambda m, p: {"method": m, "params": p}, METHODS, anything | updates),
    st.builds(lambda i, r: {"id": i, "result": r}, ids, anything),
    st.builds(lambda i, e: {"id": i, "error": e}, ids, anything),
)


def edge(dialect: str, position: Any) -> Edge:
    return make_edge(dialect, position, EdgeSettings(), Ledger())


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize("position", ["client", "agent"])
@settings(max_examples=20)
@given(said=st.lists(st.tuples(st.booleans(), messages), max_size=6))
def test_no_message_makes_an_edge_raise(dialect: str, position: str, said: list[tuple[bool, Any]]) -> None:
    tried = edge(dialect, position)
    for inward, one in said:
        outs = tried.from_peer(message(one)) if inward else tried.from_inside(message(one))
        for _, found in outs:
            assert encode(found)
    tried.peer_ended()


words = st.text(max_size=12)
names = st.sampled_from(["path", "line", "deep"])  # none that a secret could have: those are not kept
texts = st.builds(lambda text: {"type": "text", "text": text}, words)
files = st.builds(lambda part: f"file:///barn/{part}", words)
media = st.builds(
    lambda kind, data: {
        "type": kind,
        "source": {"type": "base64", "mediaType": f"{kind}/x", "data": data},
    },
    st.sampled_from(["image", "audio"]),
    words,
)
resources = st.builds(
    lambda uri, more: {"type": "resource", "uri": uri, **more},
    files,
    st.fixed_dictionaries({}, optional={"mimeType": words, "text": words}),
)
links = st.builds(lambda uri: {"type": "resource_link", "uri": uri}, files)
blocks = st.one_of(texts, media, resources, links)
arguments = st.builds(
    lambda fields: json.dumps(fields, separators=(",", ":"), ensure_ascii=False),
    st.dictionaries(names, st.integers() | st.none() | words, max_size=3),
)


def nested(kind: str, content: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda inner: {"kind": kind, "content": inner}, content)


calls = st.builds(lambda text: f"call-{text}", words)
overview_updates = st.one_of(
    nested("message", words),
    nested("agent_thought_chunk", st.fixed_dictionaries({"thought": words})),
    nested(
        "agent_message_chunk",
        st.builds(lambda block: {"role": "assistant", "content": [block]}, blocks),
    ),
    nested(
        "tool_call",
        st.builds(
            lambda call, name, given: {
                "toolCallId": call,
                "type": "function",
                "function": {"name": name, "arguments": given},
            },
            calls,
            words,
            arguments,
        ),
    ),
    nested("tool_call_update", st.fixed_dictionaries({"toolCallId": calls, "output": words})),
    nested("plan", st.fixed_dictionaries({"steps": st.lists(words, max_size=3)})),
)


def typed(
    kind: str, members: dict[str, Any], optional: dict[str, Any] | None = None
) -> st.SearchStrategy[Any]:
    fixed = {"type": st.just(kind), "sessionUpdate": words, **members}
    return st.fixed_dictionaries(fixed, optional=optional or {})


v1_blocks = texts | st.builds(
    lambda uri, name: {"type": "resource_link", "uri": uri, "name": name}, files, words
)
call_members = {
    "status": st.sampled_from(["pending", "running", "completed", "failed"]),
    "kind": st.sampled_from(["read", "fs_read", "feathers"]),
    "content": st.lists(v1_blocks, max_size=2),
    "rawInput": st.dictionaries(names, words, max_size=2),
    "locations": st.lists(st.fixed_dictionaries({"file": words, "line": st.integers(0, 9)}), max_size=2),
}
wire_updates = st.one_of(
    typed("agent_message_chunk", {"content": v1_blocks}),
    typed("user_message_chunk", {"content": texts}),
    typed("tool_call", {"toolCallId": calls, "title": words}, call_members),
    typed("tool_call_update", {"toolCallId": calls}, call_members),
    typed(
        "plan", {"entries": st.lists(st.fixed_dictionaries({"id": words, "description": words}), max_size=2)}
    ),
    typed("current_mode_update", {"currentModeId": calls}),
)


@settings(max_examples=20)
@given(update=overview_updates)
def test_what_the_overview_can_say_comes_back(update: Any) -> None:
    assert through("acpex", update) == [update]


@settings(max_examples=20)
@given(update=wire_updates)
def test_what_the_code_can_say_comes_back(update: Any) -> None:
    assert through("acpex-wire", update) == [update]


@settings(max_examples=20)
@given(content=st.lists(blocks, max_size=3))
def test_a_prompt_comes_back(content: list[Any]) -> None:
    said = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "session/prompt",
        "params": {"sessionId": "s", "content": content},
    }
    assert Pair("acpex").carry("to_agent", said)[1] == [said]


@pytest.mark.parametrize("dialect", BOTH)
@settings(max_examples=20)
@given(asked=st.lists(st.tuples(METHODS, anything), max_size=5), answered=st.lists(anything, max_size=5))
def test_each_request_gets_exactly_one_answer(dialect: str, asked: list[Any], answered: list[Any]) -> None:
    """Asked by the inside: whatever an edge lets through is answered by the peer or by its end."""
    for position in ("client", "agent"):
        tried = edge(dialect, position)
        outs = [
            out
            for number, (method, params) in enumerate(asked)
            for out in tried.from_inside(message({"id": number, "method": method, "params": params}))
        ]
        passed = [one.id for way, one in outs if way == "peer"]
        for number, result in zip(passed, answered, strict=False):
            outs += tried.from_peer(message({"id": number, "result": result}))
        outs += tried.peer_ended()
        answers = [one.id for way, one in outs if way == "inside" and one.is_answer]
        assert sorted(answers, key=str) == list(range(len(asked)))


def through(dialect: str, update: Any) -> list[Any]:
    said = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    return [frame["params"]["update"] for frame in Pair(dialect).carry("to_client", said)[1]]
