"""RES: sessions that come back without their history."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update

SETUP: dict[str, Any] = {"sessionId": "s", "cwd": "/w", "mcpServers": []}


def resume(*told: Said, talk: Talk | None = None, result: Any = None, code: int = 0) -> Talk:
    talk = Talk() if talk is None else talk
    return talk.begin("session/resume", SETUP).add(*told).answer(result, code=code)


def test_res_01_only_agents_that_can_resume_are_asked_to() -> None:
    keeps("RES-01", resume(), "client")
    breaks("RES-01", resume(talk=Talk({})), "client")


def test_res_02_a_resume_has_all_it_needs() -> None:
    keeps("RES-02", resume(), "client")
    breaks("RES-02", Talk().call("session/resume", {"sessionId": "s"}), "client")


def test_res_03_nothing_is_replayed() -> None:
    says_nothing("RES-03", resume())  # nothing was said before that could be replayed
    before = Talk().new("s").prompt("s", "hello", says("s", "Good day to you."))
    keeps("RES-03", resume(update("s", "available_commands_update", availableCommands=[]), talk=before))
    breaks("RES-03", resume(says("s", "hi", "user_message_chunk")))
    talk = Talk().new("s").prompt("s", "hello", says("s", "Good day to you."))
    breaks("RES-03", resume(says("s", "Good day"), talk=talk))
    before = Talk().new("s").prompt("s", "hello", says("s", "Good day to you."))
    keeps("RES-03", resume(says("s", "Welcome back."), talk=before))


def test_res_04_a_resumed_session_goes_on() -> None:
    keeps("RES-04", resume().prompt("s"))
    breaks("RES-04", resume().prompt("s", code=-32002))
    says_nothing("RES-04", resume())


def test_res_05_settings_are_whole() -> None:
    keeps("RES-05", resume(result={"configOptions": []}))
    breaks("RES-05", resume(result={"configOptions": {}}))


def test_res_06_the_answer_is_an_object() -> None:
    keeps("RES-06", resume())
    talk = Talk().begin("session/resume", SETUP)
    breaks("RES-06", talk.add(("to_client", b'{"jsonrpc":"2.0","id":2,"result":null}')))


def test_res_07_a_missing_session_is_not_found() -> None:
    keeps("RES-07", resume(code=-32002))
    breaks("RES-07", resume(code=-32602).mark("resume of an unknown session", last=2))
