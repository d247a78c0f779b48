"""LOAD: sessions that come back with their history."""

from __future__ import annotations

from typing import Any

from dragoman_check.memory import session_facts
from tests.check.conversations import Said
from tests.check.rules.talks import EVERYTHING, Talk, breaks, keeps, says, says_nothing, status, update

SETUP: dict[str, Any] = {"sessionId": "s", "cwd": "/w", "mcpServers": []}
MODES = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}
USER = says("s", "tell me about dragons", "user_message_chunk")
AGENT = says("s", "They breathe fire.")
USAGE = update("s", "usage_update", used=1, size=10)
NOTICE = update("s", "notice", severity="info", title="Listen")


def load(*replayed: Said, talk: Talk | None = None, result: Any = None, code: int = 0) -> Talk:
    talk = Talk() if talk is None else talk
    return talk.begin("session/load", SETUP).add(*replayed).answer(result, code=code)


def before(*more: Said) -> Talk:
    """A session with one turn, closed."""
    talk = Talk().new("s").prompt("s", "tell me about dragons", AGENT, *more)
    return talk.call("session/close", {"sessionId": "s"})


def test_load_01_only_agents_that_can_load_are_asked_to() -> None:
    keeps("LOAD-01", load(), "client")
    breaks("LOAD-01", load(talk=Talk({})), "client")


def test_load_02_a_load_has_all_it_needs() -> None:
    keeps("LOAD-02", load(), "client")
    for name in SETUP:
        lacking = {key: value for key, value in SETUP.items() if key != name}
        breaks("LOAD-02", Talk().call("session/load", lacking), "client")


def test_load_03_all_that_was_said_comes_again() -> None:
    keeps("LOAD-03", load(USER, AGENT, talk=before()))
    breaks("LOAD-03", load(AGENT, talk=before()))
    breaks("LOAD-03", load(USER, talk=before()))
    says_nothing("LOAD-03", load(USER, AGENT))


def test_load_03_passing_remarks_need_not_come_again() -> None:
    keeps("LOAD-03", load(USER, AGENT, talk=before(says("s", "Warning: old model."))))


def test_load_03_what_was_told_on_another_connection_counts() -> None:
    fact = session_facts(before().recording)
    keeps("LOAD-03", load(USER, AGENT).facts(told=fact))
    breaks("LOAD-03", load(USER).facts(told=fact))
    says_nothing("LOAD-03", load(USER).facts(told={"s": {"user": 5}}))


def test_load_04_nothing_is_replayed_after_the_answer() -> None:
    keeps("LOAD-04", load(USER, AGENT).call("session/list"))
    breaks("LOAD-04", load(AGENT).add(USER))
    breaks("LOAD-04", load(USER).add(AGENT))
    breaks("LOAD-04", load(USER, AGENT, talk=before()).add(AGENT))
    keeps("LOAD-04", load(USER, AGENT).add(says("s", "Welcome back.")))
    keeps("LOAD-04", load(USER, AGENT).prompt("s", "go on", AGENT))
    says_nothing("LOAD-04", load(USER, AGENT))


def test_load_05_what_the_user_said_is_replayed_as_such() -> None:
    keeps("LOAD-05", load(USER, AGENT))
    breaks("LOAD-05", load(AGENT))


def test_load_06_ids_of_replayed_messages_are_their_own() -> None:
    def chunk(kind: str, chosen: str) -> Said:
        return says("s", "x", kind, messageId=chosen)

    first, second = chunk("user_message_chunk", "u"), chunk("agent_message_chunk", "a")
    keeps("LOAD-06", load(first, second, second, chunk("user_message_chunk", "v")))
    breaks("LOAD-06", load(first, chunk("agent_message_chunk", "u")))
    breaks("LOAD-06", load(first, second, chunk("user_message_chunk", "v"), second))
    says_nothing("LOAD-06", load(USER, AGENT))


def test_load_07_the_answer_is_an_object() -> None:
    keeps("LOAD-07", load())
    talk = Talk().begin("session/load", SETUP)
    talk.add(("to_client", b'{"jsonrpc":"2.0","id":2,"result":null}'))
    breaks("LOAD-07", talk)
    keeps("LOAD-07", talk.prompt("s"), "client")


def test_load_08_a_loaded_session_goes_on() -> None:
    keeps("LOAD-08", load().prompt("s"))
    breaks("LOAD-08", load().prompt("s", code=-32002))
    says_nothing("LOAD-08", load())


def test_load_08_and_turn_15_what_was_said_is_known() -> None:
    fact = {"s": {"user": ["remember: heron"]}}
    for requirement in ("LOAD-08", "TURN-15"):
        recalled = load().prompt("s", "which?", says("s", "It was Heron.")).mark("recall", last=3)
        keeps(requirement, recalled.facts(word="heron", told=fact))
        forgotten = load().prompt("s", "which?", says("s", "Who knows?")).mark("recall", last=3)
        control = forgotten.prompt("s", "heron: which?", says("s", "Heron!")).mark("recall control", last=3)
        breaks(requirement, control.facts(word="heron", told=fact))


def test_load_08_and_turn_15_a_model_that_never_repeats_a_word_has_forgotten_nothing() -> None:
    fact = {"s": {"user": ["remember: heron"]}}
    for requirement in ("LOAD-08", "TURN-15"):
        asked = load().prompt("s", "which?", says("s", "Who knows?")).mark("recall", last=3)
        assert status(requirement, asked.facts(word="heron", told=fact)) != "warned"
        control = asked.prompt("s", "heron: which?", says("s", "Hm.")).mark("recall control", last=3)
        assert status(requirement, control.facts(word="heron", told=fact)) != "warned"


def test_turn_15_what_was_never_said_need_not_be_known() -> None:
    talk = Talk().new("s").prompt("s", "x", says("s", "nothing")).mark("remember", last=3)
    says_nothing("TURN-15", talk.prompt("s", "which?").mark("recall", last=2).facts(word="heron"))


def test_load_09_a_missing_session_is_not_found() -> None:
    keeps("LOAD-09", load(code=-32002))
    breaks("LOAD-09", load(code=-32603).mark("load of an unknown session", last=2))
    breaks("LOAD-09", load(USER, code=-32002))
    breaks("LOAD-09", Talk().begin("session/load", SETUP).answer(code=-32603, message="Session not found"))
    says_nothing("LOAD-09", load(code=-32603))


def test_load_10_who_cannot_load_says_so() -> None:
    keeps("LOAD-10", load(talk=Talk({}), code=-32601))
    breaks("LOAD-10", load(talk=Talk({}), code=-32603))


def test_load_11_every_update_of_a_replay_names_the_session() -> None:
    keeps("LOAD-11", load(USER))
    breaks("LOAD-11", load(says("x", "hi")))
    says_nothing("LOAD-11", load(says("other", "hi"), talk=Talk().new("other")))


def test_load_12_usage_is_told_again() -> None:
    keeps("LOAD-12", load(USAGE, talk=before(USAGE)))
    keeps("LOAD-12", load(talk=before(USAGE)).add(USAGE))
    breaks("LOAD-12", load(talk=before(USAGE)))
    says_nothing("LOAD-12", load(talk=before()))


def test_load_13_notices_are_not_replayed() -> None:
    keeps("LOAD-13", load(USER, talk=before(NOTICE)))
    breaks("LOAD-13", load(NOTICE, talk=before(NOTICE)))
    says_nothing("LOAD-13", load(NOTICE))


def test_load_14_settings_are_whole() -> None:
    keeps("LOAD-14", load(result={"modes": MODES}))
    breaks("LOAD-14", load(result={"modes": []}))


def test_load_16_a_finished_compaction_is_one_update() -> None:
    done = update("s", "compaction_update", compactionId="c", status="completed")
    chunk = update("s", "compaction_summary_chunk", compactionId="c", content={"type": "text", "text": "x"})
    keeps("LOAD-16", load(done))
    breaks("LOAD-16", load(chunk, done))


def test_a_busy_session_that_is_loaded_says_nothing() -> None:
    busy = Talk(EVERYTHING).new("s").begin_prompt("s", "go")
    busy.begin("session/load", SETUP).add(AGENT).answer()
    for requirement in ("LOAD-03", "LOAD-04", "LOAD-05"):
        says_nothing(requirement, busy)


def test_load_03_an_advertised_load_is_not_refused() -> None:
    missing = (
        Talk({"loadSession": True})
        .new("s")
        .prompt("s", says("s", "hi"))
        .call("session/load", SETUP, code=-32601)
    )
    assert status("LOAD-03", missing) == "failed"
    here = (
        Talk({"loadSession": True})
        .new("s")
        .prompt("s", says("s", "hi"))
        .call("session/load", SETUP, code=-32603)
    )
    assert status("LOAD-03", here) == "failed"
    says_nothing("LOAD-03", Talk({"loadSession": True}).call("session/load", SETUP, code=-32002))


def test_load_04_without_a_replay_nothing_shows_when_it_ends() -> None:
    empty = Talk({"loadSession": True}).new("s").call("session/load", SETUP, {}).call("session/list")
    says_nothing("LOAD-04", empty)
