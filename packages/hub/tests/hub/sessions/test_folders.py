"""The folders of a session besides its own: those of the last who loaded it, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged

pytestmark = pytest.mark.bound(25)


async def test_folders_are_not_brought_back_by_a_load_without_them(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    (other / "note.txt").write_text("next door")
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        wide = {"cwd": str(mine), "mcpServers": [], "additionalDirectories": [str(other)]}
        session = (await client.call("session/new", wide))["sessionId"]
        await client.answer(client.prompt(session, f"read {other}/note.txt"))
        assert client.texts() == ["next door"]
        await stage.crash()
        await stage.start()
        again = await stage.client().begin()
        narrow = {"sessionId": session, "cwd": str(mine), "mcpServers": []}
        await again.call("session/load", narrow)
        answer = await again.answer(again.prompt(session, f"read {other}/note.txt"))
        assert "error" in answer
        await again.call("session/load", {**narrow, "additionalDirectories": [str(other)]})
        await again.answer(again.prompt(session, f"read {other}/note.txt"))
        assert again.texts()[-1] == "next door"
