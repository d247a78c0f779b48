"""A session's files are looked at and committed through the hub."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from dragoman_hub.gate.admission import Grant
from tests.hub.lending.writer_stage import do, names, writer
from tests.hub.sessions.stage import Stage, Talker, staged

pytestmark = [
    pytest.mark.bound(60),  # each starts git some twenty times
    pytest.mark.usefixtures("patient_looks"),
]

COMMIT, PREVIEW = "_dragoman/hub/commit", "_dragoman/hub/commit/preview"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a person, an area in its messages, and a change that nobody has committed."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    folder = tmp_path / "project"
    (folder / "shop").mkdir(parents=True)
    git(tmp_path, "init", "--quiet", "-b", "main", str(folder))
    for number in range(3):
        (folder / "shop/stock.txt").write_text(f"{number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", f"shop: count to {number}")
    (folder / "shop/stock.txt").write_text("by hand\n")
    return folder


def paths(preview: dict[str, Any], name: str) -> list[str]:
    return [file["path"] for file in preview["files"] if file[name]]


async def turn(stage: Stage, project: Path) -> tuple[Talker, str]:
    client = await stage.client().begin()
    session = await client.new(str(project))
    await client.call("session/set_title", {"sessionId": session, "title": "Please add a till"})
    await do(client, session, "write shop/till.txt edit notes.txt")
    return client, session


async def test_what_the_turn_changed_is_chosen_proposed_and_committed(project: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client, session = await turn(stage, project)
        preview = await client.call(PREVIEW, {"sessionId": session})
        assert paths(preview, "isChosen") == paths(preview, "isOwn") == ["notes.txt", "shop/till.txt"]
        assert [file["path"] for file in preview["files"]] == ["notes.txt", "shop/stock.txt", "shop/till.txt"]
        chosen = {"sessionId": session, "paths": ["shop/till.txt"]}
        preview = await client.call(PREVIEW, chosen)
        assert (preview["message"], preview["branch"]) == ("shop: write shop/till.txt edit notes.txt", "main")
        done = await client.call(COMMIT, {**chosen, "message": "shop: till", "identity": preview["identity"]})
        assert git(project, "log", "-1", "--format=%h %s") == f"{done['short']} shop: till\n"
        assert await names(client, session) == ["notes.txt"]
        assert git(project, "status", "--porcelain") == " M shop/stock.txt\n?? notes.txt\n"


async def test_what_moved_since_the_preview_is_refused_and_nothing_is_lost(project: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client, session = await turn(stage, project)
        preview = await client.call(PREVIEW, {"sessionId": session})
        (project / "notes.txt").write_text("by hand\n")
        request = {"sessionId": session, "paths": paths(preview, "isChosen"), "message": "all"}
        why = await client.refusal(COMMIT, {**request, "identity": preview["identity"]})
        assert why["data"]["reason"] == "moved"
        assert await names(client, session) == ["notes.txt", "till.txt"]
        for bad in ("x", [1], [""], ["a\0"]):
            refusal = await client.refusal(PREVIEW, {"sessionId": session, "paths": bad})
            assert refusal["code"] == -32602, bad


async def test_a_hook_that_is_younger_than_the_session_is_pointed_at(project: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        client, session = await turn(stage, project)
        hook = project / ".git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
        preview = await client.call(PREVIEW, {"sessionId": session})
        assert preview["hooks"] == ["pre-commit"]
        assert "read " in preview["warnings"][0]
        assert str(hook) in preview["warnings"][0]


async def test_a_token_for_a_part_of_a_repository_commits_nothing_in_it(project: Path) -> None:
    async with staged({"one": writer}, changes=True) as stage:
        part = str(project / "shop")
        grant = Grant("part", frozenset({"prompt", "approve"}), roots=(part,))
        client = await stage.client(grant).begin()
        session = await client.new(part)
        why = await client.refusal(PREVIEW, {"sessionId": session})
        assert (why["code"], why["data"]) == (-32003, {"scope": "roots"})
