"""Blocks through edges: what nobody changes stays as it was, and no edge of ours can end a conversation."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect import Edge, EdgeSettings, Ledger, Message, Out, TranslatedFrames, Translator
from dragoman.dialect.edge import NO_SIGN, Signs
from dragoman.dialect.message import answer, decode, encode, notification, request, with_params
from tests.every import every

# Odd, and to be left alone: spaces, an unknown member, an escape.
ODD = b'{ "method" : "session/update", "jsonrpc":"2.0","more":[1 , 2],"params":{"t":"\\u00e9"} }\n'
ASKED = encode(request(1, "session/prompt", {"sessionId": "s"}))


class Watched(Edge):
    """Changes nothing and remembers what it saw."""

    name = "watched"

    def __init__(self) -> None:
        super().__init__(EdgeSettings(), Ledger())
        self.seen: list[str] = []

    def from_peer(self, message: Message) -> list[Out]:
        self.seen.append("from peer")
        return [("inside", message)]

    def from_inside(self, message: Message) -> list[Out]:
        self.seen.append("from inside")
        return [("peer", message)]


class Plainly(Watched):
    """Does not want to see updates without a `look`."""

    signs_from_peer: ClassVar[Signs] = {"session/update": re.compile(rb"look"), "session/cancel": NO_SIGN}
    signs_from_inside: ClassVar[Signs] = {"session/update": re.compile(rb"look"), "session/cancel": NO_SIGN}


class Marking(Edge):
    """Writes its mark into what passes, doubles what asks for it, answers, asks the host, fails."""

    def __init__(self, mark: str) -> None:
        super().__init__(EdgeSettings(), Ledger())
        self.mark = mark

    def _marked(self, message: Message) -> Message:
        return with_params(message, [*(message.params or []), self.mark])

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_answer:
            raise ValueError("no answers")
        match message.method:
            case "twice":
                return [("inside", self._marked(message)), ("inside", message)]
            case "answer":
                return [("inside", self._marked(message)), ("peer", answer(message.id, self.mark))]
            case "ask":
                return [("host", request("h", "what", self.mark))]
            case "fail":
                raise ValueError("secret words of a peer")
        return [("inside", self._marked(message))]

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_answer:
            raise ValueError("no answers")
        if message.method == "fail":
            raise ValueError("secret words of an agent")
        return [("peer", self._marked(message))]

    def from_host(self, message: Message) -> list[Out]:
        if message.error:
            raise ValueError("the host refused")
        return [("inside", notification("known", [self.mark])), ("peer", notification("known", [self.mark]))]

    def peer_ended(self) -> list[Out]:
        return [("inside", notification("ended", [self.mark]))]


def chain(*marks: str) -> Translator:
    return Translator([Marking(mark) for mark in marks], Ledger())


def read(block: bytes) -> list[Any]:
    return [json.loads(line) for line in block.splitlines()]


def methods(block: bytes) -> list[tuple[str, Any]]:
    return [(frame["method"], frame.get("params")) for frame in read(block)]


def note(method: str, *params: Any) -> bytes:
    return encode(notification(method, list(params)))


def test_bytes_that_no_edge_changes_pass_as_they_were() -> None:
    edge = Watched()
    translator = Translator([edge, Watched()], Ledger())
    assert translator.from_peer(ODD + ASKED) == TranslatedFrames(inside=ODD + ASKED)
    assert translator.from_inside(ODD + ASKED) == TranslatedFrames(peer=ODD + ASKED)
    assert edge.seen == ["from peer", "from peer", "from inside", "from inside"]


def test_without_edges_everything_passes() -> None:
    translator = Translator([], Ledger())
    assert translator.from_peer(b"anything\n\n{").inside == b"anything\n\n{"
    assert translator.from_inside(b"\xff\n").peer == b"\xff\n"


@pytest.mark.parametrize("way", ["from_peer", "from_inside"])
def test_a_block_that_nobody_wants_to_see_passes_whole_and_undecoded(way: str) -> None:
    edge = Plainly()
    translator = Translator([edge], Ledger())
    block = note("session/update", "a") + note("session/cancel", "look away") + note("session/update", "b")
    with_blank_lines = block.replace(b"\n", b"\n\n").replace(b"look", b"do")
    passed = getattr(translator, way)(with_blank_lines)
    assert passed.inside + passed.peer == with_blank_lines
    assert edge.seen == []


@every("way", ["from_peer", "from_inside"])
@every(
    "odd_one",
    [note("session/update", "look"), ASKED, encode(answer(1, {})), note("other"), b"not json\n", b"{}\n"],
)
def test_one_frame_that_must_be_seen_makes_the_whole_block_seen(way: str, odd_one: bytes) -> None:
    edge = Plainly()
    block = note("session/update", "a") + odd_one + note("session/update", "b")
    passed = getattr(Translator([edge], Ledger()), way)(block)
    assert passed.inside + passed.peer == block
    assert len(edge.seen) == sum(decode(line) is not None for line in block.splitlines())


def test_a_letter_that_is_escaped_for_no_reason_hides_nothing() -> None:
    edge = Plainly()
    translator = Translator([edge], Ledger())
    hidden = note("session/update", "look").replace(b"look", b"l\\u006fok")
    assert translator.from_peer(hidden).inside == hidden
    assert edge.seen == ["from peer"]
    accents = note("session/update", "x").replace(b"x", b"caf\\u00e9")
    assert translator.from_peer(accents).inside == accents
    assert edge.seen == ["from peer"]


def test_every_edge_must_agree_to_let_a_block_pass() -> None:
    edge = Plainly()
    Translator([edge, Watched()], Ledger()).from_peer(note("session/update", "a"))
    assert edge.seen == ["from peer"]


def test_frames_that_are_no_messages_pass_as_they_are_in_their_place() -> None:
    block = note("x") + b"not json\n" + note("y") + b"[1]"
    passed = chain("a").from_peer(block)
    first, text, second, batch = passed.inside.splitlines()
    assert (text, batch) == (b"not json", b"[1]")
    assert methods(first + b"\n" + second) == [("x", ["a"]), ("y", ["a"])]
    assert passed.inside.endswith(b"[1]\n")  # whatever follows it is a frame of its own


def test_two_messages_on_one_line_are_no_message_and_the_next_line_is_heard() -> None:
    two = note("x").rstrip() + b" " + note("y")
    for translator in (chain("a"), chain("a", "b")):
        passed = translator.from_peer(two + note("z"))
        assert passed.inside.startswith(two)
        assert [method for method, _ in methods(passed.inside.removeprefix(two))] == ["z"]


def test_a_chain_is_passed_from_the_peer_inward_and_back() -> None:
    translator = chain("near", "far")
    assert methods(translator.from_peer(note("x")).inside) == [("x", ["near", "far"])]
    assert methods(translator.from_inside(note("x")).peer) == [("x", ["far", "near"])]


def test_what_a_message_causes_comes_before_what_follows_it() -> None:
    passed = chain("a", "b").from_peer(note("twice") + note("x"))
    assert methods(passed.inside) == [
        ("twice", ["a", "b"]),
        ("twice", ["a"]),
        ("twice", ["b"]),
        ("twice", []),
        ("x", ["a", "b"]),
    ]


def test_an_answer_of_an_inner_edge_goes_back_through_the_outer_ones() -> None:
    class Outer(Marking):
        def from_inside(self, message: Message) -> list[Out]:
            return [("peer", answer(message.id, f"{message.result} through {self.mark}"))]

        def from_peer(self, message: Message) -> list[Out]:
            return [("inside", message)]

    passed = Translator([Outer("a"), Marking("b")], Ledger()).from_peer(encode(request(1, "answer", [])))
    assert methods(passed.inside) == [("answer", ["b"])]
    assert read(passed.peer) == [{"jsonrpc": "2.0", "id": 1, "result": "b through a"}]


def test_the_host_is_asked_by_position_and_its_answer_goes_both_ways_from_there() -> None:
    translator = Translator([Marking("a"), Marking("b"), Marking("c")], Ledger())
    translator.edges[0].from_peer = lambda message: [("inside", message)]  # type: ignore[method-assign]
    ((position, asked),) = translator.from_peer(note("ask")).host
    assert (position, asked.params) == (1, "b")
    passed = translator.from_host(position, answer("h", {}))
    assert methods(passed.inside) == [("known", ["b", "c"])]
    assert methods(passed.peer) == [("known", ["b", "a"])]


def test_an_edge_that_fails_on_an_answer_of_the_host_ends_nothing() -> None:
    mistakes: list[Exception] = []
    translator = Translator([Marking("a")], Ledger(), on_mistake=mistakes.append)
    refused = Message("2.0", "h", error={"code": 1, "message": "no"})
    assert translator.from_host(0, refused) == TranslatedFrames()
    assert len(mistakes) == 1


def test_when_the_peer_ends_every_edge_has_a_last_word_through_the_inner_ones() -> None:
    assert methods(chain("a", "b").peer_ended().inside) == [("ended", ["a", "b"]), ("ended", ["b"])]


FAILED = {"code": -32603, "message": "Internal error: this message could not be translated"}


def test_a_request_that_an_edge_fails_on_is_answered_to_who_asked() -> None:
    frame = encode(request(7, "fail", []))
    passed = chain("a").from_peer(frame + note("x"))
    assert read(passed.peer) == [{"jsonrpc": "2.0", "id": 7, "error": FAILED}]
    assert methods(passed.inside) == [("x", ["a"])]
    passed = chain("a").from_inside(frame)
    assert read(passed.inside) == [{"jsonrpc": "2.0", "id": 7, "error": FAILED}]
    assert passed.peer == b""


def test_an_answer_that_an_edge_fails_on_becomes_an_error_for_who_waits() -> None:
    frame = encode(answer(7, {"secret": 1}))
    assert read(chain("a").from_peer(frame).inside) == [{"jsonrpc": "2.0", "id": 7, "error": FAILED}]
    assert read(chain("a").from_inside(frame).peer) == [{"jsonrpc": "2.0", "id": 7, "error": FAILED}]


def test_a_notification_that_an_edge_fails_on_is_put_down_as_lost() -> None:
    mistakes: list[Exception] = []
    ledger = Ledger()
    translator = Translator([Marking("a")], ledger, on_mistake=mistakes.append)
    assert translator.from_peer(note("fail")) == TranslatedFrames()
    assert translator.from_inside(note("fail")) == TranslatedFrames()
    (entry,) = ledger.entries
    assert (entry.outcome, entry.what, entry.count) == ("lost", "a message", 2)
    assert "secret" not in repr(entry)
    assert [type(error) for error in mistakes] == [ValueError, ValueError]


def test_frames_of_the_peer_are_counted_however_they_pass() -> None:
    ledger = Ledger()
    translator = Translator([Plainly()], ledger)
    translator.from_peer(note("session/update", "a") * 3)
    translator.from_peer(ASKED + note("session/update", "look"))
    translator.from_inside(ASKED)
    assert ledger.frame == 5


@given(st.lists(st.binary(max_size=30) | st.sampled_from([ODD, ASKED, note("fail"), note("twice")])))
def test_no_block_makes_it_raise_and_untouched_lines_keep_their_order(lines: list[bytes]) -> None:
    block = b"\n".join(lines)
    translator = Translator([Watched(), Plainly()], Ledger())
    expected = [line for line in block.split(b"\n") if line and not line.isspace()]
    passed = [line for line in translator.from_peer(block).inside.split(b"\n") if line and not line.isspace()]
    assert passed == expected
    chain("a", "b").from_peer(block)
    chain("a", "b").from_inside(block)
