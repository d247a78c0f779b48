"""A haven agent behind a v1 client: how it is asked, and how what it says is read."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger, Message, Out, Translator
from dragoman.dialect.haven import HavenAgent
from dragoman.dialect.haven.names import (
    BARE,
    FILE,
    FLAT,
    NAMELESS_CALL,
    NAMELESS_LINK,
    NO_CHOICE,
    NO_KIND,
    UNASKED,
)
from dragoman.dialect.message import answer, encode, notification, request
from tests.dialect.edges import bare, params_of, remarks

DIFF = {"type": "diff", "path": "/a", "newText": "x"}


@pytest.fixture
def edge() -> HavenAgent:
    return HavenAgent(EdgeSettings(), Ledger())


def update(**fields: Any) -> Any:
    return notification("session/update", {"sessionId": "s", "update": fields})


def read(edge: HavenAgent, **fields: Any) -> Any:
    """What the client hears of an update, without what was kept of its original."""
    ((way, told),) = edge.from_peer(update(**fields))
    assert way == "inside"
    return bare(params_of(told)["update"])


def test_it_is_asked_in_its_own_words(edge: HavenAgent) -> None:
    asked = request(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {"terminal": True}})
    ((way, told),) = edge.from_inside(asked)
    assert (way, told.params) == ("peer", {"protocolVersion": 1, "capabilities": {"terminal": True}})
    ((_, introduced),) = edge.from_peer(answer(1, {"protocolVersion": 1, "capabilities": {}}))
    assert introduced.result == {"protocolVersion": 1, "agentCapabilities": {}}


def test_a_client_that_says_nothing_of_its_capabilities_has_none(edge: HavenAgent) -> None:
    ((_, told),) = edge.from_inside(request(1, "initialize", {"protocolVersion": 1}))
    assert told.params == {"protocolVersion": 1, "capabilities": {}}


def test_a_resource_is_embedded_in_its_words_and_the_rest_stays(edge: HavenAgent) -> None:
    resource = {"uri": "file:///a", "text": "x"}
    blocks = [{"type": "text", "text": "x"}, {"type": "resource", "resource": resource}, "odd"]
    ((_, told),) = edge.from_inside(request(2, "session/prompt", {"sessionId": "s", "prompt": blocks}))
    assert params_of(told)["prompt"] == [
        blocks[0],
        {"type": "embedded_resource", "resource": resource},
        "odd",
    ]


def test_a_prompt_without_such_blocks_is_the_same_message(edge: HavenAgent) -> None:
    asked = request(2, "session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]})
    assert edge.from_inside(asked)[0][1] is asked
    cancel = notification("session/cancel", {"sessionId": "s"})
    assert edge.from_inside(cancel)[0][1] is cancel


@pytest.mark.parametrize(
    ("kind", "content", "expected", "remark"),
    [
        ("file", [], "other", FILE),
        ("file", [DIFF], "edit", FILE),
        ("command", [DIFF], "execute", None),
        ("search", [], "search", None),
        ("other", [], "other", None),
        ("fetch", [], "fetch", None),
        ("gardening", [], "other", NO_KIND),
    ],
)
def test_four_kinds_are_read_and_guesses_are_put_down(
    edge: HavenAgent, kind: str, content: Any, expected: str, remark: Any
) -> None:
    call = read(
        edge, sessionUpdate="tool_call", id="c", name="T", status="pending", kind=kind, content=content
    )
    assert call["kind"] == expected
    assert (call["toolCallId"], call["title"], call["name"]) == ("c", "T", "T")
    assert remarks(edge.ledger) == ([("repaired", remark[0])] if remark else [])


def test_a_diff_that_comes_later_makes_an_edit_of_it(edge: HavenAgent) -> None:
    read(edge, sessionUpdate="tool_call", id="c", name="T", status="pending", kind="file")
    assert "kind" not in read(edge, sessionUpdate="tool_call_update", id="c", status="in_progress")
    assert read(edge, sessionUpdate="tool_call_update", id="c", content=[DIFF])["kind"] == "edit"
    assert read(edge, sessionUpdate="tool_call_update", id="c", kind="file")["kind"] == "edit"
    # Another session's call of the same id is another call.
    other = notification(
        "session/update",
        {"sessionId": "t", "update": {"sessionUpdate": "tool_call_update", "id": "c", "content": [DIFF]}},
    )
    ((_, told),) = edge.from_peer(other)
    assert "kind" not in params_of(told)["update"]


def test_what_is_left_out_is_filled_in(edge: HavenAgent) -> None:
    call = read(edge, sessionUpdate="tool_call", id="c", content=[{"type": "text", "text": "x"}])
    assert call["title"] == "Tool call"
    assert call["content"] == [{"type": "content", "content": {"type": "text", "text": "x"}}]
    link = {"type": "resource_link", "uri": "file:///srv/beds/"}
    assert read(edge, sessionUpdate="agent_message_chunk", content=link)["content"]["name"] == "beds"
    flat = {"type": "embedded_resource", "uri": "file:///a", "blob": "AA=="}
    assert read(edge, sessionUpdate="agent_message_chunk", content=flat)["content"] == {
        "type": "resource",
        "resource": {"uri": "file:///a", "blob": "AA=="},
    }
    assert [what for _, what in remarks(edge.ledger)] == [
        NAMELESS_CALL[0],
        BARE[0],
        NAMELESS_LINK[0],
        FLAT[0],
    ]


def question(request_id: Any = "q") -> Any:
    call = {"id": "c", "name": "Mend", "status": "pending", "kind": "command"}
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "s", "toolCall": call, "options": options}
    return request(request_id, "session/request_permission", params)


def test_its_question_is_asked_in_v1_and_answered_with_what_it_offered(edge: HavenAgent) -> None:
    ((way, asked),) = edge.from_peer(question())
    assert (way, asked.id) == ("inside", "q")
    assert params_of(asked)["toolCall"] == {
        "toolCallId": "c",
        "title": "Mend",
        "name": "Mend",
        "status": "pending",
        "kind": "execute",
    }
    chosen = answer("q", {"outcome": {"outcome": "selected", "optionId": "yes"}})
    assert edge.from_inside(chosen) == [("peer", chosen)]


def test_what_it_did_not_offer_or_ask_is_no_approval_for_it(edge: HavenAgent) -> None:
    approval = {"outcome": {"outcome": "selected", "optionId": "certainly"}}
    assert edge.from_inside(answer("q", approval)) == []
    edge.from_peer(question())
    cancelled = answer("q", {"outcome": {"outcome": "cancelled"}})
    assert edge.from_inside(answer("q", approval)) == [("peer", cancelled)]
    assert remarks(edge.ledger) == [("lost", UNASKED[0]), ("repaired", NO_CHOICE[0])]


def test_text_passes_without_being_looked_at_and_tools_do_not() -> None:
    looked: list[Any] = []

    class Watched(HavenAgent):
        def from_peer(self, message: Message) -> list[Out]:
            looked.append(message)
            return super().from_peer(message)

    translator = Translator([Watched(EdgeSettings(), Ledger())], Ledger())
    text = encode(update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "x"}))
    assert translator.from_peer(text * 2).inside == text * 2
    assert looked == []
    translator.from_peer(text + encode(update(sessionUpdate="tool_call", id="c")))
    assert len(looked) == 2


def test_secrets_of_a_call_are_never_kept_beside_it(edge: HavenAgent) -> None:
    flat = {"type": "embedded_resource", "uri": "file:///a", "text": "x", "token": "hunter2"}
    ((_, told),) = edge.from_peer(update(sessionUpdate="agent_message_chunk", content=flat))
    content = params_of(told)["update"]["content"]
    assert "hunter2" not in repr(content["_meta"])
