"""Terminals of a story."""

from __future__ import annotations

from dragoman_check.conversation import Conversation
from dragoman_check.terminals import observed_terminals
from tests.check.rules.test_terminals import DONE, console


def test_a_terminal_has_everything_that_was_asked_about_it() -> None:
    talk = console().made(outputByteLimit=5).output().do("wait_for_exit", DONE).do("release")
    (one,) = observed_terminals(Conversation(talk.recording))
    assert [call.method for call in one.calls] == [
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/release",
    ]
    assert one.limit == 5
    assert one.release is not None
    ended = one.exit()
    assert ended is not None
    assert ended.message["result"] == DONE


def test_an_id_that_is_given_again_names_another_terminal() -> None:
    talk = console().made().do("release").made().output()
    first, second = observed_terminals(Conversation(talk.recording))
    assert [call.method for call in first.calls] == ["terminal/release"]
    assert [call.method for call in second.calls] == ["terminal/output"]


def test_a_terminal_that_was_refused_is_none() -> None:
    assert observed_terminals(Conversation(console().made(code=-32603).output().recording)) == []
