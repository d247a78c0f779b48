"""What the oracle takes for a loss, and what not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.hub.simulate.oracle import Oracle, StreamReading
from tests.hub.simulate.records import Segment
from tests.hub.simulate.world import World

TWICE = ["ann-1#1", "ann-1#2", "ann-1#1", "ann-1#2", "ann-1#3"]


def judged(session: str, texts: list[str], *, deleted: set[str], said: list[str]) -> list[str]:
    """What is found in the stream of a session in which `ann-1` has ended, a prompt of `source`."""
    found: list[str] = []
    world: Any = SimpleNamespace(
        story=SimpleNamespace(find=found.append),
        book=SimpleNamespace(said={"ann-1": said}),
        prompts={"ann-1": ("source", "ann-1 say")},
    )
    oracle = Oracle(cast(World, world))
    oracle.deleted = deleted
    reading = StreamReading([])
    reading.texts, reading.ends = texts, {"ann-1": ["result end_turn"]}
    oracle._judge_stream(session, reading)
    return found


@pytest.mark.parametrize("texts", [TWICE[:2], TWICE[2:], TWICE])
def test_a_fork_has_one_run_or_all_of_a_prompt_that_ran_again_after_its_session_was_deleted(
    texts: list[str],
) -> None:
    assert judged("fork", texts, deleted={"source"}, said=TWICE) == []


def test_a_fork_that_has_a_part_of_a_run_has_lost_something() -> None:
    assert judged("fork", TWICE[:1], deleted={"source"}, said=TWICE)


def test_a_prompt_of_a_session_that_was_not_deleted_runs_once() -> None:
    assert judged("source", TWICE[:2], deleted=set(), said=TWICE)


SAID = ["ann-1#1", "ann-1#2", "ann-1#3", "ann-1#4"]


@pytest.mark.parametrize(
    ("earlier", "texts", "is_loss"),
    [
        ([], SAID, False),
        (SAID[1:2], [SAID[2], *SAID], False),
        ([], [*SAID[:2], *SAID], False),
        (SAID[:1], [*SAID, *SAID], True),
        ([], [*SAID, *SAID, *SAID], True),
        (SAID[1:2], [SAID[3], *SAID], True),
        (SAID[1:2], [SAID[2], *SAID[1:]], True),
        ([], [SAID[2], SAID[3], SAID[2]], True),
    ],
)
def test_only_updates_that_continue_what_was_heard_may_precede_a_replay(
    earlier: list[str], texts: list[str], is_loss: bool
) -> None:
    found: list[str] = []
    world: Any = SimpleNamespace(story=SimpleNamespace(find=found.append), prompts={})
    before = Segment("begun", "one", 0.0)
    before.texts = earlier
    segment = Segment("session/load", "one", 0.0, earlier=before)
    segment.texts = texts
    segment.is_followed = True
    client: Any = SimpleNamespace(name="ann")
    Oracle(cast(World, world))._judge_segment(client, segment, SAID, is_known=True)
    assert bool(found) == is_loss


@pytest.mark.parametrize(
    ("tail", "is_loss"), [(SAID[2:], False), (SAID, False), (SAID[2:][::-1], True), (SAID + SAID, True)]
)
@pytest.mark.parametrize("was_closed", [True, False])
def test_a_session_that_was_closed_and_loaded_again_is_heard_on_without_asking(
    tail: list[str], is_loss: bool, was_closed: bool
) -> None:
    found: list[str] = []
    world: Any = SimpleNamespace(story=SimpleNamespace(find=found.append), prompts={})
    segment = Segment("session/load", "one", 0.0)
    segment.texts = [*tail, *SAID]
    oracle = Oracle(cast(World, world))
    oracle.closed = {"one": 1.0} if was_closed else {}
    client: Any = SimpleNamespace(name="ann")
    oracle._judge_segment(client, segment, SAID, is_known=True)
    assert bool(found) == (is_loss or not was_closed)
