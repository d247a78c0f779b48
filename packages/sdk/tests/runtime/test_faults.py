"""Exceptions become wire errors, and their text stays here."""

from __future__ import annotations

import asyncio
import logging

import pytest

from dragoman.errors import CallFailed, DragomanError, ErrorAnswer, LinkClosed, NotAdvertised
from dragoman.runtime.faults import to_error
from tests.every import every

SECRET = "sk-12345"


@every(
    "error",
    [
        RuntimeError(SECRET),
        KeyError(SECRET),
        OSError(2, SECRET),
        DragomanError(SECRET),
        LinkClosed(SECRET),
        CallFailed(-32000, SECRET, {"key": SECRET}),
        NotAdvertised(SECRET, SECRET),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_is_an_internal_error_without_a_word(error: Exception) -> None:
    made = to_error(error, "m")
    assert (made.code, made.message) == (-32603, "Internal error")
    assert SECRET not in repr(made)


def test_the_text_is_in_our_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        to_error(RuntimeError(SECRET), "session/prompt")
    assert SECRET in caplog.text
    assert "session/prompt" in caplog.text


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (LinkClosed("gone"), False),
        (ExceptionGroup("tasks", [LinkClosed("gone"), ExceptionGroup("more", [LinkClosed("gone")])]), False),
        (ExceptionGroup("tasks", [LinkClosed("gone"), ValueError("wrong")]), True),
    ],
)
def test_tasks_that_only_lost_their_connection_are_no_failure(
    error: Exception, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert to_error(error, "m").code == -32603
    assert bool(caplog.records) is is_told


def test_an_error_answer_is_as_its_author_wanted_it() -> None:
    made = to_error(ErrorAnswer(-32001, "so it is", {"a": [1, None]}), "m")
    assert (made.code, made.message, made.data) == (-32001, "so it is", {"a": [1, None]})


def test_a_cancellation_has_a_code_of_its_own() -> None:
    assert to_error(asyncio.CancelledError(), "m").code == -32800


@pytest.mark.parametrize("error", [ErrorAnswer("-32000", "no"), ErrorAnswer(-32000, 7)])  # type: ignore[arg-type]
def test_an_error_answer_that_is_none_on_the_wire_is_an_internal_error(error: ErrorAnswer) -> None:
    assert to_error(error, "m").code == -32603
