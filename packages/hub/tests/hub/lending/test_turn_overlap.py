"""Whom a turn meets: exactly those that run at the same time in nearby folders."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_hub.gate.real_paths import RealPaths
from dragoman_hub.lending import folder_turn
from dragoman_hub.lending.named_files import NamedFiles
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_hub.lending.turn_overlap import TurnOverlap, TurnStay

FOLDERS = ("/", "/a", "/a/b", "/a/b/c", "/a/bc", "/d")


def named() -> NamedFiles:
    return NamedFiles("/", place="")


def is_near(one: list[str], two: list[str]) -> bool:
    def is_below(path: str, root: str) -> bool:
        return f"{path}/".startswith(f"{root.rstrip('/')}/")

    return any(is_below(a, b) or is_below(b, a) for a in one for b in two)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("enter"), st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=2)),
            st.tuples(st.just("leave"), st.integers(0, 9)),
        ),
        max_size=30,
    )
)
def test_a_turn_meets_whoever_runs_nearby_at_the_same_time(story: list[tuple[str, object]]) -> None:
    overlap = TurnOverlap()
    folders: dict[TurnStay, list[str]] = {}
    running: list[TurnStay] = []
    pairs: set[frozenset[TurnStay]] = set()
    for act, value in story:
        if isinstance(value, list):
            stay = overlap.enter("", value, named())
            pairs |= {frozenset((stay, other)) for other in running if is_near(value, folders[other])}
            folders[stay] = value
            running.append(stay)
        elif isinstance(value, int) and value < len(running):
            assert act == "leave"
            overlap.leave(running.pop(value))
    for stay in folders:
        expected = {id(other.named) for pair in pairs if stay in pair for other in pair - {stay}}
        assert {id(files) for files in stay.others()} == expected
        assert stay.was_alone == (not expected)
    for stay in running:
        overlap.leave(stay)
    assert len(overlap) == 0


def test_folders_of_two_machines_are_never_nearby() -> None:
    overlap = TurnOverlap()
    here, there = overlap.enter("", ["/a"], named()), overlap.enter("ssh:host", ["/a"], named())
    assert here.was_alone
    assert there.was_alone


def test_what_nobody_can_ask_for_any_more_is_gone() -> None:
    """In a folder in which some turn is always running."""
    overlap = TurnOverlap()
    last = overlap.enter("", ["/a"], named())
    for _ in range(50):
        stay = overlap.enter("", ["/a"], named())
        overlap.leave(last)
        last.forget_others()
        last = stay
    gc.collect()
    assert sum(type(item) is TurnStay for item in gc.get_objects()) <= 3


async def test_turns_that_begin_at_once_in_one_folder_share_the_look_at_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = RealPaths()
    looks: list[str] = []
    look = paths._look

    def look_once(path: str) -> None:
        looks.append(path)
        look(path)

    monkeypatch.setattr(paths, "_look", look_once)
    monkeypatch.setattr(folder_turn, "real_paths", paths)
    changes = TurnChanges(is_enabled=True)
    await changes.open()
    await asyncio.gather(*(changes.begin(f"s{number}", "k", [str(tmp_path)]) for number in range(20)))
    assert len(looks) < 10, "a look may end just when somebody asks for it"
    await changes.aclose()
