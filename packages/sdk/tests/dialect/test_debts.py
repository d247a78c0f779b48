"""Who waits for which answer."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialect.debts import OwnIds, PendingRequests


def test_a_debt_is_settled_once() -> None:
    debts: PendingRequests[str] = PendingRequests()
    debts.owe(1, "initialize")
    assert debts.look(1) == "initialize"
    assert debts.settle(1) == "initialize"
    assert debts.settle(1) is None
    assert debts.look(1) is None


def test_ids_that_look_alike_are_different_and_null_is_an_id() -> None:
    debts: PendingRequests[str] = PendingRequests()
    debts.owe(1, "a number")
    debts.owe("1", "a text")
    debts.owe(None, "null")
    assert debts.items() == [(1, "a number"), ("1", "a text"), (None, "null")]
    assert debts.settle("1") == "a text"
    assert debts.settle(None) == "null"
    assert len(debts) == 1


def test_a_message_without_an_id_owes_nothing() -> None:
    debts: PendingRequests[str] = PendingRequests()
    debts.owe(UNSET, "a notification")
    assert len(debts) == 0
    assert debts.settle(UNSET) is None
    assert debts.look(UNSET) is None


def test_a_second_request_under_an_open_id_replaces_the_first() -> None:
    debts: PendingRequests[str] = PendingRequests()
    debts.owe(1, "first")
    debts.owe(1, "second")
    assert debts.settle(1) == "second"
    assert len(debts) == 0


def test_own_ids_are_all_different() -> None:
    ids = OwnIds("ask")
    assert [ids.next(), ids.next(), ids.next()] == ["ask-1", "ask-2", "ask-3"]
