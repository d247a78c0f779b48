"""Who answers a question in place of a client: the interpreter where the client is alone, else nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from dragoman.dialect import DIALECTS, EdgeSettings, Ledger, Translator, make_edge
from dragoman.dialect.message import Message, Object, as_object, request
from dragoman.dialect.permission import PERMISSION, answer_unasked, answer_unchosen, decide, option_kinds
from dragoman.dialect.quirks.edge import Quirks
from tests.every import every

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "never", "name": "Never", "kind": "reject_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
QUESTION: Object = {"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Saw"}, "options": OPTIONS}
FORM = {
    "sessionId": "s",
    "mode": "form",
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {}},
}
FOREIGN = [name for name in DIALECTS if name != "v1"]
ALONE, SHARED = EdgeSettings(), EdgeSettings(answers_for_peer=False)


def edge(dialect: str = "crow", settings: EdgeSettings = ALONE) -> Any:
    return make_edge(dialect, "client", settings, Ledger())


def ask_client(dialect: str, settings: EdgeSettings, *first: Any) -> tuple[Translator, list[Any]]:
    """A client that was asked for permission and to fill in a form, and what was answered without it; `first`
    is what it says before.
    """
    ledger = Ledger()
    edges = [Quirks("client", settings, ledger), make_edge(dialect, "client", settings, ledger)]
    translator = Translator(edges, ledger)
    said: list[Any] = []
    for frame in first:
        translator.from_peer(json.dumps(frame).encode() + b"\n")
    for number, (method, params) in enumerate([(PERMISSION, QUESTION), ("elicitation/create", FORM)], 1):
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        said += frames(translator.from_inside(json.dumps(frame).encode() + b"\n").inside)
    return translator, said


def frames(block: bytes) -> list[Any]:
    return [json.loads(line) for line in block.splitlines()]


@every("dialect", FOREIGN)
def test_where_others_are_asked_too_nothing_is_answered_for_a_client(dialect: str) -> None:
    translator, said = ask_client(dialect, SHARED)
    assert not [frame for frame in said if "error" not in frame], "an error decides nothing"
    assert translator.peer_ended().inside == b"", "to leave is to say nothing"


@every(
    "params",
    [
        {"protocolVersion": 1, "capabilities": {}},
        {"protocolVersion": 1, "capabilities": {"fileSystem": {"readTextFile": True}}},
        {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "example-client"}},
        {"protocol_version": 1, "client_capabilities": {}},
        {"protocolVersion": 2, "capabilities": {}, "info": {"name": "any", "version": "1"}},
    ],
)
def test_that_holds_too_for_a_client_whose_dialect_has_to_be_found_out(params: Object) -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    translator, said = ask_client("auto", SHARED, hello)
    assert not [frame for frame in said if "error" not in frame]
    assert translator.peer_ended().inside == b""


@every("dialect", FOREIGN)
def test_where_a_client_is_alone_its_permission_is_answered_when_it_leaves(dialect: str) -> None:
    translator, said = ask_client(dialect, ALONE)
    said += frames(translator.peer_ended().inside)
    results = [frame["result"]["outcome"] for frame in said if frame["id"] == 1 and "result" in frame]
    if dialect == "koog":  # its questions pass as they are, and end with the connection
        assert results == []
    else:
        assert results in ([{"outcome": "cancelled"}], [{"outcome": "selected", "optionId": "no"}])


def introduction(dialect: str, settings: EdgeSettings) -> Any:
    """The capabilities that the inside hears of."""
    made = edge(dialect, settings)
    first: Object = {"protocolVersion": 1, "capabilities": {}, "protocol_version": 1}
    hello = request(
        1, "initialize", {**first, "protocolVersion": 2, "info": {}} if dialect == "v2" else first
    )
    if dialect == "threads":
        hello = Message(UNSET, 1, "createThread", None)
    ((_, said),) = made.from_peer(hello)
    return said.params.get("clientCapabilities", {})


@every("dialect", FOREIGN)
def test_a_client_that_cannot_be_asked_says_so_to_whoever_decides(dialect: str) -> None:
    is_told = not edge(dialect).asks_permission
    assert is_told == (dialect in ("acpex", "acpex-wire", "haven-legacy", "threads"))
    meta = introduction(dialect, SHARED).get("_meta", {})
    assert (meta.get("dragoman", {}).get("permission") == "told") == is_told
    alone = introduction(dialect, ALONE).get("_meta", {})
    assert "permission" not in alone.get("dragoman", {})


def test_options_are_known_by_their_ids() -> None:
    odd: Object = {"options": [{"optionId": 1}, {"optionId": ""}, None, {"optionId": "a"}, *OPTIONS]}
    assert option_kinds(odd) == {"a": "", "yes": "allow_once", "never": "reject_always", "no": "reject_once"}
    assert option_kinds({}) == {}


@pytest.mark.parametrize(
    ("chosen", "outcome"),
    [
        ("yes", {"outcome": "selected", "optionId": "yes"}),
        ("sure", {"outcome": "selected", "optionId": "no"}),
        (None, {"outcome": "selected", "optionId": "no"}),
    ],
)
def test_a_consent_chooses_what_was_offered_or_rejects_this_once(chosen: str | None, outcome: Any) -> None:
    consenting = edge(settings=EdgeSettings(consent=lambda question: chosen))
    assert decide(QUESTION, consenting) == {"outcome": outcome}


def test_without_an_option_that_rejects_this_once_nothing_is_chosen() -> None:
    assert decide({**QUESTION, "options": OPTIONS[:2]}, edge()) == {"outcome": {"outcome": "cancelled"}}


def test_an_edge_answers_for_its_client_only_where_that_is_alone() -> None:
    question = request("q", PERMISSION, QUESTION)
    assert answer_unasked(question, edge()).result == decide(QUESTION, edge())
    assert answer_unchosen("q", edge()).result == {"outcome": {"outcome": "cancelled"}}
    shared = edge(settings=SHARED)
    unasked, unchosen = answer_unasked(question, shared), answer_unchosen("q", shared)
    assert [as_object(message.error)["code"] for message in (unasked, unchosen)] == [-32601, -32602]
