"""CRQ: `$/cancel_request`."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing

ASK = agent(
    "session/request_permission", {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []}, id=70
)
GONE = {"code": -32800, "message": "Cancelled"}


def take_back(number: Any) -> Said:
    return client("$/cancel_request", {"requestId": number})


def prompted(*frames: Said) -> Talk:
    """A prompt, which is request 3, and what came after it."""
    return Talk().new("s").begin_prompt("s", "go").add(*frames)


def asked(*frames: Said) -> Talk:
    """The agent asks, takes it back, and the client says something."""
    return (
        Talk()
        .new("s")
        .begin_prompt("s", "go")
        .add(ASK, agent("$/cancel_request", {"requestId": 70}), *frames)
    )


def test_crq_01_a_withdrawal_names_a_request_of_its_sender() -> None:
    keeps("CRQ-01", prompted(take_back(3)), "client")
    breaks("CRQ-01", prompted(take_back("3")), "client")
    breaks("CRQ-01", prompted(client("$/cancel_request", {"requestId": 3}, id=9)), "client")
    keeps("CRQ-01", asked())
    breaks("CRQ-01", prompted(agent("$/cancel_request", {"requestId": 3})))


def test_crq_02_a_withdrawal_is_not_answered() -> None:
    keeps("CRQ-02", prompted(take_back(3)).answer({"stopReason": "cancelled"}))
    breaks("CRQ-02", prompted(take_back(3), agent(id=None, error=GONE)))
    keeps("CRQ-02", asked(client(id=70, error=GONE)), "client")
    breaks("CRQ-02", asked(client(id=None, error=GONE)), "client")


def test_crq_03_what_was_taken_back_is_answered_once() -> None:
    keeps("CRQ-03", prompted(take_back(3)).answer(code=-32800))
    keeps("CRQ-03", prompted(take_back(3)).answer({"stopReason": "end_turn"}))
    breaks("CRQ-03", prompted(take_back(3)).answer(code=-32800).answer({"stopReason": "end_turn"}))
    breaks("CRQ-03", prompted(take_back(3)).answer(code=-32603, message="aborted"))
    breaks("CRQ-03", prompted(take_back(3)).mark("withdrawn", last=2))
    says_nothing("CRQ-03", prompted(take_back(3)))
    keeps("CRQ-03", asked(client(id=70, error=GONE)), "client")
    breaks("CRQ-03", asked(client(id=70, error=GONE), client(id=70, error=GONE)), "client")


def test_crq_04_updates_come_before_the_answer() -> None:
    cancelled = {"stopReason": "cancelled"}
    keeps("CRQ-04", prompted(take_back(3), says("s", "x")).answer(cancelled).call("session/list"))
    breaks("CRQ-04", prompted(take_back(3)).answer(cancelled).add(says("s", "x")))


def test_crq_05_what_was_cancelled_has_the_code_for_it() -> None:
    keeps("CRQ-05", prompted().answer(code=-32800))
    breaks("CRQ-05", prompted().answer(code=-32603, message="Request was cancelled"))
    says_nothing("CRQ-05", prompted().answer(code=-32603))
    breaks("CRQ-05", asked(client(id=70, error={"code": -32603, "message": "aborted"})), "client")


def test_crq_06_a_withdrawal_that_comes_late_does_nothing() -> None:
    def late() -> Talk:
        return prompted().answer({"stopReason": "end_turn"}).add(take_back(3))

    keeps("CRQ-06", late().call("session/list"))
    breaks("CRQ-06", late().answer(code=-32800))
    says_nothing("CRQ-06", late())


def test_crq_07_a_withdrawal_of_nothing_is_ignored() -> None:
    nothings: list[Any] = [4711, {}, None, "x"]
    for nothing in nothings:
        keeps("CRQ-07", Talk().add(take_back(nothing)).call("session/list"))
        breaks("CRQ-07", Talk().add(take_back(nothing), agent(id=None, error=GONE)))
    keeps("CRQ-07", Talk().add(client("$/cancel_request", {})).call("session/list"))


def test_crq_08_the_text_of_a_number_is_another_id() -> None:
    keeps("CRQ-08", prompted(take_back("3")).answer({"stopReason": "end_turn"}))
    breaks("CRQ-08", prompted(take_back("3")).answer({"stopReason": "cancelled"}))
    breaks("CRQ-08", prompted(take_back("3")).answer(code=-32800))
    meant = prompted(take_back("3")).tell("session/cancel", {"sessionId": "s"})
    keeps("CRQ-08", meant.answer({"stopReason": "cancelled"}))


def test_crq_09_a_withdrawn_prompt_is_cancelled() -> None:
    keeps("CRQ-09", prompted(take_back(3)).answer(code=-32800))
    keeps("CRQ-09", prompted(take_back(3)).answer({"stopReason": "cancelled"}))
    breaks("CRQ-09", prompted(take_back(3)).answer(code=-32603))
    says_nothing("CRQ-09", prompted(take_back(3)).answer({"stopReason": "end_turn"}))


def test_crq_10_a_withdrawn_question_is_cancelled() -> None:
    keeps("CRQ-10", asked(client(id=70, result={"outcome": {"outcome": "cancelled"}})), "client")
    chosen = {"outcome": {"outcome": "selected", "optionId": "y"}}
    breaks("CRQ-10", asked(client(id=70, result=chosen)), "client")


def test_crq_11_an_unknown_dollar_request_is_refused() -> None:
    keeps("CRQ-11", Talk().call("$/foo", {}, code=-32601))
    breaks("CRQ-11", Talk().call("$/foo", {}))
    keeps("CRQ-11", Talk().ask("$/foo", {}, code=-32601), "client")
    breaks("CRQ-11", Talk().ask("$/foo", {}), "client")
