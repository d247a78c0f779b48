"""Version 2: what a session tells, and in which order."""

from __future__ import annotations

from typing import Any

from dragoman_check.conversation import Conversation
from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, status, update
from tests.every import every

CAN: dict[str, Any] = {"session": {"prompt": {"image": {}}, "delete": {}}}
RUNNING = update("s", "state_update", state="running")
HELLO = says("s", "hello", messageId="a1")
CANCEL = client("session/cancel", {"sessionId": "s"})


def idle(reason: Any = "end_turn", session: str = "s", **more: Any) -> Said:
    return update(session, "state_update", state="idle", stopReason=reason, **more)


def told(message: str = "u1") -> Said:
    return update("s", "user_message", messageId=message, content=[{"type": "text", "text": "x"}])


def second(can: Any = CAN) -> Talk:
    return Talk(can, version=2).new("s")


def prompted(talk: Talk, *frames: Said, message: str = "u1", block: Any = "hello") -> Talk:
    """A prompt that is taken, and what comes after it."""
    return talk.begin_prompt("s", block).add(told(message)).answer({"messageId": message}).add(*frames)


def turn(*frames: Said) -> Talk:
    return prompted(second(), *frames)


GOOD = turn(RUNNING, HELLO, idle()).add(update("s", "session_info_update", title="x"))


def test_a_turn_ends_with_idle_and_not_with_its_answer() -> None:
    (one,) = Conversation(GOOD.recording).turns
    assert one.end is not None
    assert one.end.params["update"]["state"] == "idle"
    assert [frame.params["update"]["sessionUpdate"] for frame in one.updates("agent_message_chunk")]
    assert [frame.params["update"]["sessionUpdate"] for frame in one.after] == ["session_info_update"]


def test_a_turn_may_be_over_before_its_prompt_is_acknowledged() -> None:
    talk = second().begin_prompt("s", "x").add(told(), idle()).answer({"messageId": "u1"})
    (one,) = Conversation(talk.recording).turns
    assert one.end is not None
    assert one.end.number < len(talk.said)


def test_a_prompt_that_is_refused_has_no_turn() -> None:
    (one,) = Conversation(second().begin_prompt("s", "x").answer(code=-32602).add(idle()).recording).turns
    assert one.end is one.exchange.answer


def test_turn_01_a_prompt_is_for_a_session_that_is_there() -> None:
    keeps("TURN-01", GOOD, "client")
    early = Talk(CAN, version=2).begin("session/new", {"cwd": "/w"}).begin_prompt("s", "x")
    breaks("TURN-01", early.answer({"sessionId": "s"}, to=2), "client")


def test_turn_02_and_18_blocks_are_those_that_the_agent_takes() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    keeps("TURN-02", prompted(second(), idle(), block=image), "client")
    poor = second({"session": {}}).begin_prompt("s", image)
    breaks("TURN-02", poor, "client")
    keeps("TURN-18", poor.answer(code=-32602))
    breaks("TURN-18", prompted(second({"session": {}}), idle(), block=image))


def test_turn_19_an_empty_prompt_is_refused() -> None:
    keeps("TURN-19", second().begin_prompt("s").answer(code=-32602))
    breaks("TURN-19", second().begin_prompt("s").answer({"messageId": "u1"}))


def test_turn_03_work_ends_with_idle() -> None:
    keeps("TURN-03", GOOD)
    says_nothing("TURN-03", turn(RUNNING))
    breaks("TURN-03", prompted(turn(RUNNING), RUNNING, message="u2"))
    says_nothing("TURN-03", turn(idle(None)))  # the official material says both


def test_turn_04_a_stop_reason_is_a_string() -> None:
    keeps("TURN-04", turn(idle("_own")))
    breaks("TURN-04", turn(idle(5)))
    breaks("TURN-04", turn(update("s", "state_update", state="running", stopReason="end_turn")))


def test_turn_06_an_idle_session_does_not_work() -> None:
    keeps("TURN-06", GOOD)
    keeps("TURN-06", turn(idle(), RUNNING, HELLO, idle()))
    breaks("TURN-06", turn(idle(), HELLO))


def test_turn_06_what_runs_in_the_background_may_tell_of_itself() -> None:
    ended = update("s", "tool_call_update", toolCallId="c", status="completed")
    breaks("TURN-06", turn(idle(), ended))
    keeps("TURN-06", turn(idle(background=[{"type": "tool_call", "toolCallId": "c"}]), ended))


def test_turn_07_updates_name_sessions_that_are_there() -> None:
    keeps("TURN-07", GOOD)
    breaks("TURN-07", turn(says("other", "x", messageId="a1")))


def test_turn_09_a_prompt_is_acknowledged_with_the_id_of_its_message() -> None:
    keeps("TURN-09", GOOD)
    other = second().begin_prompt("s", "x").add(told("u9")).answer({"messageId": "u1"}).add(idle())
    breaks("TURN-09", other)
    silent = second().begin_prompt("s", "x").answer({"messageId": "u1"}).add(idle())
    says_nothing("TURN-09", silent)


ASK = agent("session/request_permission", {"sessionId": "s", "title": "x", "options": []}, id=70)
NO = client(id=70, result={"outcome": {"outcome": "cancelled"}})


def test_can_06_07_and_08_a_cancelled_session_says_so() -> None:
    good = turn(RUNNING, CANCEL, HELLO, idle("cancelled"), update("s", "session_info_update", title="x"))
    for requirement in ("CAN-06", "CAN-07", "CAN-08"):
        keeps(requirement, good)
    breaks("CAN-06", turn(ASK, CANCEL, NO, idle("end_turn")))
    breaks("CAN-07", turn(ASK, CANCEL, NO, idle("error")))
    breaks("CAN-08", turn(CANCEL, idle("cancelled"), HELLO))


def test_can_06_a_turn_may_end_before_the_cancel_is_read() -> None:
    says_nothing("CAN-06", turn(CANCEL, idle("end_turn")))
    says_nothing("CAN-06", turn(CANCEL).wait(60.0).add(idle("end_turn")))
    breaks("CAN-06", turn(CANCEL).call("session/list").add(idle("end_turn")))


def test_can_13_a_cancelled_session_takes_prompts() -> None:
    keeps("CAN-13", prompted(turn(CANCEL, idle("cancelled")), idle(), message="u2"))
    breaks("CAN-13", turn(CANCEL, idle("cancelled")).begin_prompt("s", "x").answer(code=-32603))


@every("requirement", ["TURN-03", "TURN-23", "CAN-06", "UPD-05", "MODE-07", "TOOL-22"])
def test_rules_of_version_1_say_nothing_here(requirement: str) -> None:
    ended = update("s", "tool_call_update", toolCallId="c", status="completed")
    talk = turn(update("s", "notice", severity="info", title="x"), ended, idle(None))
    assert status(requirement, talk) in ("not exercised", "not applicable")
