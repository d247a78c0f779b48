"""A trial of an agent, as `make interop` runs it, on an agent of ours with a fault of another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman.testing.models import scripted_model
from dragoman.testing.pace import patience
from tests.interop.matrix.agent_trial import AgentTrial
from tests.interop.matrix.catalogue import CatalogueRow
from tests.interop.matrix.effects import Finding
from tests.interop.matrix.model import answer
from tests.interop.matrix.stage import MatrixStage

MINUTE_AGENT = Path(__file__).parent / "python" / "minute_agent.py"


async def try_load(folder: Path, *, load_after: float) -> Finding:
    """The finding on an agent that names its files by the minute; a pause of a minute is none for us."""
    row = CatalogueRow(
        name="minute",
        title="Minute",
        npm=("minute@1.0.0",),
        command=(Path(sys.executable).name, str(MINUTE_AGENT)),
        files={"minute": "0"},
        load_after=load_after,
    )
    async with scripted_model(answer, strict=False) as model:
        stage = MatrixStage(row, programs=Path(sys.executable).parent, folder=folder, model=model)

        async def pause(seconds: float) -> None:
            (stage.home / "minute").write_text(str(int(seconds // 60)))

        trial = AgentTrial(stage, seconds=patience(10), on_effect=lambda name, finding: None, pause=pause)
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
