"""Version 2: sessions that are closed and resumed."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, status
from tests.check.rules.test_version2 import CAN, HELLO, RUNNING, idle, prompted, second, told, turn

CLOSE = {"sessionId": "s"}


def closed(*meanwhile: Said, talk: Talk | None = None) -> Talk:
    begun = (talk or turn(RUNNING)).begin("session/close", CLOSE)
    return begun.add(*meanwhile).answer()


def test_clo_02_and_07_work_ends_before_the_session_is_closed() -> None:
    for requirement in ("CLO-02", "CLO-07"):
        keeps(requirement, closed(idle("cancelled")))
        breaks(requirement, closed())
        breaks(requirement, closed().add(idle("cancelled")))
        says_nothing(requirement, closed(talk=turn(idle())))


def test_clo_03_a_closed_session_is_silent() -> None:
    over = closed(idle("cancelled")).call("session/list", {}, {"sessions": []})
    keeps("CLO-03", over)
    breaks("CLO-03", closed(idle("cancelled")).add(HELLO))
    again = closed(idle("cancelled")).begin("session/resume", {**CLOSE, "cwd": "/w"}).add(idle(None)).answer()
    says_nothing("CLO-03", again)


def test_clo_03_a_closed_session_takes_no_prompts() -> None:
    keeps("CLO-03", closed(idle("cancelled")).begin_prompt("s", "x").answer(code=-32002))
    breaks("CLO-03", prompted(closed(idle("cancelled")), message="u2"))


def resumed(*meanwhile: Said, **more: Any) -> Talk:
    return second().begin("session/resume", {"sessionId": "s", "cwd": "/w", **more}).add(*meanwhile).answer()


def test_res_03_history_is_told_only_if_it_is_asked_for() -> None:
    says_nothing("RES-03", resumed(idle(None)))
    keeps("RES-03", resumed(idle(None)).facts(told={}))
    breaks("RES-03", resumed(told(), idle(None)))
    says_nothing("RES-03", resumed(told(), idle(None), replayFrom={"type": "start"}))
    says_nothing("RES-03", resumed(RUNNING, HELLO))


def test_res_04_a_resumed_session_tells_its_state() -> None:
    keeps("RES-04", resumed(idle(None)))
    breaks("RES-04", resumed().add(idle(None)))


def test_areas_that_version_2_does_not_have_do_not_apply() -> None:
    talk = second()
    for requirement in ("LOAD-03", "MODE-01", "FS-02", "TERM-03"):
        assert status(requirement, talk) == "not applicable"
    assert status("FS-01", talk) == "not exercised"


def test_capabilities_of_version_2_have_other_names() -> None:
    assert status("DEL-04", second()) == "not exercised"
    assert status("DEL-04", second({"session": {}})) == "not applicable"
    assert status("CLO-04", Talk({}, version=2)) == "not applicable"
    assert status("CLO-04", Talk({"session": CAN}, version=1)) == "not applicable"
