"""What holds for every dialect: no input makes an edge fail, order and ids are kept, every request gets
exactly one answer, and what is not changed stays byte for byte.

Each example goes through all dialects at once: making up what is said takes longer than translating it.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.dialect import CHOICES, DIALECTS, Edge, EdgeSettings, Ledger, Position, Translator, make_edge
from dragoman.dialect.quirks.edge import Quirks
from tests.dialect.deeds import (
    ASKS,
    CALL,
    DEEDS,
    TEXT,
    Deed,
    agent_answers,
    begun,
    cancel,
    chunk,
    prompt,
    question,
    tool,
)
from tests.dialect.undecided_talk import V1_AGENT, V1_CLIENT, answer, request, update
from tests.dialect.world import World, odd, texts
from tests.every import every

few = partial(settings, deadline=None, suppress_health_check=[HealthCheck.too_slow])


FRAMES: list[Any] = [
    request(1, "initialize", V1_CLIENT),
    request(1, "initialize", {"protocol_version": 1, "client_capabilities": {}}),
    request(1, "initialize", {"protocolVersion": 2, "info": {"name": "e"}, "capabilities": {}}),
    request(1, "initialize", {"protocolVersion": 1, "capabilities": {"fileSystem": {"readTextFile": True}}}),
    answer(1, V1_AGENT),
    answer(1, {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}}),
    answer(1, {"protocolVersion": 1, "serverInfo": {"name": "k"}, "capabilities": {"tools": [{}]}}),
    request(
        2, "session/new", {"cwd": "/w", "mcpServers": [{"name": "m", "command": "/m", "args": [], "env": []}]}
    ),
    answer(
        2, {"sessionId": "s", "modes": {"currentModeId": "m", "availableModes": [{"id": "m", "name": "M"}]}}
    ),
    request(3, "session/prompt", {"sessionId": "s", "prompt": [TEXT]}),
    request(3, "session/prompt", {"sessionId": "s", "content": [TEXT]}),
    request(3, "session/prompt", {"session_id": "s", "prompt": [TEXT]}),
    answer(3, {"stopReason": "end_turn"}),
    answer(3, {"stop_reason": "error"}),
    answer(3, {"messageId": "m"}),
    update(sessionUpdate="agent_message_chunk", content=TEXT),
    update(sessionUpdate="tool_call", **CALL),
    update(sessionUpdate="tool_call_update", toolCallId="c1", content=[{"type": "content", "content": TEXT}]),
    update(sessionUpdate="plan", entries=[{"content": "a", "priority": "low", "status": "pending"}]),
    update(sessionUpdate="state_update", state="idle", stopReason="end_turn"),
    update(**{"@type": "permission_request", "tool_call_id": "c1", "permission_options": [{"id": "y"}]}),
    update(kind="tool_call", content={"toolCallId": "c1", "function": {"name": "n", "arguments": "{"}}),
    update(type="agent_message_chunk", content=TEXT),
    update(sessionUpdate="message", role="assistant", content=[TEXT]),
    request(4, "session/request_permission", ASKS),
    answer(4, {"outcome": {"outcome": "selected", "optionId": "yes"}}),
    {"jsonrpc": "2.0", "id": 3, "error": {"code": -32002, "message": "Resource not found", "data": {}}},
    {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}},
    request(5, "cancel", {"session_id": "s"}),
    {"id": 6, "method": "createThread", "params": None},
    {"id": 6, "result": {"threadId": "t"}},
    {
        "id": 7,
        "method": "sendMessage",
        "params": {"threadId": "t", "message": {"role": "user", "chunks": []}},
    },
    {"id": 8, "method": "readTextFile", "params": {"threadId": "t", "path": "/a", "lineOffset": 3}},
]

JUNK = st.sampled_from(
    [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        '""',
        '"x"',
        '"s"',
        "[]",
        "{}",
        "[[]]",
        '{"": null}',
        '{"type": "text"}',
    ]
)


@st.composite
def frames(draw: st.DrawFn) -> Any:
    """A frame of some dialect, with something in it put wrong or left out, mostly."""
    frame = json.loads(json.dumps(draw(st.sampled_from(FRAMES))))
    for _ in range(draw(st.integers(0, 2))):
        _spoil(frame, draw)
    return frame


def _spoil(value: Any, draw: st.DrawFn) -> None:
    while isinstance(value, dict | list) and value:
        key = draw(st.sampled_from(list(value) if isinstance(value, dict) else list(range(len(value)))))
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 3)) == 0:
            if draw(st.booleans()):
                del value[key]
            else:
                value[key] = json.loads(draw(JUNK))  # a fresh one: it may be spoilt too
            return
        value = inner


SPOKEN = st.lists(st.tuples(st.booleans(), frames()), max_size=12)


POSITIONS: tuple[Position, ...] = ("client", "agent")


@few(max_examples=30)
@given(SPOKEN)
def test_whatever_is_said_no_edge_fails_and_what_it_leaves_alone_keeps_its_bytes(
    said: list[tuple[bool, Any]],
) -> None:
    for dialect in CHOICES:
        for position in POSITIONS:
            mistakes: list[Exception] = []
            ledger = Ledger()
            edges = [
                Quirks(position, EdgeSettings(), ledger),
                make_edge(dialect, position, EdgeSettings(), ledger),
            ]
            translator = Translator(edges, ledger, on_mistake=mistakes.append)
            for from_peer, frame in said:
                assert _written_anew(translator, frame, from_peer=from_peer) == [], (dialect, position)
            translator.peer_ended()
            assert mistakes == [], (dialect, position)


def _written_anew(translator: Translator, frame: Any, *, from_peer: bool) -> list[bytes]:
    """What comes out on the other side and means the same, and is other bytes all the same."""
    block = odd(frame)
    passed = translator.from_peer(block) if from_peer else translator.from_inside(block)
    for line in [*passed.inside.splitlines(), *passed.peer.splitlines()]:
        json.loads(line)
    lines = (passed.inside if from_peer else passed.peer).splitlines(keepends=True)
    return [line for line in lines if line != block and json.dumps(json.loads(line)) == json.dumps(frame)]


DONE = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 7)), max_size=25)


@few(max_examples=30)
@given(DONE)
def test_in_any_conversation_every_request_gets_exactly_one_answer(deeds: list[tuple[Deed, int]]) -> None:
    for dialect in CHOICES:
        world = begun(dialect)
        for deed, n in deeds:
            deed(world, n)
        world.settle()
        assert world.mistakes == [], dialect
        for party in world.parties.values():
            assert party.answers == dict.fromkeys(party.asked, 1), dialect
        assert _kept_order(world), dialect


def _kept_order(world: World) -> bool:
    heard = texts(world.parties["client"].heard)
    if world.loaded:  # a replay may say everything once more
        return _is_within(world.said, heard) or world.cancelled
    # A dialect without a cancel ends the turn by itself, and does not listen after that.
    return heard == world.said or (world.cancelled and _is_within(heard, world.said))


def _is_within(part: str, whole: str) -> bool:
    """Whether it is the same in the same order, with something left out."""
    rest = iter(whole)
    return all(letter in rest for letter in part)


@every("dialect", CHOICES)
def test_a_conversation_really_takes_place(dialect: str) -> None:
    world = begun(dialect)
    for deed in (prompt, chunk, chunk, tool, agent_answers):
        deed(world, 0)
    world.settle()
    assert texts(world.parties["client"].heard) == "0.0."
    assert "session/prompt" in world.parties["client"].asked.values()
    (ended,) = [one for one in world.parties["client"].heard if "stopReason" in (one.get("result") or {})]
    assert ended["result"]["stopReason"] == "end_turn"


@every("dialect", DIALECTS)
def test_when_the_wire_breaks_nobody_gets_a_second_answer(dialect: str) -> None:
    world = begun(dialect)
    for deed in (prompt, chunk, question, cancel):
        deed(world, 0)
    world.end()
    for party in world.parties.values():
        assert all(party.answers[id_] <= 1 for id_ in party.asked)
        assert set(party.answers) <= set(party.asked)
    assert world.mistakes == []


@few(max_examples=15)
@given(st.lists(frames(), min_size=1, max_size=6))
def test_a_peer_of_v1_is_passed_untouched(said: list[Any]) -> None:
    ledger = Ledger()
    block = b"".join(map(odd, said))
    translator = Translator([Edge(EdgeSettings(), ledger)], ledger)
    assert translator.from_peer(block).inside is block
    assert translator.from_inside(block).peer is block
    assert ledger.frame == len(said)
