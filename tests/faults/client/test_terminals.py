"""Commands that run for an agent: what they are given, what is kept of them, and that they end."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.faults.client.cases import cases, fault
from tests.faults.client.faulty_run import (
    AT_ONCE,
    WELL,
    Folder,
    Result,
    Run,
    complete,
    complete_in_fork,
    running,
)
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide()

ALL = ("--approve", "all")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One turn in which an agent that may do everything tries all of it."""
    place = tmp_path_factory.mktemp("terminals")
    (Folder(place).work / "link-out").symlink_to("/etc")
    env = {"MY_API_KEY": "hunter2"}
    return asyncio.run(complete("terminals", "terminals", place, *ALL, env=env))


def facts(run: Result, name: str) -> list[Any]:
    assert (run.status, run.text) == (0, WELL), (run.events, run.err)
    found = [note[name] for note in run.folder.notes if name in note]
    assert found
    return found


@fault("CTE-01")
def test_shell_syntax_in_arguments_is_text(fault: str, tried: Run) -> None:
    (done,) = facts(tried, fault)
    evil = ["; touch evil-1", "$(touch evil-2)", "`touch evil-3`", "| touch evil-4", "> evil-5", "a\nb", "*"]
    assert done["output"] == "".join(f"[{text}]" for text in evil)
    assert list(tried.folder.work.glob("evil*")) == []


@fault("CTE-02")
def test_shell_syntax_in_a_command_with_arguments_is_not_run(fault: str, tried: Run) -> None:
    (answer,) = facts(tried, fault)
    assert "error" in answer
    assert list(tried.folder.work.glob("evil*")) == []


@fault("CTE-04")
def test_much_output_is_cut_at_a_character(fault: str, tried: Run) -> None:
    (done,) = facts(tried, fault)
    assert done["truncated"] is True
    assert 0 < len(done["output"].encode()) <= 1000
    assert set(done["output"]) <= set("é😀漢")
    assert done["ended"]["exitCode"] == 0


@fault("CTE-10")
def test_what_cannot_be_started_is_refused(fault: str, tried: Run) -> None:
    for name, answer in facts(tried, fault):
        assert "error" in answer, name


@cases({"CTE-X07": 4, "CTE-X08": 4, "CTE-X13": 5, "CTE-X14": 1})
def test_what_makes_no_sense_is_refused(fault: str, case: int, tried: Run) -> None:
    codes = facts(tried, fault)
    assert len(codes) == case
    assert None not in codes


@cases({"CTE-11": 4, "CTE-X03": 16})
def test_a_terminal_of_somebody_else_is_none(fault: str, case: int, tried: Run) -> None:
    (codes,) = facts(tried, fault)
    assert len(codes) == case
    assert None not in codes


@fault("CTE-X02")
def test_a_killed_terminal_still_tells_and_a_released_one_does_not(fault: str, tried: Run) -> None:
    ((killed, ended, again),) = facts(tried, fault)
    assert killed is None
    assert ended["signal"] in ("SIGTERM", "SIGKILL")
    assert again[:3] == [None, None, None]
    assert None not in again[3:]


@fault("CTE-X04")
def test_forty_terminals_at_once(fault: str, tried: Run) -> None:
    ((ends, released),) = facts(tried, fault)
    assert ends == [0] * 40
    assert released == [None] * 40


@fault("CTE-X06")
def test_secrets_are_not_handed_to_commands(fault: str, tried: Run) -> None:
    (done,) = facts(tried, fault)
    assert "PATH=" in done["output"]
    assert "hunter2" not in done["output"]


@fault("CTE-X09")
def test_output_that_is_no_text_is_shown_as_some(fault: str, tried: Run) -> None:
    (done,) = facts(tried, fault)
    assert "ABC" in done["output"]
    assert done["ended"]["exitCode"] == 0


@fault("CTE-X10")
def test_every_limit_has_an_answer(fault: str, tried: Run) -> None:
    found = facts(tried, fault)
    assert len(found) == 5
    assert found[1] != "made"
    assert found[4] == "made"


@fault("CTE-X11")
def test_a_signal_is_named(fault: str, tried: Run) -> None:
    assert [ended["signal"] for ended in facts(tried, fault)] == ["SIGKILL"]


@fault("CTE-X12")
def test_a_command_has_nothing_to_read(fault: str, tried: Run) -> None:
    (done,) = facts(tried, fault)
    assert (done["output"], done["ended"]["exitCode"]) == ("", 0)


@fault("CTE-X15")
def test_a_command_runs_where_it_was_told_to(fault: str, tried: Run) -> None:
    (done,) = facts(tried, fault)
    assert done["output"].strip() == str(tried.folder.work)


@fault("CTE-05")
@together
async def test_endless_output_costs_no_memory(fault: str, tmp_path: Path) -> None:
    run = await complete("terminals", fault, tmp_path, *ALL)
    assert run.status == 0
    assert run.growth <= 48
    assert run.folder.noted("truncated") is True


@cases({"CTE-07": 3, "CTE-X05": 4})
@together
async def test_a_released_terminal_takes_its_children_along(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete_in_fork("terminals", fault, tmp_path, *ALL)
    assert run.status == 0
    assert run.folder.noted("alive") >= case
    assert run.folder.noted("released") is None
    assert run.folder.noted("left") == 0


@cases({"CTE-08": 0, "CTE-X01": 9})
@together
async def test_a_terminal_ends_with_the_run(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete_in_fork("terminals", fault, tmp_path, *ALL)
    assert run.status == case


@cases({"CTE-X16": signal.SIGTERM, "CTE-X19": signal.SIGKILL})
@together
async def test_a_terminal_ends_with_a_client_that_is_ended(fault: str, case: int, tmp_path: Path) -> None:
    async with running("terminals", "CTE-X16", tmp_path, *ALL, *AT_ONCE) as run:
        await run.noted("working")
        run.peer.send_signal(case)
        await run.peer.wait(seconds=10)
        await run.gone(seconds=5)


@fault("CTE-X17")
@together
async def test_calls_in_any_order_are_all_answered(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("terminals", fault, tmp_path, *ALL)
    assert run.status == 0
    assert facts(run, "ids") == [[0, 1, 2, 3, 4, 5]] * 20


@fault("CTE-X18")
@together
async def test_no_command_runs_without_permission(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("terminals", fault, tmp_path)
    assert run.folder.noted("refused") is not None
    assert not (run.folder.work / "evil").exists()
    assert run.status == 7
