"""CLO and DEL: the end of sessions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing

S = {"sessionId": "s"}
LIST = {"sessions": [{"sessionId": "s", "cwd": "/w"}]}


def test_only_what_was_advertised_is_asked_for() -> None:
    keeps("CLO-01", Talk().new("s").call("session/close", S), "client")
    breaks("CLO-01", Talk({}).new("s").call("session/close", S), "client")
    keeps("DEL-01", Talk().call("session/delete", S), "client")
    breaks("DEL-01", Talk({"sessionCapabilities": {"delete": None}}).call("session/delete", S), "client")


def closing(reason: str, *, prompt_first: bool, waits: bool = False) -> Talk:
    """A turn (request 3) that runs while its session is closed (request 4)."""
    talk = Talk().new("s").begin_prompt("s", "go")
    if waits:
        talk.add(agent("fs/read_text_file", {"sessionId": "s", "path": "/w/a"}, id=1))
    talk.begin("session/close", S)
    if waits:
        talk.add(client(id=1, result={"content": ""}))
    if prompt_first:
        talk.answer({"stopReason": reason}, to=3)
    talk.answer({}, to=4)
    return talk if prompt_first else talk.answer({"stopReason": reason}, to=3)


def test_clo_02_closing_cancels_the_turn() -> None:
    keeps("CLO-02", closing("cancelled", prompt_first=True))
    breaks("CLO-02", closing("end_turn", prompt_first=False))
    breaks("CLO-02", closing("end_turn", prompt_first=True, waits=True))


def test_clo_02_a_turn_that_may_have_ended_first_says_nothing() -> None:
    says_nothing("CLO-02", closing("end_turn", prompt_first=True))


def test_clo_02_a_turn_that_is_never_answered_was_not_cancelled() -> None:
    left = Talk().new("s").begin_prompt("s", "go").call("session/close", S)
    says_nothing("CLO-02", left)
    breaks("CLO-02", left.call("session/list"))


def test_clo_03_a_closed_session_is_gone() -> None:
    def closed() -> Talk:
        return Talk().new("s").call("session/close", S)

    keeps("CLO-03", closed().prompt("s", code=-32002))
    breaks("CLO-03", closed().prompt("s"))
    keeps("CLO-03", closed().facts(logs=[["initialize", "ended"]]))
    breaks("CLO-03", closed().facts(logs=[["initialize"]]))
    again = closed().call("session/load", {**S, "cwd": "/w", "mcpServers": []})
    says_nothing("CLO-03", again.prompt("s"))


@pytest.mark.parametrize(("requirement", "method"), [("CLO-04", "close"), ("DEL-04", "delete")])
def test_the_answers_are_objects(requirement: str, method: str) -> None:
    keeps(requirement, Talk().new("s").call(f"session/{method}", S))
    null: Any = ("to_client", b'{"jsonrpc":"2.0","id":3,"result":null}')
    breaks(requirement, Talk().new("s").begin(f"session/{method}", S).add(null))


def test_clo_05_closing_an_unknown_session_may_be_an_error() -> None:
    keeps("CLO-05", Talk().call("session/close", S, code=-32002))
    keeps("CLO-05", Talk().call("session/close", S))
    breaks("CLO-05", Talk().call("session/close", S, code=-32603))


def test_clo_06_a_client_takes_not_found_for_closed() -> None:
    lost = Talk().new("s").call("session/close", S, code=-32002)
    says_nothing("CLO-06", lost, "client")
    keeps("CLO-06", lost.new("t"), "client")
    breaks("CLO-06", Talk().new("s").call("session/close", S, code=-32002).died(), "client")


def test_clo_07_the_prompt_is_answered_first() -> None:
    keeps("CLO-07", closing("cancelled", prompt_first=True))
    breaks("CLO-07", closing("cancelled", prompt_first=False))


def test_del_02_a_deleted_session_is_not_listed() -> None:
    def deleted() -> Talk:
        return Talk().new("s").call("session/delete", S)

    keeps("DEL-02", deleted().call("session/list", {}, {"sessions": []}))
    breaks("DEL-02", deleted().call("session/list", {}, LIST))
    says_nothing("DEL-02", Talk().new("s").call("session/list", {}, LIST))


def test_del_03_what_is_gone_can_be_deleted() -> None:
    gone = Talk().new("s").call("session/delete", S)
    keeps("DEL-03", gone.call("session/delete", S))
    breaks("DEL-03", gone.call("session/delete", S, code=-32002))
    breaks(
        "DEL-03", Talk().call("session/delete", S, code=-32002).mark("delete of an unknown session", last=2)
    )
    says_nothing("DEL-03", Talk().call("session/delete", S, code=-32002))


def test_del_05_odd_deletions_are_answered() -> None:
    keeps("DEL-05", Talk().new("s").call("session/delete", S))
    breaks("DEL-05", Talk().new("s").begin("session/delete", S).call("session/list"))


def test_del_06_who_can_delete_can_list() -> None:
    keeps("DEL-06", Talk())
    breaks("DEL-06", Talk({"sessionCapabilities": {"delete": {}}}))
    says_nothing("DEL-06", Talk({}))
