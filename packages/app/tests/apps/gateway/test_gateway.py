"""What a gateway leaves on disk, decisions and nothing that was said; and what it tells of errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import CallFailed, PeerDied
from dragoman.schema import v1
from dragoman_app.apps.gateway.report import TurnEvent
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


async def test_what_looks_like_a_secret_in_an_agents_last_words_is_not_told(tmp_path: Path) -> None:
    key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
    async with make_gateway(tmp_path) as gateway:
        died = gateway.explain(PeerDied("agent", returncode=3, stderr=f"401 for {key}"))
        failed = gateway.explain(CallFailed(-32603, f"quota of {key} used up", method="session/prompt"))
    assert "401 for" in str(died.message)
    assert key not in f"{died.message} {failed.message}"
