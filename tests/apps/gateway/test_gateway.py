"""What a gateway leaves on disk: decisions, and nothing that was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.apps.gateway.report import TurnEvent
from dragoman.schema import v1
from tests.apps.gateway.stage import make_gateway


async def test_a_gateway_stores_its_decisions_and_nothing_that_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STATE", "CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    folder = tmp_path / "project"
    folder.mkdir()

    async def ignore(event: TurnEvent) -> None: ...

    async with make_gateway(folder) as gateway:
        session = await gateway.open_session(cwd=str(folder), owner="somebody")
        for text in ("pomegranate", "/ask new.txt"):
            await session.turn([v1.TextContent(text=text)], ignore)
    stored = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert any("new.txt" in text and "deny" in text for text in stored)
    assert not any("pomegranate" in text for text in stored)
