"""What counts as a yes, and to whom it is never given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.client.cases import cases, fault
from tests.faults.client.faulty_run import WELL, Folder, Result, complete_in_fork

pytestmark = pytest.mark.bound(60)


def allowed(answer: Any) -> bool:
    outcome = answer.get("outcome")
    return isinstance(outcome, dict) and outcome.get("optionId") in ("yes", "always", "same")


def each_not_allowed(answer: Any) -> bool:
    answers = answer if isinstance(answer, list) else [answer]
    return bool(answers) and not any(map(allowed, answers))


def is_once(answer: Any) -> bool:
    return bool(answer == {"outcome": {"outcome": "selected", "optionId": "yes"}})


def is_no(answer: Any) -> bool:
    return bool(answer == {"outcome": {"outcome": "selected", "optionId": "no"}})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Result]:
    """The same questions of an agent, with each way to approve; each is asked once."""
    found: dict[str, Result] = {}

    def run(approve: str) -> Result:
        if approve not in found:
            place = tmp_path_factory.mktemp(approve)
            (Folder(place).work / "file.txt").write_text("before")
            found[approve] = asyncio.run(complete_in_fork("permission", approve, place, "--approve", approve))
        return found[approve]

    return run


@cases(
    {
        "CPE-01": each_not_allowed,
        "CPE-02": each_not_allowed,
        "CPE-04": each_not_allowed,
        "CPE-05": each_not_allowed,
        "CPE-X03": each_not_allowed,
        "CPE-X04": is_once,
        "CPE-X05": each_not_allowed,
        "CPE-X08": is_once,
        "CPE-X15": is_once,
    }
)
def test_what_a_client_that_approves_everything_answers(
    fault: str, case: Callable[[Any], bool], runs: Callable[[str], Result]
) -> None:
    run = runs("all")
    assert (run.status, run.text) == (0, WELL)
    assert case(run.folder.noted(fault)), run.folder.noted(fault)


@cases({"CPE-07": each_not_allowed, "CPE-X16": each_not_allowed, "CPE-X17": each_not_allowed})
def test_what_a_client_that_denies_everything_answers(
    fault: str, case: Callable[[Any], bool], runs: Callable[[str], Result]
) -> None:
    run = runs("none")
    asked = {"CPE-X16": "CPE-X04", "CPE-X17": "CPE-X15"}.get(fault, fault)
    assert case(run.folder.noted(asked)), run.folder.noted(asked)
    assert run.folder.noted("written") is False
    assert (run.folder.work / "file.txt").read_text() == "before"
    assert run.status == 7


@cases(
    {
        "CPE-X06": lambda answers: is_once(answers[0]) and is_no(answers[1]),
        "CPE-X07": is_no,
        "CPE-X10": is_once,
        "CPE-X11": each_not_allowed,
        "CPE-X12": each_not_allowed,
        "CPE-X18": is_no,
    }
)
def test_what_a_client_that_approves_reading_answers(
    fault: str, case: Callable[[Any], bool], runs: Callable[[str], Result]
) -> None:
    run = runs("reads")
    asked = {"CPE-X18": "CPE-X15"}.get(fault, fault)
    assert case(run.folder.noted(asked)), run.folder.noted(asked)
    assert (run.folder.work / "file.txt").read_text() == "before"
    assert run.status == 7


@fault("CPE-X02")
async def test_a_hundred_questions_at_once_have_a_hundred_answers(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("permission", fault, tmp_path)
    assert run.text == WELL
    assert run.folder.noted("answered") == list(range(100))
    assert all(map(is_no, run.folder.noted("decided")))


@cases({"CPE-X01": "late", "CPE-X13": "early"})
async def test_outside_of_a_turn_no_more_is_permitted_than_in_it(
    fault: str, case: str, tmp_path: Path
) -> None:
    run = await complete_in_fork("permission", fault, tmp_path)
    assert run.text == WELL
    if case == "early" or any(case in note for note in run.folder.notes):
        assert each_not_allowed(run.folder.noted(case)), run.folder.noted(case)


@fault("CPE-X09")
async def test_a_question_of_an_agent_that_died_is_forgotten(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("permission", fault, tmp_path, "--approve", "all")
    assert (run.status, run.outcome) == (9, "agent_died")


@fault("CPE-X14")
async def test_a_question_that_nobody_answers_ends_the_run(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("permission", fault, tmp_path, "--approve", "all")
    assert (run.status, run.outcome) == (6, "question_open")
    assert [event["action"] for event in run.events if event["event"] == "question"] == ["open"]
