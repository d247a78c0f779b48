"""What an agent speaks, found out from how it takes a v1 `initialize`, and from its first turn."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import translator
from tests.dialect.edges import bare
from tests.dialect.official import refused as refused_by_official
from tests.dialect.undecided_talk import V1_AGENT, V1_CLIENT, Listener, answer, request, update
from tests.every import every

FIRST = request(1, "initialize", V1_CLIENT)
NEXT = request(2, "session/new", {"cwd": "/w", "mcpServers": []})


def introduced(result: Any, **envelope: Any) -> Listener:
    agent = Listener("agent").from_inside(FIRST)
    assert agent.peer == [FIRST]
    return agent.from_peer({"jsonrpc": "2.0", "id": 1, "result": result, **envelope})


TOLD = {
    "v1": (V1_AGENT, "v1"),
    "crow": ({"protocol_version": 1, "agent_capabilities": {"load_session": True}}, "crow"),
    "koog": ({"protocolVersion": 1, "capabilities": {"tools": []}, "serverInfo": {"name": "k"}}, "koog"),
    "acpex": (
        {
            "protocolVersion": 1,
            "agentCapabilities": {"sessions": {"new": True}},
            "meta": {"name": "a", "version": "1"},
            "authenticationMethods": [],
        },
        "acpex",
    ),
    "both forms of acpex": ({"protocolVersion": 1, "agentCapabilities": {"sessions": {"new": True}}}, None),
    "bare": ({"protocolVersion": 1}, None),
    "capabilities of haven or koog": ({"protocolVersion": 1, "capabilities": {}}, None),
    "v1 but for its name": ({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}, None),
    "nonsense": ("yes", None),
}


@every(("result", "dialect"), TOLD.values(), ids=TOLD)
def test_the_answer_to_initialize_tells_or_leaves_open(result: Any, dialect: str | None) -> None:
    agent = introduced(result)
    assert agent.dialect == dialect
    assert [one["id"] for one in agent.inside] == [1]
    assert agent.peer == []


def test_an_answer_in_a_dialect_is_heard_in_v1() -> None:
    agent = introduced({"protocol_version": 1, "agent_info": {"name": "c", "version": "1"}})
    assert agent.inside[0]["result"]["protocolVersion"] == 1
    assert agent.inside[0]["result"]["agentInfo"]["name"] == "c"


def refused(code: int, text: str, **envelope: Any) -> Listener:
    agent = Listener("agent").from_inside(FIRST)
    refusal = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": text}, **envelope}
    return agent.from_peer({name: value for name, value in refusal.items() if value is not None})


def test_an_agent_that_only_speaks_v2_is_initialized_again() -> None:
    agent = refused(-32022, "Unsupported protocol version")
    assert agent.dialect == "v2"
    assert agent.inside == []
    assert [one["method"] for one in agent.peer] == ["initialize"]
    assert agent.peer[0]["params"]["protocolVersion"] == 2


def test_an_agent_that_answers_v1_with_v2_is_initialized_again() -> None:
    agent = introduced({"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {}})
    assert (agent.dialect, agent.inside) == ("v2", [])
    assert agent.peer[0]["params"]["protocolVersion"] == 2


def test_an_agent_that_wants_protocol_version_is_initialized_again() -> None:
    agent = refused(-32602, "Invalid params: protocol_version: field required")
    assert (agent.dialect, agent.inside) == ("crow", [])
    assert agent.peer[0]["params"]["protocol_version"] == 1


def test_an_agent_that_knows_no_initialize_speaks_threads() -> None:
    agent = refused(-32601, "Method not found - 'initialize'", jsonrpc=None)
    assert agent.dialect == "threads"
    assert agent.inside[0]["id"] == 1
    assert agent.inside[0]["result"]["protocolVersion"] == 1


def test_an_error_that_tells_nothing_is_passed_and_leaves_everything_open() -> None:
    agent = refused(-32603, "Internal error: out of luck")
    assert agent.ledger.decisions == []
    assert agent.inside[0]["error"]["code"] == -32603
    agent.from_inside(FIRST)
    agent.from_peer(answer(1, V1_AGENT))
    assert agent.dialect == "v1"


LATER = {
    "crow": update(**{"@type": "agent_message_text", "text": "a"}),
    "acpex": update(kind="message", content="a"),
    "acpex-wire": update(type="plan", sessionUpdate="u-1", entries=[]),
    "haven": update(sessionUpdate="tool_call", id="t", name="Look", status="pending"),
    "haven-legacy": update(type="agent_message_chunk", content={"type": "text", "text": "a"}),
    "koog": update(sessionUpdate="message", role="assistant", content=[{"type": "text", "text": "a"}]),
    "v1": update(sessionUpdate="tool_call", toolCallId="t", title="Look"),
}


@every(("dialect", "said"), LATER.items(), ids=LATER)
def test_an_update_tells_what_the_handshake_left_open(dialect: str, said: Any) -> None:
    agent = introduced({"protocolVersion": 1})
    agent.from_inside(NEXT).from_peer(answer(2, {"sessionId": "s"}))
    agent.from_inside(request(3, "session/prompt", {"sessionId": "s", "prompt": []}))
    agent.from_peer(update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "hm"}))
    assert agent.ledger.decisions == []
    agent.from_peer(said)
    assert agent.dialect == dialect
    assert all(one["params"]["update"]["sessionUpdate"] for one in agent.inside)


def test_a_permission_request_without_an_id_is_of_haven_legacy_and_nobody_consents() -> None:
    agent = introduced({"protocolVersion": 1})
    params = {"sessionId": "s", "toolCall": {"id": "t", "name": "Run", "status": "pending"}, "options": []}
    agent.from_peer({"jsonrpc": "2.0", "method": "session/request_permission", "params": params})
    assert agent.dialect == "haven-legacy"


def test_a_turn_that_ends_without_evidence_is_of_v1() -> None:
    agent = introduced({"protocolVersion": 1})
    agent.from_inside(request(3, "session/prompt", {"sessionId": "s", "prompt": []}))
    agent.from_peer(answer(3, {"stopReason": "end_turn"}))
    assert (agent.dialect, agent.decision.sure) == ("v1", False)


def test_what_is_said_before_the_answer_waits_for_it_and_keeps_its_order() -> None:
    agent = Listener("agent").from_inside(FIRST, NEXT)
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
    agent.from_inside(cancel)
    assert agent.peer == []
    assert agent.translator.holding
    agent.from_peer(answer(1, V1_AGENT))
    assert agent.peer == [NEXT, cancel]
    assert not agent.translator.holding


def test_what_waits_is_translated_too() -> None:
    agent = Listener("agent").from_inside(FIRST, request(2, "session/load", {"sessionId": "s", "cwd": "/w"}))
    agent.from_peer(answer(1, {"protocol_version": 1, "agent_capabilities": {}}))
    assert agent.peer[0]["params"]["session_id"] == "s"


def test_what_waits_for_an_agent_that_ends_is_answered() -> None:
    agent = Listener("agent").from_inside(FIRST, NEXT).ended()
    assert [(one["id"], one["error"]["code"]) for one in agent.inside] == [(2, -32603)]


def test_an_agent_is_never_offered_more_than_the_inside_speaks() -> None:
    agent = Listener("agent").from_inside(request(1, "initialize", {**V1_CLIENT, "protocolVersion": 99}))
    assert agent.peer[0]["params"] == {**V1_CLIENT, "protocolVersion": 1}


def test_an_agent_that_asks_as_the_thread_protocol_prints_it_is_heard() -> None:
    agent = Listener("agent").from_inside(FIRST)
    agent.from_peer({"id": 0, "method": "getThreads", "params": None})
    assert agent.dialect == "threads"
    assert agent.translator.edges[0].settings.as_written
    assert [one["id"] for one in agent.inside if "result" in one] == [1]


def test_text_passes_undecoded_while_something_is_still_open() -> None:
    agent = introduced({"protocolVersion": 1})
    line = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    block = line + b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}\n'
    assert agent.translator.from_peer(block).inside is block


def words(first: int, *, count: int, form: str) -> bytes:
    """A block of text as agents of several languages write it."""
    lines = []
    for number in range(first, first + count):
        # A text about tool calls is no tool call.
        text = f'word {number} "quoted" \\' if number < 50 else f'word {number} "tool_call"'
        content = {"type": "text", "text": text}
        kind = {"sessionUpdate": "agent_message_chunk"}
        body = {"content": content, **kind} if form == "kind last" else {**kind, "content": content}
        separators = (", ", ": ") if form == "spaced" else (",", ":")
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": body}}
        lines.append(json.dumps(frame, separators=separators).encode() + b"\n")
    return b"".join(lines)


@every("form", ["close", "spaced", "kind last"])
def test_of_the_words_of_a_first_turn_only_the_first_are_looked_at(form: str) -> None:
    looked_at = 0

    def counting(look: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        def count(block: bytes) -> Any:
            nonlocal looked_at
            looked_at += block.count(b"\n")
            return look(block)

        return count

    agent = introduced({"protocolVersion": 1})
    with pytest.MonkeyPatch.context() as patch:
        for name in ("glance_block", "decode_block"):
            patch.setattr(translator, name, counting(getattr(translator, name)))
        for number in range(40):
            block = words(number * 50, count=50, form=form)
            assert agent.translator.from_peer(block).inside == block
    assert 0 < looked_at <= 100
    assert agent.ledger.frame == 1 + 40 * 50
    # What comes after them is heard all the same.
    agent.from_peer(update(sessionUpdate="tool_call", id="c", name="n", status="running"))
    assert agent.dialect == "haven"


@every("odd", [b"x", b'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"done"}}'])
def test_among_words_everything_else_is_seen(odd: bytes) -> None:
    agent = introduced({"protocolVersion": 1})
    agent.translator.from_inside(json.dumps(request(1, "session/prompt", {})).encode() + b"\n")
    agent.translator.from_peer(words(0, count=5, form="close"))
    block = words(5, count=5, form="close")
    middle = block.index(b"\n") + 1
    passed = agent.translator.from_peer(block[:middle] + odd + b"\n" + block[middle:])
    assert passed.inside.count(b"\n") == 6
    assert (agent.dialect is None) == (odd == b"x")


@every(("offered", "told"), [(2, 1), (65535, 1), (65536, 65536), (0, 0), ("1", "1")])
def test_later_versions_are_not_offered_and_what_is_no_version_is_the_agents_to_refuse(
    offered: Any, told: Any
) -> None:
    agent = Listener("agent").from_inside(request(1, "initialize", {**V1_CLIENT, "protocolVersion": offered}))
    assert [one["params"]["protocolVersion"] for one in agent.peer] == [told]


# What passes before anything is decided is valid v1 already.

TEXT = {"type": "text", "text": "a"}
BLOCKS: list[Any] = [
    TEXT,
    {"type": "image", "mimeType": "image/png", "data": "AAAA"},
    {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
    {"type": "resource_link", "uri": "file:///srv/a.txt"},
    {"type": "embedded_resource", "resource": {"uri": "file:///srv/a.txt", "text": "a"}},
    {"type": "embedded_resource", "uri": "file:///srv/a.txt", "text": "a"},
]
HAVEN_UPDATES: list[Any] = [
    *(update(sessionUpdate="agent_message_chunk", content=block) for block in BLOCKS),
    *(update(sessionUpdate="agent_thought_chunk", content=block) for block in BLOCKS[::-1]),
    update(sessionUpdate="user_message_chunk", content=TEXT),
    update(sessionUpdate="plan", entries=[]),
    update(sessionUpdate="tool_call", id="t", name="Look", status="pending", kind="file"),
    update(sessionUpdate="tool_call_update", id="t", status="completed", content=[BLOCKS[4]]),
]


@pytest.mark.parametrize("introduction", [{"protocolVersion": 1}, {"protocolVersion": 1, "capabilities": {}}])
@pytest.mark.parametrize("first", range(len(BLOCKS)))
def test_every_update_of_haven_is_valid_v1_from_the_first_on(
    introduction: Any, first: int, tmp_path: Path
) -> None:
    agent = introduced(introduction)
    agent.from_inside(NEXT).from_peer(answer(2, {"sessionId": "s"}))
    agent.from_inside(request(3, "session/prompt", {"sessionId": "s", "prompt": []}))
    said = [*HAVEN_UPDATES[first:], *HAVEN_UPDATES[:first]]
    heard = [one for line in said for one in agent.from_peer(line).inside]
    assert len(heard) == 16
    assert refused_by_official([("to_client", one) for one in heard], tmp_path, typescript=False) == []
    assert "embedded_resource" not in str(bare(heard))


def test_a_link_without_a_name_has_one_though_nothing_tells_whose_it_is() -> None:
    agent = introduced({"protocolVersion": 1})
    agent.from_peer(update(sessionUpdate="agent_message_chunk", content=BLOCKS[3]))
    assert agent.ledger.decisions == []
    assert agent.inside[0]["params"]["update"]["content"]["name"] == "a.txt"
    assert [(entry.outcome, entry.dialect) for entry in agent.ledger.entries] == [("repaired", "auto")]


def test_capabilities_of_an_undecided_agent_are_those_of_v1_too() -> None:
    agent = introduced({"protocolVersion": 1, "capabilities": {"loadSession": True}})
    assert agent.inside[0]["result"]["agentCapabilities"] == {"loadSession": True}


def test_an_error_code_that_means_something_else_in_acpex_does_not_pass_undecided() -> None:
    agent = introduced({"protocolVersion": 1, "agentCapabilities": {"sessions": {"new": True}}})
    agent.from_inside(NEXT)
    refusal = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32002, "message": "Permission denied"}}
    agent.from_peer(refusal)
    assert agent.ledger.decisions == []
    assert agent.inside[0]["error"]["code"] == -32603
    assert agent.inside[0]["error"]["data"] == {"acpexCode": -32002}


@pytest.mark.parametrize(("code", "why"), [(-32000, "Please sign in"), (-32002, "Session not found")])
def test_an_error_of_an_agent_that_may_well_be_of_v1_means_what_it_means_there(code: int, why: str) -> None:
    agent = introduced({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
    agent.from_inside(NEXT)
    agent.from_peer({"jsonrpc": "2.0", "id": 2, "error": {"code": code, "message": why}})
    assert agent.inside[0]["error"] == {"code": code, "message": why}


@pytest.mark.parametrize(
    ("result", "dialect", "stop"),
    [
        ({"stopReason": "done"}, "acpex", "end_turn"),
        ({"stopReason": "end_turn", "content": [TEXT]}, "koog", "end_turn"),
    ],
)
def test_a_silent_turn_that_ends_in_other_words_is_heard_in_v1(result: Any, dialect: str, stop: str) -> None:
    agent = introduced({"protocolVersion": 1})
    agent.from_inside(request(3, "session/prompt", {"sessionId": "s", "prompt": []}))
    agent.from_peer(answer(3, result))
    assert (agent.dialect, agent.decision.sure) == (dialect, False)
    *said, ended = agent.inside
    assert ended["result"]["stopReason"] == stop
    assert [one["params"]["update"]["content"] for one in said] == result.get("content", [])
