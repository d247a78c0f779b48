"""Refusals are counted by frames, per session, until the frames are acknowledged."""

from __future__ import annotations

from dragoman_hub.agents.refusals import PREFIX, Refusals


def test_a_refusal_counts_for_its_session_alone_and_for_frames_up_to_it() -> None:
    refusals = Refusals({})
    assert refusals.add("a", 7)
    assert refusals.has("a", 7)
    assert refusals.has("a", 6)
    assert not refusals.has("a", 8)
    assert not refusals.has("b", 7)
    assert not refusals.has("", 7)
    assert refusals.add("a", 7) == "", "the host would take it for the same refusal"


def test_the_next_hub_knows_what_the_host_counts() -> None:
    before = Refusals({})
    taken = {"session": 3, before.add("a", 7): 7, before.add("", 9): 9}
    refusals = Refusals(taken)
    assert refusals.has("a", 7)
    assert refusals.has("", 9)
    assert not refusals.has("session", 3), "a stream's own numbers are not frames"


def test_what_is_acknowledged_is_forgotten() -> None:
    refusals = Refusals({})
    first, second = refusals.add("a", 7), refusals.add("b", 9)
    assert refusals.take_acknowledged(8) == [first]
    assert not refusals.has("a", 7)
    assert refusals.has("b", 9)
    assert refusals.take_acknowledged(9) == [second]


def test_names_for_the_host_are_short_whatever_an_agent_calls_a_session() -> None:
    stream = Refusals({}).add("\ud800" + "x" * 100_000, 1)
    assert stream.startswith(PREFIX)
    assert len(stream) < 50
