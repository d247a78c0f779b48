"""CAN: cancels, and the races around them."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update
from tests.every import every

CANCEL = client("session/cancel", {"sessionId": "s"})
ASK = agent(
    "session/request_permission", {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []}, id=70
)
NO = client(id=70, result={"outcome": {"outcome": "cancelled"}})
YES = client(id=70, result={"outcome": {"outcome": "selected", "optionId": "y"}})


def turn(*frames: Said, reason: Any = "end_turn", code: int = 0, **error: Any) -> Talk:
    """A turn in which these frames came."""
    talk = Talk().new("s").begin_prompt("s", "go").add(*frames)
    return talk.answer({"stopReason": reason}, to=3, code=code, **error)


def test_can_01_a_cancel_is_a_notification() -> None:
    keeps("CAN-01", turn(CANCEL), "client")
    breaks("CAN-01", Talk().begin("session/cancel", {"sessionId": "s"}), "client")
    breaks("CAN-01", Talk().tell("session/cancel", {}), "client")


def test_can_02_a_cancel_is_not_answered() -> None:
    error = {"code": -32600, "message": "?"}
    keeps("CAN-02", turn(CANCEL))
    breaks("CAN-02", turn(CANCEL, agent(id=None, error=error)))
    junk: Any = ("to_agent", b"{")
    keeps("CAN-02", turn(junk, CANCEL, agent(id=None, error=error)))
    other = client("nobodys/notification", {})
    says_nothing("CAN-02", turn(other, CANCEL, agent(id=None, error={**error, "code": -32601})))


def test_can_04_open_questions_are_answered_with_cancelled() -> None:
    keeps("CAN-04", turn(ASK, CANCEL, NO), "client")
    breaks("CAN-04", turn(ASK, CANCEL, YES), "client")
    breaks("CAN-04", turn(ASK, CANCEL).new("t"), "client")
    says_nothing("CAN-04", turn(ASK, CANCEL), "client")
    says_nothing("CAN-04", turn(ASK, YES, CANCEL), "client")
    taken_back = agent("$/cancel_request", {"requestId": 70})
    refused = client(id=70, error={"code": -32800, "message": "x"})
    says_nothing("CAN-04", turn(ASK, CANCEL, taken_back, refused), "client")


def test_can_05_a_cancelled_turn_ends_soon() -> None:
    def after(seconds: float) -> Talk:
        talk = Talk().new("s").begin_prompt("s", "go").add(CANCEL).wait(seconds)
        return talk.answer({"stopReason": "cancelled"})

    keeps("CAN-05", after(1))
    breaks("CAN-05", after(11))
    says_nothing("CAN-05", after(7))


def test_can_06_a_cancelled_turn_is_answered_so() -> None:
    keeps("CAN-06", turn(CANCEL, reason="cancelled"))
    keeps("CAN-06", turn(ASK, CANCEL, NO, reason="cancelled"))
    breaks("CAN-06", turn(ASK, CANCEL, NO))


def test_can_06_a_turn_that_may_have_ended_first_says_nothing() -> None:
    says_nothing("CAN-06", turn(CANCEL))
    says_nothing("CAN-07", turn(CANCEL, code=-32603))
    keeps("CAN-14", turn(CANCEL))


def test_can_06_what_proves_that_a_cancel_was_read() -> None:
    taken_back = agent("$/cancel_request", {"requestId": 70})
    breaks("CAN-06", turn(CANCEL, ASK, taken_back))
    says_nothing("CAN-06", turn(CANCEL, taken_back))
    later = Talk().new("s").begin_prompt("s", "go").add(CANCEL).call("session/list")
    breaks("CAN-06", later.answer({"stopReason": "end_turn"}, to=3))


def test_can_06_time_proves_nothing() -> None:
    slow = Talk().new("s").begin_prompt("s", "go").add(CANCEL).wait(60)
    slow.answer({"stopReason": "end_turn"})
    says_nothing("CAN-06", slow)
    breaks("CAN-05", slow)


def test_can_06_a_cancelled_turn_that_is_never_answered() -> None:
    left = Talk().new("s").begin_prompt("s", "go").add(CANCEL)
    says_nothing("CAN-06", left)
    left.mark("cancelled", last=2)
    says_nothing("CAN-06", left)
    breaks("CAN-05", left)
    breaks("CAN-06", Talk().new("s").begin_prompt("s", "go").add(CANCEL).prompt("s"))


def test_can_07_an_abort_is_no_error() -> None:
    keeps("CAN-07", turn(CANCEL, reason="cancelled"))
    breaks("CAN-07", turn(ASK, CANCEL, NO, code=-32603))
    breaks("CAN-07", turn(CANCEL, code=-32603, message="The operation was aborted"))


def test_can_08_updates_after_a_cancel_come_before_the_answer() -> None:
    keeps("CAN-08", turn(CANCEL, says("s", "x"), reason="cancelled").call("session/list"))
    breaks("CAN-08", turn(CANCEL, reason="cancelled").add(says("s", "x")))


def test_can_09_a_client_takes_updates_after_its_cancel() -> None:
    late = update("s", "tool_call_update", toolCallId="c", status="failed")
    keeps("CAN-09", turn(CANCEL, late, reason="cancelled").new("t"), "client")
    breaks("CAN-09", turn(CANCEL, late, reason="cancelled").died(), "client")


def test_can_10_a_cancel_without_a_turn_spares_the_next() -> None:
    keeps("CAN-10", Talk().new("s").add(CANCEL).prompt("s"))
    breaks("CAN-10", Talk().new("s").add(CANCEL).prompt("s", reason="cancelled"))
    says_nothing("CAN-10", Talk().new("s").add(CANCEL).prompt("s", CANCEL, reason="cancelled"))


def test_can_11_a_cancel_for_nobody_is_ignored() -> None:
    nobody = client("session/cancel", {"sessionId": "x"})
    keeps("CAN-11", Talk().add(nobody).call("session/list"))
    breaks("CAN-11", Talk().add(nobody, agent(id=None, error={"code": 1, "message": "?"})))


def neighbours(reason: str, *, own_cancel: bool = False, cancelled_first: bool = True) -> Talk:
    talk = Talk().new("s").new("t").begin_prompt("s", "a").begin_prompt("t", "b").add(CANCEL)
    if cancelled_first:
        talk.answer({"stopReason": "cancelled"}, to=4)
    if own_cancel:
        talk.tell("session/cancel", {"sessionId": "t"})
    return talk.answer({"stopReason": reason}, to=5)


def test_can_12_the_neighbour_is_not_cancelled() -> None:
    keeps("CAN-12", neighbours("end_turn"))
    breaks("CAN-12", neighbours("cancelled"))
    keeps("CAN-12", neighbours("cancelled", own_cancel=True))
    says_nothing("CAN-12", neighbours("cancelled", own_cancel=True, cancelled_first=False))


def test_can_13_a_cancelled_session_can_be_used() -> None:
    keeps("CAN-13", turn(CANCEL, reason="cancelled").prompt("s"))
    breaks("CAN-13", turn(CANCEL, reason="cancelled").prompt("s", code=-32603))
    closed = turn(CANCEL, reason="cancelled").call("session/close", {"sessionId": "s"})
    says_nothing("CAN-13", closed.prompt("s", code=-32002))


def test_can_14_a_turn_that_ended_first_has_its_own_reason() -> None:
    keeps("CAN-14", turn(CANCEL, reason="max_tokens"))
    breaks("CAN-14", turn(CANCEL, reason="whatever"))
    says_nothing("CAN-14", turn(CANCEL, reason="cancelled"))


def test_can_15_requests_of_its_own_are_withdrawn() -> None:
    keeps("CAN-15", turn(ASK, CANCEL, agent("$/cancel_request", {"requestId": 70})))
    breaks("CAN-15", turn(ASK, CANCEL, agent("$/cancel_request", {"requestId": "70"})))


@every("requirement", ["CAN-06", "CAN-07", "CAN-08", "CAN-13"])
def test_a_turn_that_nobody_cancelled_says_nothing(requirement: str) -> None:
    says_nothing(requirement, turn().prompt("s"))


def test_only_the_first_of_two_waiting_prompts_must_be_cancelled() -> None:
    two = Talk().new("s").begin_prompt("s", "a").begin_prompt("s", "b").add(CANCEL)
    two.answer({"stopReason": "cancelled"}, to=3).answer({"stopReason": "end_turn"}, to=4)
    keeps("CAN-06", two)
