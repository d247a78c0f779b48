"""Requests that are never answered."""

from __future__ import annotations

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps

READ = agent("fs/read_text_file", {"sessionId": "s", "path": "/w/a"}, id=70)
WAIT = agent("terminal/wait_for_exit", {"sessionId": "s", "terminalId": "t"}, id=70)
WRITE = agent("fs/write_text_file", {"sessionId": "s", "path": "/w/a", "content": ""}, id=71)
DONE = client(id=71, result={})
LENT = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


def listed(*, exit: bool = False) -> Talk:
    """A listing that nobody answers, and another one."""
    talk = Talk().new("s").begin("session/list", {}).call("session/list", {}, {"sessions": []})
    return talk.facts(exit=0, scene="x") if exit else talk


def lent(*frames: Said) -> Talk:
    return Talk(wants=LENT).new("s").prompt("s", "go", *frames)


def test_a_request_is_overdue_when_a_whole_turn_has_gone_by() -> None:
    breaks("RPC-03", listed().prompt("s", "hello"))
    keeps("RPC-03", listed())


def test_a_request_is_overdue_when_an_examiner_has_waited() -> None:
    breaks("RPC-03", listed(exit=True))
    keeps("RPC-03", listed(exit=True).facts(died="list"))
    keeps("RPC-03", listed().facts(exit=0))  # whoever was looking on knows of no end


def test_a_request_that_is_followed_by_silence_is_not_judged() -> None:
    keeps("RPC-03", Talk().new("s").begin("session/list", {}).facts(exit=0, scene="x"))


def test_a_client_answers_what_an_agent_asks() -> None:
    breaks("RPC-03", lent(READ, WRITE, DONE).prompt("s", "on"), "client")
    keeps("RPC-03", lent(READ, WRITE, DONE), "client")


def test_what_takes_its_time_is_not_overdue() -> None:
    keeps("RPC-03", lent(WAIT, WRITE, DONE).prompt("s", "on").facts(exit=0, scene="x"), "client")
    loading = Talk().begin("session/load", {"sessionId": "x", "cwd": "/w", "mcpServers": []}).new("s")
    keeps("RPC-03", loading.prompt("s", "hello"))
    breaks("RPC-03", loading.facts(exit=0, scene="x"))


def test_an_id_that_is_used_again_is_judged_elsewhere() -> None:
    twice = client("session/list", {}, id=50)
    talk = Talk().new("s").add(twice, twice, agent(id=50, result={"sessions": []}))
    keeps(
        "RPC-03",
        talk.call("session/list", {}, {"sessions": []}).prompt("s", "hello").facts(exit=0, scene="x"),
    )


def test_a_handshake_is_answered_too() -> None:
    talk = Talk()
    talk.said.pop()
    talk._times.pop()
    breaks("RPC-03", talk.new("s").prompt("s", "hello"))


def test_a_new_connection_forgets_what_was_owed() -> None:
    first = Talk().new("s").begin("session/list", {})
    again = [client("initialize", {"protocolVersion": 1}, id=1), agent(id=1, result={"protocolVersion": 1})]
    keeps("RPC-03", first.add(*again).new("s").prompt("s", "hello"))
