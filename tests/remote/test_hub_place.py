"""An agent of the hub that lives elsewhere: people of the hub decide, and the deed is done there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dragoman.hub.agents.specs import command_of, specs_of
from dragoman.hub.settings import AgentSettings
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.remote.other_side import make_fake_docker


@pytest.fixture
def docker(tmp_path: Path, cache_here: Path, cache_there: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = make_fake_docker(tmp_path, cache_there)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_here))
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("DRAGOMAN_REMOTE_PYTHON", sys.executable)
    return tmp_path / "box"


@pytest.mark.bound(60)  # four processes of Python start, one behind the other
async def test_people_of_the_hub_permit_what_an_agent_does_elsewhere(docker: Path, tmp_path: Path) -> None:
    settings = AgentSettings(command=("dragoman", "agent", "echo"), place="docker:box", dialect="v1")
    async with staged({"one": obedient}, audit=str(tmp_path / "audit.jsonl")) as stage:
        stage.hub.pool.offer(specs_of({"far": settings}, tmp_path / "hosts"))
        stage.hub.default_agent = "far"
        client = await stage.client().begin()
        session = await client.new(str(docker))
        turn = client.prompt(session, f"/write {docker}/a.txt hello")
        question = await client.asked()
        assert (
            question["params"]["toolCall"]["title"] == f"Write {docker}/a.txt through the other side's files"
        )
        assert not (docker / "a.txt").exists()
        client.allow(question)
        assert (await client.answer(turn))["result"]["stopReason"] == "end_turn"
        assert client.texts()[-1] == "Written."
        assert (docker / "a.txt").read_text() == "hello"


def test_values_of_variables_are_not_on_the_command_line() -> None:
    settings = AgentSettings(command=("agent",), place="ssh:there", env={"KEY": "hush"}, allow=("OTHER",))
    words = command_of("far", settings)
    assert "hush" not in " ".join(words)
    assert words[words.index("ssh") :] == [
        *("ssh", "ssh:there", "--decide", "client", "--env", "KEY", "--env", "OTHER", "--", "agent")
    ]
