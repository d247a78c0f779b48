"""A trial of an agent, as `make interop` runs it, on an agent of ours with a fault of another."""

from __future__ import annotations

import asyncio
import sys
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.models import scripted_model
from dragoman.testing.pace import patience
from tests.interop.matrix.agent_trial import AgentTrial
from tests.interop.matrix.catalogue import CatalogueRow
from tests.interop.matrix.effects import Finding
from tests.interop.matrix.model import answer
from tests.interop.matrix.stage import MatrixStage

HERE = Path(__file__).parent / "python"


@asynccontextmanager
async def trial_of(
    program: str, folder: Path, *, pause: Callable[[float], Awaitable[object]] = asyncio.sleep, **fields: Any
) -> AsyncIterator[AgentTrial]:
    """A trial of an agent of this folder, with these fields in its row of the catalogue."""
    command = (Path(sys.executable).name, str(HERE / program))
    row = CatalogueRow(name="ours", title="Ours", npm=("ours@1.0.0",), command=command, **fields)
    async with scripted_model(answer, strict=False) as model:
        stage = MatrixStage(row, programs=Path(sys.executable).parent, folder=folder, model=model)
        yield AgentTrial(stage, seconds=patience(10), on_effect=lambda name, finding: None, pause=pause)


async def try_load(folder: Path, *, load_after: float) -> Finding:
    """The finding on an agent that names its files by the minute; a pause of a minute is none for us."""
    clock = folder / "home" / "minute"

    async def pause(seconds: float) -> None:
        clock.write_text(str(int(seconds // 60)))

    fields = {"files": {clock.name: "0"}, "load_after": load_after}
    async with trial_of("minute_agent.py", folder, pause=pause, **fields) as trial:
        return await trial.load()


@pytest.mark.bound(20)  # two processes, one after the other
async def test_an_agent_that_loses_a_session_that_is_loaded_in_its_first_minute_says_so(
    tmp_path: Path,
) -> None:
    finding = await try_load(tmp_path, load_after=0)
    assert finding.verdict == "no"
    assert "Invalid session identifier" in finding.evidence


@pytest.mark.bound(20)  # two processes, one after the other
async def test_the_load_waits_for_as_long_as_the_catalogue_says(tmp_path: Path) -> None:
    assert (await try_load(tmp_path, load_after=61)).verdict == "yes"


@pytest.mark.parametrize(("shell_lines", "verdict"), [(True, "yes"), (False, "no")])
async def test_a_line_for_a_shell_is_run_if_the_catalogue_says_so(
    shell_lines: bool, verdict: str, tmp_path: Path
) -> None:
    async with trial_of("line_agent.py", tmp_path, shell_lines=shell_lines) as trial:
        finding = await trial.alone(trial.command)
    assert finding.verdict == verdict


async def test_an_agent_that_repeats_the_number_of_version_2_and_speaks_version_1_is_a_no(
    tmp_path: Path,
) -> None:
    async with trial_of("parrot_agent.py", tmp_path) as trial:
        finding = await trial.v2()
    assert finding.verdict == "no"
    assert "says version 2 and speaks version 1" in finding.evidence


async def test_behind_the_hub_an_agent_is_started_in_the_work_folder(tmp_path: Path) -> None:
    async with trial_of("line_agent.py", tmp_path) as trial:
        settings = tomllib.loads(trial.hub_config)["agents"]["ours"]
    assert settings["cwd"] == str(tmp_path / "project")
    assert settings["env"]["HOME"] == str(tmp_path / "home")
