"""Every world of a few scopes: the very code of the session, in every order in which things can happen."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest

from dragoman_hub.session import state
from dragoman_hub.session.checkpoint import read_checkpoint, state_at, write_checkpoint
from tests.house import COUNTED
from tests.hub.explore.__main__ import main
from tests.hub.explore.explorer import explore
from tests.hub.explore.invariants import check_state
from tests.hub.explore.model import Model
from tests.hub.explore.planted_bugs import PLANTED, planted
from tests.hub.explore.scopes import AT_LEAST, LARGE_SCOPES, SCOPES, SLOW_SCOPES
from tests.hub.explore.story import shrink, tell
from tests.hub.explore.world import HubWorld, Scope

QUICK_SCOPES = tuple(name for name in SCOPES if name not in SLOW_SCOPES)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", [QUICK_SCOPES, pytest.param(SLOW_SCOPES, marks=pytest.mark.slow)], ids=len)
def test_the_session_keeps_its_promises_in_every_world(
    names: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    worlds = moves = resting = steps = 0
    seconds = 0.0
    for name in names:
        result = explore(SCOPES[name])
        assert result.found is None, f"{name}\n{tell(shrink(result.found))}"
        assert result.is_exhausted
        worlds, moves, resting = worlds + result.worlds, moves + result.moves, resting + result.resting
        steps, seconds = steps + result.steps, seconds + result.seconds
    record_property(
        COUNTED,
        f"explored {worlds:,} distinct states of the hub's session in {len(names)} scopes, all of them: "
        f"{moves:,} transitions, {resting:,} states at rest, {steps:,} steps, {seconds:.0f} s",
    )
    assert worlds >= AT_LEAST


@pytest.mark.in_turn("answers")
@pytest.mark.parametrize("answers", [0, 1])
def test_answers_that_the_state_forgets_are_found_in_the_journal(answers: int) -> None:
    with patch.object(state, "ANSWERS", answers):
        result = explore(Scope(cut=2, crash=1, fail=1, again=1))
    assert result.found is None, tell(shrink(result.found))
    assert result.is_exhausted


def all_worlds(model: Model) -> set[HubWorld]:
    worlds: set[HubWorld] = {model.first()}
    level = list(worlds)
    while level:
        reached = {
            world
            for before in level
            for actions in model.moves(before)
            for action in actions
            if (world := model.perform(before, action)) is not None
        }
        level = list(reached - worlds)
        worlds |= reached
    return worlds


def test_a_world_is_told_from_every_other_one_by_its_hash() -> None:
    model = Model(Scope(crash=1))
    worlds = all_worlds(model)
    assert len(worlds) == len({hash(world) for world in worlds}) == explore(model.scope).worlds


def test_a_checkpoint_says_what_the_entries_before_it_say() -> None:
    model = Model(Scope(ask=1, fail=1, release=1))
    all_worlds(model)
    for number in set(model.tables.folded):
        folded = model.tables.states[number]
        checkpoint = read_checkpoint(write_checkpoint(folded))
        assert checkpoint is not None
        check_state(state_at(folded.id, checkpoint), folded)


def test_the_command_counts_what_it_has_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--most", "100", "--processes", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [*LARGE_SCOPES, *SCOPES]
    assert lines[-1].endswith(f"distinct states in {len(lines) - 1} scopes")


def test_the_command_tells_a_story_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    bug = next(bug for bug in PLANTED if bug.name == "a prompt is accepted during a close")
    with planted(bug):
        assert main(["--most", "300", "--processes", "1"]) == 1
    assert f"=> {bug.promise}: " in capsys.readouterr().out


def test_an_exploration_can_be_stopped() -> None:
    result = explore(next(iter(LARGE_SCOPES.values())), most=1000)
    assert result.found is None
    assert not result.is_exhausted
    assert result.worlds >= 1000
    assert "stopped" in str(result)
