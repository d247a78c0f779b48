"""The lab itself, small: its data are fixed, its truth holds on disk, its judge can say no."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forks import for_commands
from tests.lab_memory.judge import Answer, blame, goals, judge, verdict
from tests.lab_memory.lab import Lab, all_rows
from tests.lab_memory.model import BEFORE, COLLEAGUE, PERSON, Line, Origin
from tests.lab_memory.pretender import MISTAKES, Pretender
from tests.lab_memory.rewinds import OutOfBounds, prepared
from tests.lab_memory.run import SMALL, is_as_committed, known_digests
from tests.lab_memory.stage import MODULES, Stage
from tests.lab_memory.world import World

PROMPTS = {(1, 1): "Add a sum", (2, 1): "Add a table"}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    forks = for_commands(*MODULES)
    try:
        yield Stage(tmp_path / "world", forks)
    finally:
        forks.close()


def test_the_worlds_are_those_that_were_fixed_before_the_code() -> None:
    turns, lines = SMALL
    assert set(known_digests(turns, lines)) == set(known_digests(300, 10_000)) == set("12345")
    assert [seed for seed in range(1, 6) if not is_as_committed(World(seed, turns=turns, lines=lines))] == []
    changed = World(1, turns=turns, lines=lines)
    changed.before = {**changed.before, "src/first.py": changed.before["src/first.py"][:-1]}
    assert not is_as_committed(changed)


def test_what_the_model_says_is_what_real_turns_leave_on_disk(stage: Stage) -> None:
    world = World(1, turns=3, lines=150)
    lab = Lab(world, stage, lambda text: None)
    lab.play()
    assert stage.differences(world.before) == []
    lab.ask("before", all_rows(world.before), least=0.99)
    (control, careful), figures = lab.tables[0]
    assert 0 < control.right < 1
    assert control.right < careful.right
    assert control.stolen > careful.stolen
    assert figures is not None
    assert goals(figures, least=0.99) == [], figures.examples
    some = next(iter(world.before))
    assert blame(stage, some, "--lines", "2,3") == blame(stage, some)[1:3]


@pytest.mark.parametrize(
    ("origin", "answer", "expected"),
    [
        (Origin("agent", 1, 1), Answer("agent", "Add a sum"), "right"),
        (Origin("agent", 1, 1), Answer("command", "Add a sum"), "right turn, wrong hand"),
        (Origin("agent", 1, 1), Answer("agent", "Add a table"), "another turn's"),
        (Origin("command", 2, 1), Answer("agent"), "another turn's"),
        (Origin("command", 2, 1), Answer("unknown"), "unknown"),
        (Origin("agent", 1, 1), Answer("person"), "a turn's, given to a person"),
        (PERSON, Answer("person"), "right"),
        (PERSON, Answer("unknown"), "unknown"),
        (PERSON, Answer("command", "Add a sum"), "a person's, given to a turn"),
        (BEFORE, Answer("unknown"), "right, not seen"),
        (COLLEAGUE, Answer("agent", "Add a sum"), "a person's, given to a turn"),
    ],
)
def test_one_line_is_judged_by_who_wrote_it(origin: Origin, answer: Answer, expected: str) -> None:
    assert verdict(origin, answer, PROMPTS) == expected


def test_an_examination_fails_by_one_stolen_line_among_many() -> None:
    lines = [Line("a = 1", Origin("agent", 1, 1))] * 999 + [Line("b = 1", PERSON)]
    answers = [Answer("agent", "Add a sum")] * 1000
    figures = judge("all", {"a.py": lines}, {"a.py": answers}, PROMPTS)
    assert figures.right_turn == 1
    assert goals(figures, least=0.99) == ["all: 1 lines of people were given to a turn"]
    unsure = [Answer("unknown")] * 40 + answers[40:999] + [Answer("person")]
    assert len(goals(judge("all", {"a.py": lines}, {"a.py": unsure}, PROMPTS), least=0.99)) == 2


def test_the_trial_of_rewinds_finds_each_mistake_and_no_other(tmp_path: Path) -> None:
    world = World(3, turns=3, lines=150)
    stage = Pretender(tmp_path / "world", world)
    trial = prepared(world, stage, lambda text: None)
    trial.run(2, typed=1)
    assert trial.failures == []
    found = set()
    for mistake in MISTAKES:
        stage.mistake = mistake
        try:
            trial.run(2, typed=mistake == "a typed line")
        except OutOfBounds:
            (stage.root / "outside/canary.txt").write_text("sings\n", encoding="utf-8")
        found |= {mistake} if trial.failures else set()
        trial.failures.clear()
    assert found == set(MISTAKES)
