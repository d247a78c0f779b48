"""What a session has besides its conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman.hub import extras
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged


async def test_a_folder_that_is_too_large_costs_one_turn_a_moment_and_the_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []

    async def endless(folders: Any) -> None:
        looks.append(folders)
        await asyncio.Event().wait()

    monkeypatch.setattr("dragoman.workspace.changes.take_snapshot", endless)
    monkeypatch.setattr(extras, "SNAPSHOT_SECONDS", 0.0)
    async with staged({"one": obedient}, changes=True) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        for _ in range(2):
            answer = await client.answer(client.prompt(session, "say 1"))
            assert answer["result"]["stopReason"] == "end_turn"
        assert (await client.call("_dragoman/hub/changes", {"sessionId": session}))["files"] == []
    assert looks == [[str(tmp_path)]]
