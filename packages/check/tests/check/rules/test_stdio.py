"""STD: lines."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing
from tests.every import every


def raw(text: bytes) -> Said:
    return "to_client", text


def test_std_01_lines_are_utf_8() -> None:
    keeps("STD-01", Talk().add(agent("_mine/note", {"text": "\U0001f409é"})))
    breaks("STD-01", Talk().add(raw('{"jsonrpc":"2.0","method":"é"}'.encode("latin-1"))))
    breaks("STD-01", Talk().add(("to_agent", b"\xff")), "client")


def test_std_02_a_message_is_one_line() -> None:
    keeps("STD-02", Talk())
    parts = [raw(part) for part in (b"{", b'  "jsonrpc": "2.0",', b'  "method": "session/update"', b"}")]
    breaks("STD-02", Talk().add(*parts))
    breaks("STD-02", Talk().add(*parts).call("session/list"))
    keeps("STD-02", Talk().add(raw(b"Loading models")).call("session/list"))
    keeps("STD-02", Talk().add(raw(b"{"), raw(b"")).call("session/list"))


@every("noise", [b"Loading models", b"42", b"[]", b'{"level":"info"}', b'"text"', b"{", b"null"])
def test_std_03_and_04_streams_carry_only_messages(noise: bytes) -> None:
    keeps("STD-03", Talk())
    breaks("STD-03", Talk().add(raw(noise)))
    keeps("STD-04", Talk(), "client")
    breaks("STD-04", Talk().add(("to_agent", noise)), "client")


def test_std_03_an_array_of_messages_is_a_message_in_version_2_alone() -> None:
    answers = raw(b'[{"jsonrpc":"2.0","id":54,"result":{}}]')
    keeps("STD-03", Talk(version=2).add(answers))
    breaks("STD-03", Talk().add(answers))
    for noise in (b"[]", b"[1]", b'[{"jsonrpc":"2.0","id":54,"result":{}},{"level":"info"}]'):
        breaks("STD-03", Talk(version=2).add(raw(noise)))


def test_std_03_forgives_what_readers_forgive() -> None:
    half = rb'{"jsonrpc":"2.0","method":"_mine/note","params":{"text":"\ud800"}}'
    keeps("STD-03", Talk().add(raw(half), raw(b"")))


def test_std_06_standard_error_does_not_fill_up() -> None:
    keeps("STD-06", Talk().facts(**{"stderr drained": True}), "client")
    breaks("STD-06", Talk().facts(**{"stderr drained": False}), "client")
    says_nothing("STD-06", Talk(), "client")


def test_std_07_a_client_closes_the_input() -> None:
    keeps("STD-07", Talk().facts(input="closed"), "client")
    breaks("STD-07", Talk().facts(input="broken"), "client")
    says_nothing("STD-07", Talk(), "client")


def test_std_08_an_agent_ends_with_its_input() -> None:
    keeps("STD-08", Talk().facts(scene="hello", exit=0))
    breaks("STD-08", Talk().facts(scene="hello", exit=None))
    says_nothing("STD-08", Talk().facts(exit=0))
    says_nothing("STD-08", Talk().facts(scene="hello", exit=-9))


def test_std_09_blank_lines_are_skipped() -> None:
    blank: Said = ("to_agent", b"  ")
    refusal = agent(id=None, error={"code": -32700, "message": "No."})
    keeps("STD-09", Talk().add(blank).call("session/list"))
    breaks("STD-09", Talk().add(blank, refusal).call("session/list"))
    # A recording need not hold blank lines.
    marked = Talk().call("session/list").mark("blank lines", last=2)
    keeps("STD-09", marked)
    answered = Talk().add(refusal).call("session/list").mark("blank lines", last=3)
    breaks("STD-09", answered)
    says_nothing("RPC-05", answered)


@every(
    ("requirement", "name"),
    [("STD-09", "CRLF"), ("STD-10", "10 MB"), ("STD-11", "dribbled"), ("STD-11", "two at once")],
)
def test_odd_lines_are_answered(requirement: str, name: str) -> None:
    keeps(requirement, Talk().call("session/list").mark(name, last=2))
    breaks(requirement, Talk().begin("session/list").mark(name, last=1))
    says_nothing(requirement, Talk().call("session/list"))
    says_nothing(requirement, Talk().call("session/list").mark(name, last=2), "client")
    keeps(requirement, Talk().ask("_tck/x", {}, code=-32601).mark(name, last=2), "client")


def test_a_line_in_pieces_is_no_broken_line() -> None:
    pieces: list[Any] = [("to_agent", b'{"jsonrpc":"2.0",'), ("to_agent", b'"id":2,"method":"session/list"}')]
    talk = Talk().add(*pieces, agent(id=2, result={}), client("session/list", id=3), agent(id=3, result={}))
    says_nothing("RPC-10", talk.mark("dribbled", last=5))
