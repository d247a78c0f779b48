"""A question has one id for the editor, whatever the hub calls it, and one answer."""

from __future__ import annotations

from dragoman.sdk.resumption.agent_questions import OVERHEAD, AgentQuestions


def test_the_same_name_is_the_same_question_on_every_connection() -> None:
    asked = AgentQuestions()
    first, new = asked.ask("s", "r", 5, 1)
    assert new
    asked.renew()
    again, new = asked.ask("s", "r", 9, 2)
    assert (again.number, again.hub_id, new) == (first.number, 9, False)
    other, new = asked.ask("t", "r", 10, 2)
    assert new
    assert other.number != first.number


def test_only_the_first_answer_counts_and_it_is_kept() -> None:
    asked = AgentQuestions()
    question, _ = asked.ask("s", "r", 5, 1)
    assert asked.answer(question.number, b"one") is question
    assert asked.answer(question.number, b"two") is None
    again, new = asked.ask("s", "r", 9, 2)
    assert (again.answer, new) == (b"one", False)
    assert asked.answer("0", b"never asked") is None


def test_the_oldest_answers_go_when_there_are_too_many() -> None:
    asked = AgentQuestions(room=3 * (OVERHEAD + 10))
    asked.ask("s", "open", 0, 1)
    for number in range(1, 6):
        question, _ = asked.ask("s", f"r{number}", number, 1)
        asked.answer(question.number, b"x" * 10)
    known = [name for name in ("open", "r1", "r2", "r3", "r4", "r5") if not asked.ask("s", name, 99, 2)[1]]
    assert known == ["open", "r3", "r4", "r5"]


def test_a_question_that_was_withdrawn_gets_its_last_answer_once() -> None:
    asked = AgentQuestions()
    question, _ = asked.ask("s", "r", 5, 1)
    assert asked.cancel(5) is question
    assert asked.answer(question.number, b"cancelled") is question
    assert asked.answer(question.number, b"cancelled") is None
    assert asked.cancel(5) is None


def test_an_id_of_an_earlier_connection_withdraws_nothing() -> None:
    asked = AgentQuestions()
    asked.ask("s", "r", 5, 1)
    asked.renew()
    assert asked.cancel(5) is None


def test_a_question_without_a_name_does_not_outlive_its_connection() -> None:
    asked = AgentQuestions()
    question, _ = asked.ask("s", "", 5, 1)
    asked.renew()
    assert asked.answer(question.number, b"late") is None


def test_a_closed_session_is_forgotten() -> None:
    asked = AgentQuestions()
    question, _ = asked.ask("s", "r", 5, 1)
    asked.forget("s")
    assert asked.answer(question.number, b"late") is None
    assert asked.ask("s", "r", 6, 1)[1]


def test_another_question_under_the_same_name_does_not_get_the_kept_answer() -> None:
    asked = AgentQuestions()
    question, _ = asked.ask("s", "58", 5, 1, b"may I read?")
    asked.answer(question.number, b'"result":"allow"')
    again, new = asked.ask("s", "58", 6, 2, b"may I read?")
    assert (again, new) == (question, False)
    other, new = asked.ask("s", "58", 7, 2, b"may I delete?")
    assert new
    assert other.answer is None
    assert other.number != question.number
    third, new = asked.ask("s", "58", 8, 2, b"may I write?")
    assert new
    assert asked.answer(other.number, b'"result":"allow"') is other, "the editor answers what it was asked"
    assert third.answer is None
