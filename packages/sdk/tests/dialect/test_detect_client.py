"""What a client speaks, found out from its first requests."""

import json
from typing import Any

from tests.dialect.undecided_talk import V1_AGENT, V1_CLIENT, Listener, answer, request, update
from tests.every import every

TOLD_BY_INITIALIZE = {
    "plain": (V1_CLIENT, "v1"),
    "bare": ({"protocolVersion": 1}, None),
    "both fields of v1 and v2": (
        {**V1_CLIENT, "protocolVersion": 2, "capabilities": {}, "info": {"name": "ed", "version": "1"}},
        None,
    ),
    "a late version with fields of v1": ({**V1_CLIENT, "protocolVersion": 99}, "v1"),
    "crow": ({"protocol_version": 1, "client_capabilities": {}, "client_info": {"name": "c"}}, "crow"),
    "crow, short": ({"protocol_version": 1}, "crow"),
    "v2": ({"protocolVersion": 2, "info": {"name": "e", "version": "1"}, "capabilities": {}}, "v2"),
    "shaped as v2, asks for 1": (
        {"protocolVersion": 1, "info": {"name": "e", "version": "1"}, "capabilities": {}},
        "v1",
    ),
    "shaped as v2, asks for 0": (
        {"protocolVersion": 0, "info": {"name": "e", "version": "1"}, "capabilities": {}},
        "v1",
    ),
    "a version and nothing else": ({"protocolVersion": 2}, None),
    "acpex": (
        {
            "protocolVersion": 1,
            "clientInfo": {"name": "ed", "version": "1"},
            "capabilities": {"fileSystem": {"readTextFile": True}, "terminal": {"create": True}},
            "authenticationMethods": [],
        },
        "acpex",
    ),
    "acpex without a list of methods": (
        {"protocolVersion": 1, "capabilities": {"fileSystem": {"readTextFile": False}}},
        "acpex",
    ),
    "empty capabilities, which three dialects have": ({"protocolVersion": 1, "capabilities": {}}, None),
    "a string for a version": ({"protocolVersion": "0.0.9"}, "v1"),
    "nonsense": ([1, 2], None),
}


@every(("params", "dialect"), TOLD_BY_INITIALIZE.values(), ids=TOLD_BY_INITIALIZE)
def test_initialize_tells_or_leaves_open(params: Any, dialect: str | None) -> None:
    client = Listener("client").from_peer(request(1, "initialize", params))
    assert client.dialect == dialect
    assert [one.get("method") for one in client.inside] == ["initialize"]


def test_threads_takes_its_methods_and_its_envelope_together() -> None:
    asked = {"id": 0, "method": "getThreads", "params": None}
    assert Listener("client").from_peer(asked).dialect == "threads"
    assert Listener("client").from_peer({"jsonrpc": "2.0", **asked}).dialect is None
    assert (
        Listener("client").from_peer({"id": 0, "method": "initialize", "params": V1_CLIENT}).dialect == "v1"
    )


def test_threads_as_its_document_prints_it_is_heard_from_the_other_side() -> None:
    client = Listener("client").from_peer(
        {"id": 0, "method": "stat", "params": {"threadId": "t", "path": "/a"}}
    )
    assert client.dialect == "threads"
    assert client.translator.edges[0].settings.as_written


HAVEN = request(1, "initialize", {"protocolVersion": 1, "capabilities": {}})
PROMPT = [{"type": "text", "text": "go"}]


def test_empty_capabilities_and_a_prompt_are_haven() -> None:
    client = Listener("client").from_peer(HAVEN)
    client.from_inside(answer(1, V1_AGENT))
    assert client.peer[0]["result"]["capabilities"] == V1_AGENT["agentCapabilities"]
    client.from_peer(request(2, "session/prompt", {"sessionId": "s", "prompt": PROMPT}))
    assert client.dialect == "haven"
    assert [reason.frame for reason in client.decision.reasons] == [1, 1, 2]


def test_empty_capabilities_and_content_are_acpex() -> None:
    client = Listener("client").from_peer(HAVEN)
    client.from_inside(answer(1, V1_AGENT))
    client.from_peer(request(2, "session/prompt", {"sessionId": "s", "content": PROMPT}))
    assert client.dialect == "acpex"
    assert client.inside[0]["params"]["prompt"] == PROMPT


def test_a_tool_call_cannot_wait_for_more_evidence() -> None:
    client = Listener("client").from_peer(HAVEN)
    client.from_inside(answer(1, V1_AGENT))
    client.from_inside(update(sessionUpdate="agent_message_chunk", content=PROMPT[0]))
    assert client.ledger.decisions == []
    client.from_inside(update(sessionUpdate="tool_call", toolCallId="t", title="Look"))
    assert client.dialect == "haven"
    assert not client.decision.sure
    assert client.peer[0]["params"]["update"]["id"] == "t"


def test_evidence_against_evidence_is_taken_for_v1() -> None:
    info = {"name": "ed", "version": "1"}
    first = request(1, "initialize", {"protocolVersion": 1, "capabilities": {}, "clientInfo": info})
    client = Listener("client").from_peer(first)
    client.from_peer(request(2, "session/prompt", {"sessionId": "s", "prompt": PROMPT}))
    assert (client.dialect, client.decision.sure) == ("v1", False)


def test_a_client_that_offers_both_versions_stays_with_the_one_it_was_answered_in() -> None:
    ours, theirs = {"clientCapabilities": {"terminal": True}}, {"capabilities": {}, "info": {"name": "ed"}}
    client = Listener("client").from_peer(request(1, "initialize", {"protocolVersion": 2, **ours, **theirs}))
    assert client.ledger.decisions == []
    client.from_inside(answer(1, V1_AGENT))
    client.from_inside(update(sessionUpdate="tool_call", toolCallId="t", title="Look"))
    assert client.dialect == "v1"


def test_a_decision_is_for_good() -> None:
    client = Listener("client").from_peer(request(1, "initialize", V1_CLIENT))
    client.from_peer(request(2, "initialize", {"protocol_version": 1}))
    client.from_peer({"id": 3, "method": "getThreads", "params": None})
    assert [decision.dialect for decision in client.ledger.decisions] == ["v1"]


def test_what_is_no_request_decides_nothing() -> None:
    client = Listener("client").from_peer({"jsonrpc": "2.0", "method": "note"}, answer(7, {}), [1], "text")
    assert client.ledger.decisions == []
    assert len(client.inside) == 2
    assert [said["error"]["code"] for said in client.peer] == [-32600, -32600], "they may hold a login"


UNNAMED = request(1, "initialize", {"protocolVersion": 1})


def test_a_client_that_says_nothing_of_itself_is_known_by_its_prompt() -> None:
    client = Listener("client").from_peer(UNNAMED, request(2, "session/new", {"cwd": "/"}))
    assert client.dialect is None
    assert [message["method"] for message in client.inside] == ["initialize", "session/new"]
    client = client.from_peer(request(3, "session/prompt", {"sessionId": "s", "prompt": PROMPT}))
    assert client.dialect == "v1"
    assert [message["method"] for message in client.inside] == ["session/prompt"]


def test_a_login_with_data_of_a_client_that_says_nothing_of_itself_is_one_of_acpex() -> None:
    """Version 1 has no such member, and names of one's own belong into `_meta`."""
    login = {"methodId": "m", "data": {"apiKey": "k"}}
    for before in ([UNNAMED], [UNNAMED, request(2, "session/new", {"cwd": "/"})]):
        client = Listener("client").from_peer(*before, request(3, "authenticate", login))
        assert client.dialect == "acpex"
        assert client.inside[-1]["method"] != "authenticate"
    client = Listener("client").from_peer(
        UNNAMED, {"jsonrpc": "2.0", "method": "authenticate", "params": login}
    )
    assert client.inside[-1]["params"] == {"methodId": "m"}
    meta = {"methodId": "m", "_meta": {"api-key": "k"}}
    client = Listener("client").from_peer(UNNAMED, request(3, "authenticate", meta))
    assert client.inside[-1]["params"] == meta


def test_a_client_of_v1_costs_nothing_once_it_is_known() -> None:
    client = Listener("client").from_peer(request(1, "initialize", V1_CLIENT))
    block = b'{"jsonrpc":"2.0","id":2,  "method":"session/new","params":{}}\n'
    assert client.translator.from_peer(block).inside is block
    assert client.translator.from_inside(block).peer is block


def test_the_explanation_names_frames_and_evidence() -> None:
    client = Listener("client").from_peer(request(1, "initialize", {"protocol_version": 1}))
    text = client.decision.text
    assert text == "the client speaks crow: frame 1: initialize has protocol_version (crow)"
    assert "protocol_version" in json.dumps([reason.evidence for reason in client.decision.reasons])


# The first answer, while it is open who asks.


def test_the_first_answer_is_in_the_words_of_haven_and_of_acpex_which_begin_alike() -> None:
    client = Listener("client").from_peer(HAVEN)
    client.from_inside(answer(1, V1_AGENT))
    result = client.peer[0]["result"]
    assert result["capabilities"] == {"loadSession": True}
    assert result["agentCapabilities"]["sessions"] == {"new": True, "load": True}
    assert result["meta"] == V1_AGENT["agentInfo"]
    assert result["authenticationMethods"] == []
    assert client.ledger.entries == []


def test_an_undecided_client_hears_of_capabilities_also_from_an_agent_that_has_none() -> None:
    client = Listener("client").from_peer(HAVEN).from_inside(answer(1, {"protocolVersion": 1}))
    assert client.peer[0]["result"]["capabilities"] == {}


def test_a_refused_initialize_stays_refused() -> None:
    client = Listener("client").from_peer(HAVEN)
    refused = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}}
    assert client.from_inside(refused).peer == [refused]


GUIDE = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False},
}


def test_who_begins_as_the_guide_of_koog_is_answered_in_v1_and_in_its_words() -> None:
    client = Listener("client").from_peer(request(1, "initialize", GUIDE))
    assert client.dialect == "v1"
    client.from_inside(update(sessionUpdate="plan", entries=[]), answer(1, V1_AGENT))
    result = client.peer[1]["result"]
    assert result["serverInfo"] == {"name": "ag", "version": "7"}
    assert result["capabilities"] == {"tools": []}
    assert {**result, **V1_AGENT} == result
    block = b'{"jsonrpc":"2.0","id":2,  "result":{}}\n'
    assert client.translator.from_inside(block).peer is block


def test_tools_that_are_known_are_told_to_a_client_of_koog() -> None:
    tool = {"name": "readFile", "description": "Reads", "inputSchema": {"type": "object"}}
    known = {**V1_AGENT, "_meta": {"dragoman": {"tools": [tool, {"name": "run"}, {"odd": 1}]}}}
    client = Listener("client").from_peer(request(1, "initialize", GUIDE))
    told = client.from_inside(answer(1, known)).peer[0]["result"]["capabilities"]["tools"]
    assert told == [tool, {"name": "run", "description": "", "inputSchema": {"type": "object"}}]


@every(
    "hello",
    [
        {"protocolVersion": 1, "capabilities": {}},
        {"protocolVersion": 1, "capabilities": {}, "name": "x"},
        {"protocolVersion": 2},
        {**V1_CLIENT, "protocolVersion": 2, "capabilities": {}, "info": {"name": "ed", "version": "1"}},
        {"protocolVersion": 1, "capabilities": {"terminal": {}}},
    ],
)
def test_a_key_of_a_client_that_is_not_known_yet_reaches_no_agent(hello: Any) -> None:
    for name in ("data", "apiKey", "credentials"):
        client = Listener("client").from_peer(request(1, "initialize", hello))
        client.from_inside(answer(1, V1_AGENT))
        client.from_peer(request(2, "authenticate", {"methodId": "m", name: {"apiKey": "owl-secret"}}))
        assert "owl-secret" not in json.dumps(client.inside)
