"""TURN: prompt turns."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import agent
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update
from tests.every import every

IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "", "mimeType": "audio/wav"}
BAD = -32602


def test_turn_01_a_prompt_comes_after_the_setup() -> None:
    keeps("TURN-01", Talk().new("s").prompt("s"), "client")
    breaks("TURN-01", Talk().prompt("s"), "client")
    early = Talk().begin("session/load", {"sessionId": "s"}).prompt("s").answer(to=2)
    breaks("TURN-01", early, "client")
    first = Talk()
    first.said.reverse()
    breaks("TURN-01", first.new("s").prompt("s"), "client")


def test_turn_01_a_recording_that_begins_in_the_middle_says_nothing() -> None:
    middle = Talk().prompt("s")
    del middle.said[:2], middle._times[:2]
    says_nothing("TURN-01", middle, "client")


def test_turn_02_and_18_blocks_are_of_kinds_that_the_agent_takes() -> None:
    keeps("TURN-02", Talk().new("s").prompt("s", "see", IMAGE), "client")
    breaks("TURN-02", Talk().new("s").prompt("s", "hear", AUDIO), "client")
    breaks("TURN-18", Talk().new("s").prompt("s", "hear", AUDIO))
    keeps("TURN-18", Talk().new("s").prompt("s", "hear", AUDIO, code=BAD))
    says_nothing("TURN-18", Talk().new("s").prompt("s", "see", IMAGE))


@every("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])
def test_turn_03_and_04_a_turn_ends_with_one_of_five_reasons(reason: str) -> None:
    keeps("TURN-03", Talk().new("s").prompt("s", reason=reason))
    keeps("TURN-04", Talk().new("s").prompt("s", reason=reason))


def test_turn_03_04_and_05_other_reasons_are_none() -> None:
    breaks("TURN-03", Talk().new("s").prompt("s", reason=None))
    breaks("TURN-04", Talk().new("s").prompt("s", reason="done"))
    breaks("TURN-05", Talk().new("s").prompt("s", reason="tired"))
    keeps("TURN-05", Talk().new("s").prompt("s", reason="refusal"))
    says_nothing("TURN-05", Talk().new("s").prompt("s"))


def test_turn_06_no_update_of_a_turn_comes_after_its_answer() -> None:
    ended = Talk().new("s").prompt("s", says("s", "a"))
    says_nothing("TURN-06", ended)
    usage = update("s", "usage_update", used=1, size=2)
    says_nothing("TURN-06", Talk().new("s").prompt("s").add(usage))
    keeps("TURN-06", Talk().new("s").prompt("s", says("s", "a")).add(usage))
    breaks("TURN-06", ended.add(says("s", "b")))


def test_turn_06_what_the_client_does_next_may_lead_to_updates() -> None:
    mode = {"sessionId": "s", "modeId": "m"}
    first = says("s", "a")
    changed = Talk().new("s").prompt("s", first).begin("session/set_mode", mode)
    keeps("TURN-06", changed.add(says("s", "b")).answer())
    keeps("TURN-06", Talk().new("s").prompt("s", first).prompt("s", says("s", "b")))


def test_turn_06_updates_of_a_waiting_prompt_are_its_own() -> None:
    both = Talk().new("s").begin_prompt("s", "a").begin_prompt("s", "b")
    both.add(says("s", "w")).answer({"stopReason": "end_turn"}, to=3)
    both.add(says("s", "x")).answer({"stopReason": "end_turn"}, to=4)
    keeps("TURN-06", both)


def test_turn_07_updates_name_a_session_that_is_known() -> None:
    keeps("TURN-07", Talk().new("s").new("t").prompt("s", says("s", "a"), says("t", "a")))
    breaks("TURN-07", Talk().new("s").prompt("s", says("x", "a")))


def test_turn_12_a_tool_call_is_reported_before_its_effects() -> None:
    write = agent("fs/write_text_file", {"sessionId": "s", "path": "/w/a", "content": ""}, id=9)
    call = update("s", "tool_call", toolCallId="c", title="x")
    keeps("TURN-12", Talk().new("s").prompt("s", call, write))
    breaks("TURN-12", Talk().new("s").prompt("s", write, call))


def test_turn_16_a_prompt_to_a_busy_session_is_answered() -> None:
    def busy() -> Talk:
        two = Talk().new("s").begin_prompt("s", "a").begin_prompt("s", "b")
        return two.answer({"stopReason": "end_turn"}, to=3)

    keeps("TURN-16", busy().answer({"stopReason": "end_turn"}, to=4))
    breaks("TURN-16", busy().prompt("s"))
    says_nothing("TURN-16", busy())


def test_turn_17_turns_of_two_sessions_run_at_once() -> None:
    both = Talk().new("s").new("t").begin_prompt("s", "a").begin_prompt("t", "b").add(says("t", "x"))
    keeps("TURN-17", both.answer({"stopReason": "end_turn"}, to=4))


def test_turn_17_a_turn_that_waits_for_another_session_does_not() -> None:
    def waiting(seconds: float) -> Talk:
        talk = Talk().new("s").new("t").begin_prompt("s", "a")
        talk.add(agent("fs/read_text_file", {"sessionId": "s", "path": "/w/a"}, id=1))
        talk.begin_prompt("t", "b").wait(seconds)
        return talk.answer({"stopReason": "end_turn"}, to=4).add(says("t", "x"))

    breaks("TURN-17", waiting(6.0))
    says_nothing("TURN-17", waiting(0.5))


def test_turn_19_an_empty_prompt_is_answered() -> None:
    empty: dict[str, Any] = {"sessionId": "s", "prompt": []}
    keeps("TURN-19", Talk().new("s").call("session/prompt", empty, code=BAD))
    breaks("TURN-19", Talk().new("s").begin("session/prompt", empty).mark("empty prompt", last=1))
    says_nothing("TURN-19", Talk().new("s").begin("session/prompt", empty))


def test_turn_23_a_failed_turn_is_an_error() -> None:
    keeps("TURN-23", Talk().new("s").prompt("s", code=-32603))
    breaks("TURN-23", Talk().new("s").prompt("s", reason="error"))
    breaks("TURN-23", Talk().new("s").prompt("s").mark("fail", last=2))
    says_nothing("TURN-23", Talk().new("s").prompt("s"))


def test_turn_24_a_turn_has_words_or_tool_calls() -> None:
    keeps("TURN-24", Talk().new("s").prompt("s", says("s", "a")))
    breaks("TURN-24", Talk().new("s").prompt("s"))


def test_turn_25_tools_use_what_the_client_lends() -> None:
    read = agent("fs/read_text_file", {"sessionId": "s", "path": "/w/a"}, id=9)
    lends = {"fs": {"readTextFile": True}}
    keeps("TURN-25", Talk(wants=lends).new("s").prompt("s", read))
    breaks("TURN-25", Talk().new("s").prompt("s", read))


def test_rules_of_version_1_say_nothing_about_version_2() -> None:
    says_nothing("TURN-03", Talk(version=2).new("s").prompt("s", reason=None))
