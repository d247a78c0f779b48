"""A haven client in front of a v1 agent: what it asks, what it hears, and what counts as its consent."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger, Message, Out, Translator
from dragoman.dialect.haven import HavenClient
from dragoman.dialect.haven.names import (
    CANCEL,
    NEAREST,
    NO_CHOICE,
    NO_STATUS,
    STOPPED,
    TITLE,
    UNASKED,
    UNLISTED,
)
from dragoman.dialect.message import answer, encode, notification, refusal, request
from tests.dialect.edges import frame, message, params_of, remarks, said

CANCELLED = {"outcome": {"outcome": "cancelled"}}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@pytest.fixture
def edge() -> HavenClient:
    return HavenClient(EdgeSettings(), Ledger())


def update(**fields: Any) -> Any:
    return notification("session/update", {"sessionId": "s", "update": fields})


def heard(edge: HavenClient, **fields: Any) -> Any:
    """What the client hears of an update."""
    ((way, told),) = edge.from_inside(update(**fields))
    assert way == "peer"
    return params_of(told)["update"]


def ask(edge: HavenClient, request_id: Any = "q") -> Any:
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": OPTIONS}
    ((way, told),) = edge.from_inside(request(request_id, "session/request_permission", params))
    assert (way, told.id) == ("peer", request_id)
    return told.params


# The handshake, and turns.


def test_its_capabilities_are_moved_to_where_v1_looks_for_them(edge: HavenClient) -> None:
    files = {"fs": {"readTextFile": True}}
    asked = request(1, "initialize", {"protocolVersion": 1, "capabilities": files, "extra": 1})
    assert said(edge, edge.from_peer(asked)) == [
        (
            "inside",
            frame(request(1, "initialize", {"protocolVersion": 1, "clientCapabilities": files, "extra": 1})),
        )
    ]
    result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "authMethods": []}
    ((_, told),) = edge.from_inside(answer(1, result))
    assert told.result == {"protocolVersion": 1, "capabilities": {"loadSession": True}, "authMethods": []}


@pytest.mark.parametrize("silent", [{}, {"agentCapabilities": None}], ids=str)
def test_an_agent_that_says_nothing_of_its_capabilities_has_none(edge: HavenClient, silent: Any) -> None:
    edge.from_peer(request(1, "initialize", {"protocolVersion": 1, "capabilities": {}}))
    ((_, told),) = edge.from_inside(answer(1, {"protocolVersion": 1, **silent}))
    assert told.result == {"protocolVersion": 1, "capabilities": {}}


def test_an_error_to_initialize_passes_as_it_is(edge: HavenClient) -> None:
    edge.from_peer(request(1, "initialize", {"capabilities": {}}))
    error = refusal(1, -32602, "Invalid params")
    assert edge.from_inside(error) == [("peer", error)]


def test_requests_that_the_reference_does_not_name_pass_as_they_are(edge: HavenClient) -> None:
    asked = request(5, "session/load", {"sessionId": "s"})
    assert edge.from_peer(asked) == [("inside", asked)]
    assert edge.from_peer(asked)[0][1] is asked


def test_a_cancel_passes_and_one_with_an_id_is_answered_too(edge: HavenClient) -> None:
    note = notification("session/cancel", {"sessionId": "s"})
    assert edge.from_peer(note) == [("inside", note)]
    asked = request(6, "session/cancel", {"sessionId": "s"})
    assert edge.from_peer(asked) == [("inside", note), ("peer", answer(6, {}))]
    assert remarks(edge.ledger) == [("repaired", CANCEL[0])]


def test_a_stop_reason_that_it_does_not_know_is_said_and_put_down(edge: HavenClient) -> None:
    edge.from_peer(request(3, "session/prompt", {"sessionId": "s", "prompt": []}))
    ended = answer(3, {"stopReason": "max_turn_requests"})
    assert edge.from_inside(ended) == [("peer", ended)]
    assert remarks(edge.ledger) == [("lost", STOPPED[0])]


# Tool calls.


@pytest.mark.parametrize(
    ("v1", "haven", "known"),
    [
        ("read", "file", True),
        ("edit", "file", True),
        ("delete", "file", False),
        ("move", "file", False),
        ("search", "search", True),
        ("execute", "command", True),
        ("think", "other", False),
        ("fetch", "other", False),
        ("switch_mode", "other", False),
        ("other", "other", True),
        ("of the future", "other", False),
    ],
)
def test_ten_kinds_become_four(edge: HavenClient, v1: str, haven: str, known: bool) -> None:
    told = heard(edge, sessionUpdate="tool_call", toolCallId="c", title="T", status="pending", kind=v1)
    assert told == {"sessionUpdate": "tool_call", "id": "c", "name": "T", "status": "pending", "kind": haven}
    assert remarks(edge.ledger) == ([] if known else [("repaired", NEAREST[0])])


def test_a_tools_name_is_kept_and_its_titles_are_lost(edge: HavenClient) -> None:
    call = {"toolCallId": "c", "title": "Read beds.py", "name": "Read", "status": "pending"}
    assert heard(edge, sessionUpdate="tool_call", **call)["name"] == "Read"
    later = heard(edge, sessionUpdate="tool_call_update", toolCallId="c", title="Read beds.py:3")
    assert later == {"sessionUpdate": "tool_call_update", "id": "c", "name": "Read"}
    assert [(entry.what, entry.count) for entry in edge.ledger.entries] == [(TITLE[0], 2)]


def test_without_a_name_the_title_is_the_name_also_when_it_changes(edge: HavenClient) -> None:
    call = {"toolCallId": "c", "title": "Reading", "status": "pending"}
    assert heard(edge, sessionUpdate="tool_call", **call)["name"] == "Reading"
    assert heard(edge, sessionUpdate="tool_call_update", toolCallId="c", title="Read")["name"] == "Read"
    assert edge.ledger.entries == []


def test_a_new_call_says_all_that_the_reference_demands(edge: HavenClient) -> None:
    told = heard(edge, sessionUpdate="tool_call", toolCallId="c", title="T")
    assert told == {"sessionUpdate": "tool_call", "id": "c", "name": "T", "status": "pending"}
    assert remarks(edge.ledger) == [("repaired", NO_STATUS[0])]
    assert heard(edge, sessionUpdate="tool_call_update", toolCallId="c") == {
        "sessionUpdate": "tool_call_update",
        "id": "c",
    }


def test_a_question_tells_what_is_known_of_its_call(edge: HavenClient) -> None:
    heard(edge, sessionUpdate="tool_call", toolCallId="c", title="Mend", status="in_progress")
    assert ask(edge)["toolCall"] == {"id": "c", "name": "Mend", "status": "in_progress"}
    assert edge.ledger.entries == []


def test_what_is_not_listed_is_said_as_it_is_and_put_down(edge: HavenClient) -> None:
    note = update(sessionUpdate="usage_update", used=1, size=2)
    assert edge.from_inside(note) == [("peer", note)]
    assert edge.from_inside(note)[0][1] is note
    assert remarks(edge.ledger) == [("lost", UNLISTED[0])]


# Consent.


@pytest.mark.parametrize("outcome", [{"outcome": "selected", "optionId": "yes"}, {"outcome": "cancelled"}])
def test_a_choice_among_what_was_offered_passes_as_it_is(edge: HavenClient, outcome: Any) -> None:
    assert ask(edge)["options"] == OPTIONS
    chosen = answer("q", {"outcome": outcome})
    assert edge.from_peer(chosen)[0][1] is chosen
    assert remarks(edge.ledger)[1:] == [("repaired", NO_STATUS[0])]  # of the bare call that was asked for


@pytest.mark.parametrize(
    "result",
    [
        {"outcome": {"outcome": "selected", "optionId": "always"}},
        {"outcome": {"outcome": "selected", "optionId": ["yes"]}},
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"outcome": "allowed", "optionId": "yes"}},
        {"outcome": "selected", "optionId": "yes"},
        {"outcome": "yes"},
        {"optionId": "yes"},
        {"approved": True},
        True,
        "yes",
        None,
        [],
    ],
)
def test_what_only_looks_like_approval_is_none(edge: HavenClient, result: Any) -> None:
    ask(edge)
    assert edge.from_peer(answer("q", result)) == [("inside", answer("q", CANCELLED))]
    assert remarks(edge.ledger)[-1] == ("repaired", NO_CHOICE[0])


def test_a_refusal_to_answer_passes_but_not_beside_an_approval(edge: HavenClient) -> None:
    ask(edge)
    error = refusal("q", -32603, "I cannot show this")
    assert edge.from_peer(error) == [("inside", error)]
    ask(edge)
    both = message({**frame(error), "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
    assert edge.from_peer(both) == [("inside", answer("q", CANCELLED))]


def test_an_approval_that_nobody_asked_for_goes_nowhere(edge: HavenClient) -> None:
    approval = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert edge.from_peer(answer("q", approval)) == []
    ask(edge)
    assert edge.from_peer(answer(7, approval)) == []
    assert len(edge.from_peer(answer("q", approval))) == 1
    assert edge.from_peer(answer("q", approval)) == []  # said twice
    lost = [entry for entry in edge.ledger.entries if entry.outcome == "lost"]
    assert [(entry.what, entry.count) for entry in lost] == [(UNASKED[0], 3)]


def test_answers_to_other_questions_and_complaints_about_none_pass(edge: HavenClient) -> None:
    asked = request(1, "fs/read_text_file", {"sessionId": "s", "path": "/a"})
    assert edge.from_inside(asked) == [("peer", asked)]
    content = answer(1, {"content": "text"})
    assert edge.from_peer(content) == [("inside", content)]
    complaint = refusal(None, -32700, "Parse error")
    assert edge.from_peer(complaint) == [("inside", complaint)]


def test_when_it_ends_open_questions_are_answered_as_cancelled_once(edge: HavenClient) -> None:
    ask(edge, "q")
    ask(edge, 2)
    assert edge.peer_ended() == [("inside", answer("q", CANCELLED)), ("inside", answer(2, CANCELLED))]
    assert edge.peer_ended() == []


# What passes without being looked at.


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"])
def test_text_passes_without_being_looked_at(kind: str) -> None:
    class Blind(HavenClient):
        def from_inside(self, message: Message) -> list[Out]:
            raise AssertionError("looked at")

    block = encode(update(sessionUpdate=kind, content={"type": "text", "text": "é tool_call"})) * 3
    ledger = Ledger()
    assert Translator([Blind(EdgeSettings(), ledger)], ledger).from_inside(block).peer == block
    assert ledger.entries == []  # where a mistake would stand


@pytest.mark.parametrize(
    "text",
    [
        b'{"sessionUpdate":"tool_call","toolCallId":"c","title":"T"}',
        b'{"sessionUpdate" : "tool\\u005fcall","toolCallId":"c","title":"T"}',
        b'{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{}}}',
        b'{"sessionUpdate":"usage_update"}',
    ],
)
def test_what_needs_a_change_is_looked_at_however_it_is_written(edge: HavenClient, text: bytes) -> None:
    note = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":' + text + b"}}\n"
    plain = encode(update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "x"}))
    passed = Translator([edge], edge.ledger).from_inside(plain + note).peer
    assert edge.ledger.entries or passed != plain + note
