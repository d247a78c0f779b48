"""What counts as a repetition of what a turn has streamed."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect import streamed_text
from dragoman.dialect.streamed_text import StreamedText, StreamedTurns
from tests.every import every


def text(words: str) -> Any:
    return {"type": "text", "text": words}


def said(*words: str) -> StreamedText:
    turn = StreamedText()
    for chunk in words:
        turn.add(text(chunk))
    return turn


@every("final", ["one two three", "two three", "one ", " two", "three\n", ""])
def test_a_run_of_chunks_is_a_repetition(final: str) -> None:
    assert said("one ", "two ", "three").repeats([text(final)])


@every("final", ["ne two", "tw", "three four", "two one"])
def test_a_part_of_a_chunk_is_none(final: str) -> None:
    assert not said("one ", "two ", "three").repeats([text(final)])


def test_a_silent_turn_repeats_nothing() -> None:
    assert not StreamedText().repeats([text("a")])
    assert StreamedText().is_silent


def test_a_long_turn_is_compared_by_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed_text, "MOST_CHARACTERS", 10)
    turn = said("a" * 8, "b" * 8, "c" * 8)
    assert turn.repeats([text("a" * 8 + "b" * 8 + "c" * 8)])
    assert not turn.repeats([text("a" * 8 + "b" * 8)])


def test_sessions_keep_their_own_turns_and_nothing_between_them() -> None:
    turns = StreamedTurns()
    turns.begin("s")
    turns.add("s", text("a"))
    turns.add("t", text("a"))
    assert turns
    assert turns.end("s").repeats([text("a")])
    assert not turns
    assert turns.end("t").is_silent
