"""A koog agent behind a v1 client: whole messages, the two mistakes that its guide warns of, silent turns."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger, Message, Out, Translator
from dragoman.dialect.koog import KoogAgent
from dragoman.dialect.koog.names import (
    KINDLESS,
    NO_BLOCK,
    NO_NAME,
    NO_VERSION,
    PLAIN_TEXT,
    REPEATED,
    ROLE,
    SILENT,
    TOOLS,
    UNSAID,
    UNWRAPPED,
)
from dragoman.dialect.message import answer, encode, notification, refusal, request, update_of
from tests.dialect.edges import bare, frame, params_of, remarks
from tests.every import every

TEXT = {"type": "text", "text": "x"}


@pytest.fixture
def edge() -> KoogAgent:
    return KoogAgent(EdgeSettings(), Ledger())


def note(**update: Any) -> Message:
    return notification("session/update", {"sessionId": "s", "update": update})


def heard(edge: KoogAgent, said: Message) -> list[Any]:
    """The updates that the client hears, without what was kept of their originals."""
    return [bare(params_of(one)["update"]) for way, one in edge.from_peer(said) if way == "inside"]


def introduced(edge: KoogAgent, result: Any) -> Any:
    edge.from_inside(request(1, "initialize", {"protocolVersion": 1}))
    ((_, told),) = edge.from_peer(answer(1, result))
    return bare(told.result)


# The handshake.


def test_what_it_is_asked_passes_as_it_is(edge: KoogAgent) -> None:
    asked = request(1, "session/prompt", {"sessionId": "s", "prompt": [TEXT]})
    assert edge.from_inside(asked)[0] == ("peer", asked)
    assert edge.from_inside(asked)[0][1] is asked


def test_it_is_introduced_as_v1_wants_it(edge: KoogAgent) -> None:
    server = {"name": "reader", "version": "1"}
    result = {"protocolVersion": 1, "capabilities": {"tools": [{"name": "t"}]}, "serverInfo": server}
    assert introduced(edge, result) == {
        "protocolVersion": 1,
        "agentInfo": server,
        "agentCapabilities": {},
        "authMethods": [],
    }
    assert remarks(edge.ledger) == [("repaired", TOOLS[0])]


def test_an_answer_that_is_v1_already_is_left_alone(edge: KoogAgent) -> None:
    edge.from_inside(request(1, "initialize", {"protocolVersion": 1}))
    told = answer(1, {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
    assert edge.from_peer(told)[0][1] is told


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({"name": "reader"}, {"name": "reader", "version": "unknown"}),
        ({"version": 2}, {"name": "unknown", "version": "unknown"}),
        ("reader", None),
        (7, None),
    ],
)
def test_half_an_introduction_is_filled_in(edge: KoogAgent, server: Any, expected: Any) -> None:
    told = introduced(edge, {"serverInfo": server})
    assert told.get("agentInfo") == expected
    assert told["protocolVersion"] == 1
    assert remarks(edge.ledger) == [("repaired", NO_VERSION[0]), ("repaired", NO_NAME[0])]


# Whole messages.


def test_a_whole_message_becomes_a_chunk_for_each_block_under_one_id(edge: KoogAgent) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "AA=="}
    first = heard(edge, note(sessionUpdate="message", role="assistant", content=[TEXT, image]))
    assert first == [
        {"sessionUpdate": "agent_message_chunk", "messageId": "message-1", "content": TEXT},
        {"sessionUpdate": "agent_message_chunk", "messageId": "message-1", "content": image},
    ]
    (second,) = heard(edge, note(sessionUpdate="message", role="user", content=[TEXT]))
    assert second == {"sessionUpdate": "user_message_chunk", "messageId": "message-2", "content": TEXT}
    assert edge.ledger.entries == []


def test_odd_messages_are_read_as_well_as_can_be(edge: KoogAgent) -> None:
    (one,) = heard(edge, note(sessionUpdate="message", role="system", content=TEXT))
    assert (one["sessionUpdate"], one["content"]) == ("agent_message_chunk", TEXT)
    assert [chunk["content"] for chunk in heard(edge, note(sessionUpdate="message", content="x"))] == [TEXT]
    assert [
        chunk["content"] for chunk in heard(edge, note(sessionUpdate="message", content=["x", 7, TEXT, None]))
    ] == [TEXT, TEXT]
    assert heard(edge, note(sessionUpdate="message", role="assistant", content=[])) == []
    assert remarks(edge.ledger) == [
        ("repaired", ROLE[0]),
        ("repaired", PLAIN_TEXT[0]),
        ("lost", NO_BLOCK[0]),
    ]


def test_other_updates_are_the_same_messages(edge: KoogAgent) -> None:
    for kind in ("agent_message_chunk", "plan", "tool_call", "usage_update"):
        told = note(sessionUpdate=kind, content=TEXT)
        assert edge.from_peer(told)[0][1] is told


# Its common mistakes.


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "message", "role": "assistant", "content": [TEXT]},
        {"type": "message", "content": TEXT},
        {"sessionUpdate": "message", "content": [TEXT]},
    ],
)
def test_an_update_without_its_wrapper_is_wrapped(edge: KoogAgent, wrong: Any) -> None:
    (chunk,) = heard(edge, notification("session/update", {"sessionId": "s", **wrong}))
    assert chunk == {"sessionUpdate": "agent_message_chunk", "messageId": "message-1", "content": TEXT}
    assert remarks(edge.ledger) == [("repaired", UNWRAPPED[0])]


def test_a_chunk_without_its_wrapper_is_wrapped_too(edge: KoogAgent) -> None:
    params = {"sessionId": "s", "type": "agent_message_chunk", "content": TEXT, "_meta": {"a": 1}}
    ((_, told),) = edge.from_peer(notification("session/update", params))
    assert told.params == {
        "sessionId": "s",
        "_meta": {"a": 1},
        "update": {"sessionUpdate": "agent_message_chunk", "content": TEXT},
    }


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"type": "plan", "entries": []}, "plan"),
        ({"role": "assistant", "content": [TEXT]}, "agent_message_chunk"),
    ],
)
def test_an_update_without_its_kind_is_read_as_what_it_shows(edge: KoogAgent, wrong: Any, kind: str) -> None:
    (told,) = heard(edge, note(**wrong))
    assert told["sessionUpdate"] == kind
    assert remarks(edge.ledger) == [("repaired", KINDLESS[0])]


@pytest.mark.parametrize(
    "params",
    [{}, None, [], "x", {"update": 1}, {"update": {}}, {"update": TEXT}, {"type": "text"}, {"type": []}],
)
def test_what_is_no_update_at_all_passes_as_it_is(edge: KoogAgent, params: Any) -> None:
    told = notification("session/update", params)
    assert edge.from_peer(told)[0][1] is told


# The answer's content.


def prompt(edge: KoogAgent, request_id: int = 3, session: str = "s") -> None:
    edge.from_inside(request(request_id, "session/prompt", {"sessionId": session, "prompt": [TEXT]}))


ENDED = {"stopReason": "end_turn", "content": [TEXT]}


def test_what_a_silent_turn_says_in_its_answer_is_said_before_it(edge: KoogAgent) -> None:
    prompt(edge)
    edge.from_peer(note(sessionUpdate="tool_call", toolCallId="c", title="T"))  # nothing that is said
    outs = edge.from_peer(answer(3, ENDED))
    assert bare([frame(one) for _, one in outs]) == [
        frame(note(sessionUpdate="agent_message_chunk", messageId="message-1", content=TEXT)),
        {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}},
    ]
    assert remarks(edge.ledger) == [("repaired", SILENT[0])]


@pytest.mark.parametrize(
    "said",
    [
        note(sessionUpdate="agent_message_chunk", content=TEXT),
        note(sessionUpdate="message", role="assistant", content=[TEXT]),
        notification("session/update", {"sessionId": "s", "type": "message", "content": TEXT}),
    ],
)
def test_what_was_said_before_is_not_said_again(edge: KoogAgent, said: Message) -> None:
    prompt(edge)
    edge.from_peer(said)
    outs = edge.from_peer(answer(3, ENDED))
    assert bare([frame(one) for _, one in outs]) == [
        {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}
    ]
    assert ("repaired", REPEATED[0]) in remarks(edge.ledger)


@pytest.mark.parametrize(
    ("streamed", "final", "shown"),
    [
        (["Looking. ", "Three ", "issues."], ["Looking. Three issues."], False),
        (["Looking. ", "Three ", "issues."], ["Three issues."], False),
        (["Looking."], ["Three issues."], True),
        (["Do look at this."], ["look"], True),
        (["Looking. ", "Three issues."], ["Three issues.", " Mend them."], True),
    ],
)
def test_the_final_content_of_a_turn_that_streamed_is_shown_once(
    edge: KoogAgent, streamed: list[str], final: list[str], shown: bool
) -> None:
    prompt(edge)
    for text in streamed:
        edge.from_peer(note(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}))
    content = [{"type": "text", "text": text} for text in final]
    *chunks, (_, ended) = edge.from_peer(answer(3, {"stopReason": "end_turn", "content": content}))
    assert [update_of(one)["content"] for _, one in chunks] == (content if shown else [])
    assert bare(frame(ended))["result"] == {"stopReason": "end_turn"}
    assert remarks(edge.ledger) == [("repaired", (UNSAID if shown else REPEATED)[0])]


def test_an_image_that_was_streamed_is_not_shown_again(edge: KoogAgent) -> None:
    prompt(edge)
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    edge.from_peer(note(sessionUpdate="agent_message_chunk", content=image))
    assert len(edge.from_peer(answer(3, {"stopReason": "end_turn", "content": [image]}))) == 1


def test_a_block_that_passes_unseen_is_never_the_one_that_breaks_the_silence() -> None:
    edge = KoogAgent(EdgeSettings(), Ledger())
    translator = Translator([edge], edge.ledger)
    translator.from_inside(encode(request(3, "session/prompt", {"sessionId": "s", "prompt": [TEXT]})))
    translator.from_peer(encode(note(sessionUpdate="agent_message_chunk", content=TEXT)) * 2)
    assert b"agent_message_chunk" not in translator.from_peer(encode(answer(3, ENDED))).inside


def test_sessions_are_silent_each_for_itself(edge: KoogAgent) -> None:
    prompt(edge, 3, "s")
    prompt(edge, 4, "t")
    edge.from_peer(note(sessionUpdate="agent_message_chunk", content=TEXT))
    assert len(edge.from_peer(answer(3, ENDED))) == 1
    assert len(edge.from_peer(answer(4, ENDED))) == 2


def test_a_turn_that_fails_or_says_no_content_ends_as_it_is(edge: KoogAgent) -> None:
    prompt(edge)
    error = refusal(3, -32603, "Internal error")
    assert edge.from_peer(error) == [("inside", error)]
    prompt(edge)
    ended = answer(3, {"stopReason": "cancelled"})
    assert edge.from_peer(ended)[0][1] is ended


# What passes without being looked at.


class Watched(KoogAgent):
    def __init__(self) -> None:
        super().__init__(EdgeSettings(), Ledger())
        self.seen = 0

    def from_peer(self, message: Message) -> list[Out]:
        self.seen += 1
        return super().from_peer(message)


def test_between_two_turns_plain_updates_are_not_looked_at() -> None:
    edge = Watched()
    translator = Translator([edge], edge.ledger)
    chunk = encode(note(sessionUpdate="agent_message_chunk", content=TEXT))
    assert translator.from_peer(chunk * 3).inside == chunk * 3
    assert edge.seen == 0
    translator.from_inside(encode(request(3, "session/prompt", {"sessionId": "s", "prompt": [TEXT]})))
    assert translator.from_peer(chunk).inside == chunk
    assert edge.seen == 1
    translator.from_peer(encode(answer(3, {"stopReason": "end_turn"})))
    assert edge.seen == 2
    assert translator.from_peer(chunk * 3).inside == chunk * 3
    assert edge.seen == 2


@every(
    "params",
    [
        b'{"sessionId":"s","update":{"sessionUpdate":"message","role":"assistant","content":[]}}',
        b'{"sessionId":"s","update":{"sessionUpdate":"\\u006dessage","role":"assistant","content":[]}}',
        b'{"sessionId":"s","update":{"type":"plan","entries":[]}}',
        b'{"sessionId":"s","type":"plan","entries":[{"update":{}}]}',
        b'{"type":"plan","sessionId":"s","entries":[]}',
    ],
)
def test_what_needs_a_change_is_looked_at_however_it_is_written(params: bytes) -> None:
    edge = Watched()
    line = b'{"jsonrpc":"2.0","method":"session/update","params":' + params + b"}\n"
    assert Translator([edge], edge.ledger).from_peer(line).inside != line
    assert edge.seen == 1


@every("method", ["session/new", "session/load", "authenticate", "_mine/ask"])
def test_an_answer_is_read_as_what_it_answers_and_not_as_what_it_looks_like(method: str) -> None:
    edge = KoogAgent(EdgeSettings(), Ledger())
    edge.from_inside(request(1, method, {"sessionId": "s"}))
    said = answer(1, {"serverInfo": {"name": "k"}, "capabilities": {"tools": [{}]}, "content": [TEXT]})
    assert edge.from_peer(said) == [("inside", said)]
