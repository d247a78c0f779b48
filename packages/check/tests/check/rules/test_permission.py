"""PERM: questions and their answers."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing
from tests.every import every

OPTIONS: list[dict[str, Any]] = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
QUESTION: dict[str, Any] = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": OPTIONS}
CANCEL = client("session/cancel", {"sessionId": "s"})
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def ask(id: Any = 77, **more: Any) -> Said:
    return agent("session/request_permission", {**QUESTION, **more}, id=id)


def chosen(option: Any = "yes", id: Any = 77) -> Said:
    return client(id=id, result={"outcome": {"outcome": "selected", "optionId": option}})


def turn(*frames: Said) -> Talk:
    return Talk().new("s").prompt("s", *frames)


@every(
    "wrong",
    [
        {"sessionId": None},
        {"toolCall": {}},
        {"toolCall": "c"},
        {"options": 5},
        {"options": [{"optionId": "a", "name": "x"}]},
        {"options": ["yes"]},
    ],
)
def test_perm_01_and_02_a_question_is_whole(wrong: dict[str, Any]) -> None:
    keeps("PERM-01", turn(ask(), chosen()))
    keeps("PERM-02", turn(ask(), chosen()))
    breaks("PERM-02", turn(ask(**wrong)))


def test_perm_03_options_are_of_four_kinds() -> None:
    keeps("PERM-03", turn(ask(), chosen()))
    breaks("PERM-03", turn(ask(options=[{**OPTIONS[0], "kind": "allow"}])))


def test_perm_04_options_have_ids_of_their_own() -> None:
    keeps("PERM-04", turn(ask(), chosen()))
    breaks("PERM-04", turn(ask(options=[])))
    breaks("PERM-04", turn(ask(options=[OPTIONS[0], OPTIONS[0]])))


@every("wrong", [{}, {"outcome": "selected"}, {"outcome": {"outcome": "selected"}}, {"outcome": {}}])
def test_perm_05_an_answer_is_an_outcome(wrong: dict[str, Any]) -> None:
    keeps("PERM-05", turn(ask(), chosen()), "client")
    keeps("PERM-05", turn(ask(), client(id=77, result=CANCELLED)), "client")
    breaks("PERM-05", turn(ask(), client(id=77, result=wrong)), "client")


def test_perm_06_the_chosen_option_was_offered() -> None:
    keeps("PERM-06", turn(ask(), chosen()), "client")
    breaks("PERM-06", turn(ask(), chosen("allow_once")), "client")


def test_perm_07_a_cancel_answers_open_questions() -> None:
    keeps("PERM-07", turn(ask(), CANCEL, client(id=77, result=CANCELLED)), "client")
    breaks("PERM-07", turn(ask(), CANCEL, chosen()), "client")
    says_nothing("PERM-07", turn(ask(), chosen(), CANCEL), "client")
    breaks("PERM-07", turn(ask(), CANCEL).prompt("s"), "client")


def test_perm_07_what_the_agent_took_back_may_be_an_error() -> None:
    taken_back = agent("$/cancel_request", {"requestId": 77})
    error = client(id=77, error={"code": -32800, "message": "No."})
    says_nothing("PERM-07", turn(ask(), CANCEL, taken_back, error), "client")


def test_perm_11_a_question_belongs_to_a_turn() -> None:
    keeps("PERM-11", turn(ask(), chosen()))
    breaks("PERM-11", turn().add(ask(), chosen()))
    breaks("PERM-11", turn(ask(sessionId="other"), chosen()))
    breaks("PERM-11", turn(agent("session/request_permission", QUESTION)))


def test_perm_12_several_questions_are_open_at_once() -> None:
    talk = turn(ask(1), ask(2), chosen(id=2), chosen(id=1))
    keeps("PERM-12", talk)
    keeps("PERM-12", talk, "client")
    says_nothing("PERM-12", turn(ask(1), chosen(id=1), ask(2), chosen(id=2)))
    breaks("PERM-12", turn(ask(1), ask(2), chosen(id=2)).prompt("s"), "client")
    failed = Talk().new("s").prompt("s", ask(1), ask(2), chosen(id=2), chosen(id=1), code=-32603)
    breaks("PERM-12", failed)


def test_perm_14_a_stranger_gets_no_permission() -> None:
    keeps("PERM-14", turn(ask(sessionId="other"), client(id=77, result=CANCELLED)), "client")
    breaks("PERM-14", turn(ask(sessionId="other"), chosen()), "client")
    says_nothing("PERM-14", turn(ask(), chosen()), "client")


def test_a_question_of_version_2_has_a_title() -> None:
    def asked(**params: Any) -> Talk:
        talk = Talk({"session": {}}, version=2).new("s")
        return talk.ask(
            "session/request_permission", {"sessionId": "s", "options": OPTIONS, **params}, CANCELLED
        )

    keeps("PERM-02", asked(title="May I?"))
    breaks("PERM-02", asked())
