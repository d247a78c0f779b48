"""A cancel at any point: the turn ends as cancelled, what was begun is brought to an end, nothing is left."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman.schema.v1 import ReadTextFileRequest, ReadTextFileResponse
from tests.agents.review.ground import APP, APP_FINDINGS, Editor, Told, make_repository, reviewing, say
from tests.house import children

pytestmark = pytest.mark.bound(50)  # real tools are started, on a machine that may be busy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.mark.parametrize(
    "when", [1, 4, 8, 12, *(pytest.param(when, marks=pytest.mark.slow) for when in (2, 6, 10, 14))]
)
async def test_after_any_update(folder: Path, when: int) -> None:
    (folder / "src" / "app.py").write_text(APP + "\n\ndef last(items=[]):\n    return items\n")
    async with reviewing(folder) as (_, session):
        turn = session.prompt("review my changes")
        updates = []
        async for update in turn:
            updates.append(update)
            if len(updates) == when:
                await session.cancel()
        told = Told(updates, turn.result.stop_reason)
        assert told.stop == "cancelled"
        assert set(told.ends.values()) <= {"completed", "failed"}
        assert not [
            name for name in children().values() if "worker" in name or "ruff" in name or "git" in name
        ]
        assert (await say(session, "review tools/get.sh")).stop == "end_turn"


async def test_while_the_editor_does_not_answer(folder: Path) -> None:
    editor = Editor()
    asked = asyncio.Event()

    @editor.client.read_text_file
    async def never(request: ReadTextFileRequest) -> ReadTextFileResponse:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with reviewing(folder, editor) as (_, session):
        turn = asyncio.ensure_future(say(session, "review src"))
        await asked.wait()
        await session.cancel()
        told = await turn
        assert told.stop == "cancelled"
        assert told.ends["Read 2 files"] == "failed"


async def test_what_was_told_before_keeps_its_numbers(folder: Path) -> None:
    async with reviewing(folder) as (_, session):
        turn = session.prompt("review src/app.py")
        text = ""
        async for piece in turn.texts():
            if not text:
                await session.cancel()
            text += piece
        assert turn.result.stop_reason == "cancelled"
        assert "**1. " in text
        explained = await say(session, "explain 1")
        assert any(f"`{rule}`" in explained.text for rule, _, _ in APP_FINDINGS)
