"""Stories that an exploration has told: what went wrong once, in the fewest steps, and must not again.

Each belongs to a planted bug. With the bug the promise breaks, so the story is still one of this model;
without it, all ends well.
"""

from __future__ import annotations

import pytest

from tests.hub.explore.planted_bugs import PLANTED, planted
from tests.hub.explore.story import replay
from tests.hub.explore.world import Action

TO_AGENT = "store, learn, do, start, store, learn, do"
"""A prompt that was accepted reaches the agent."""

STORIES = {
    "a refused prompt counts as a failed turn after a crash": "prompt 0, fail",
    "the journal does not say that the agent was told to close the session": (
        f"close 0, do, closed, store, learn, do, prompt 0, {TO_AGENT}"
    ),
    "a process is bound to a session that is being closed": (
        "die, gone, prompt 0, store, learn, do, start, close 0, store, learn, do, loaded, do, closed, "
        f"store, learn, do, prompt 1, {TO_AGENT}"
    ),
    "a prompt that has its answer is refused while the session is forgotten": (
        "prompt 0, cut 0, close 0, store, learn, do, do, do, closed, retry 0"
    ),
    "a deleted session is there again after a crash": (
        "close 1, store, learn, do, closed, store, crash, restart, prompt 0, store"
    ),
    "a request that is open when the turn ends gets no answer": (
        f"prompt 0, {TO_AGENT}, ask, hear, reply, hear, store, learn, do"
    ),
    "the journal does not say that a quiet session was closed in its agent": (
        "release, do, prompt 0, store, crash, restart, do, start, store, learn, do"
    ),
}


def actions_of(story: str) -> list[Action]:
    """`close 1` is a delete; what is about a client has its number."""
    words = [action.split() for action in story.split(", ")]
    return [(name, *map(int, arguments)) for name, *arguments in words]


@pytest.mark.parametrize(("name", "story"), STORIES.items(), ids=list(STORIES))
def test_a_story_ends_well(name: str, story: str) -> None:
    bug = next(bug for bug in PLANTED if bug.name == name)
    with planted(bug):
        broken = replay(bug.scope, actions_of(story))
    assert broken is not None
    assert broken.name == bug.promise
    assert replay(bug.scope, actions_of(story)) is None
