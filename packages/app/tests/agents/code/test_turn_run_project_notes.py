"""What the model is told before everything else: the system prompt, and the notes of the project."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import CallFailed
from dragoman.testing.models import turn
from tests.agents.code.coder_runs import coding

pytestmark = pytest.mark.bound(30)


async def told(folder: Path, **more: Any) -> str:
    async with coding([turn("Ok.")], folder, **more) as coder:
        await coder.prompt("Hi")
    return coder.model.requests[0].system


async def test_the_notes_of_the_project_are_read(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / ".cursorrules").write_text("Never force-push.\n")
    system = await told(tmp_path)
    assert f"# Notes of the project, from {tmp_path}/AGENTS.md\n\nUse tabs." in system
    assert system.count("Use tabs.") == 1, "what is said twice is told once"
    assert "Never force-push." in system


async def test_a_note_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert "hidden" not in await told(tmp_path / "project")


async def test_a_changed_note_counts_from_the_next_turn_on(tmp_path: Path) -> None:
    async with coding([turn("A."), turn("B.")], tmp_path) as coder:
        await coder.prompt("Hi")
        (tmp_path / "AGENTS.md").write_text("Use tabs.")
        await coder.prompt("Hi")
    assert ["Use tabs." in request.system for request in coder.model.requests] == [False, True]


async def test_the_system_prompt_is_a_file_that_can_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("You are a poet.")
    system = await told(tmp_path, system=str(tmp_path / "mine.md"))
    assert system.startswith("You are a poet.")
    assert "coding agent" not in system
    assert str(tmp_path) in system, "where it works is told all the same"


async def test_a_system_prompt_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CallFailed, match=r"none\.md cannot be read: No such file"):
        await told(tmp_path, system=str(tmp_path / "none.md"))
