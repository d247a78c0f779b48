"""Subagents in the terminal client: one tree for each turn, and questions that say who asks for whom."""

from pathlib import Path

import pytest

from dragoman.schema import v1
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.tui.model.entries import NoteEntry
from dragoman_app.tui.ports import ChatRequest
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.quiet import Quiet
from tests.subagents.family import CHAIN, FAMILY, SHAPES, command

TREE = """Subagents:
✓ reviewer: done — reviewer heard allow.
  ✓ linter: done — linter heard allow.
    ✓ formatter: done — formatter heard allow."""


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_turn_shows_who_works_for_whom(shape: str, tmp_path: Path) -> None:
    house = LocalBackend(str(tmp_path), LocalRules(), record=False)
    quiet = Quiet()
    async with house.open(ChatRequest(agent=command(shape), cwd=str(tmp_path)), quiet, quiet) as chat:
        assert (await chat.turn([v1.TextContent(text="Go")])).stop_reason == "end_turn"
    assert "".join(quiet.words) == "I ask for help. answers: allow allow allow"
    questions = [question.text.splitlines()[0] for question in quiet.asked]
    assert len(questions) == len(FAMILY)
    trees = [entry.text for entry in quiet.transcript.entries if isinstance(entry, NoteEntry)]
    # Three that ask at once are asked about one after the other, in any order.
    assert sorted(question.rpartition(": ")[0] for question in questions) == sorted(CHAIN.values())
    assert trees == [TREE]
