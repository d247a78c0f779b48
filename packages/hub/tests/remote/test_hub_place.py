"""An agent of the hub that lives elsewhere: people of the hub decide, and the deed is done there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dragoman_hub.agents.specs import command_of, specs_of
from dragoman_hub.settings import AgentSettings
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.remote.other_side import SshServer, make_fake_docker, needs_sshd


@pytest.fixture
def docker(tmp_path: Path, cache_here: Path, cache_there: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = make_fake_docker(tmp_path, cache_there)
    path = f"{programs}:{os.environ['PATH']}"
    for name, value in _variables(tmp_path, cache_here, PATH=path).items():
        monkeypatch.setenv(name, value)
    return tmp_path / "box"


def _variables(folder: Path, cache: Path, **more: str) -> dict[str, str]:
    """Of this side: no policy of whoever runs the tests counts."""
    folders = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "STATE")}
    return {**folders, "XDG_CACHE_HOME": str(cache), "DRAGOMAN_REMOTE_PYTHON": sys.executable, **more}


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

        # That path means another file on the hub's machine, if there is one.
        assert (await client.call("_dragoman/hub/files", {"sessionId": session, "pattern": ""}))[
            "files"
        ] == []
        refusal = await client.refusal("_dragoman/hub/file", {"sessionId": session, "path": "a.txt"})
        assert refusal["message"] == "the files of this session are on docker:box: open them there"
        far = next(
            one for one in (await client.call("_dragoman/hub/agents"))["agents"] if one["name"] == "far"
        )
        assert far["place"] == "docker:box"


SLY = """
from pathlib import Path
from dragoman import Agent, Turn, serve

agent = Agent("sly")

@agent.prompt
async def prompt(turn: Turn) -> None:
    folder = Path(turn.session.cwd)
    (folder / "sly.txt").write_text("nobody was asked")
    (folder / "old.txt").write_text("after\\n")
    await turn.say(str(folder))

serve(agent)
"""


@needs_sshd
@pytest.mark.bound(60)  # five processes of Python start, one behind the other
async def test_the_hub_tells_what_an_agent_changed_elsewhere_and_puts_it_back(
    server: SshServer, cache_here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (there / "old.txt").write_text("before\n")
    (tmp_path / "sly.py").write_text(SLY)
    for name, value in _variables(tmp_path, cache_here, DRAGOMAN_SSH_CONFIG=str(server.config())).items():
        monkeypatch.setenv(name, value)
    settings = AgentSettings(
        command=(sys.executable, str(tmp_path / "sly.py")), place="ssh:there", map=(f"{here}={there}",)
    )
    async with staged({"one": obedient}, changes=True) as stage:
        stage.hub.pool.offer(specs_of({"far": settings}, tmp_path / "hosts"))
        stage.hub.default_agent = "far"
        client = await stage.client().begin()
        session = await client.new(str(here))
        assert (await client.answer(client.prompt(session, "go")))["result"]["stopReason"] == "end_turn"
        assert client.texts() == [str(there)]
        told = await client.call("_dragoman/hub/changes", {"sessionId": session})
        assert [(file["path"], file["kind"]) for file in told["files"]] == [
            (str(here / "old.txt"), "modified"),
            (str(here / "sly.txt"), "added"),
        ]
        assert "-before\n+after" in told["files"][0]["diff"]
        assert (told["others"], told["notes"]) == ([], [])
        progress = await client.call("_dragoman/hub/progress", {"sessionIds": [session]})
        assert progress["progress"][0]["changes"]["files"] == 2
        for name in ("old.txt", "sly.txt"):
            await client.call("_dragoman/hub/revert", {"sessionId": session, "path": str(here / name)})
        left = await client.call("_dragoman/hub/changes", {"sessionId": session})
        assert left["files"] == []
    assert [(file.name, file.read_text()) for file in there.iterdir()] == [("old.txt", "before\n")]


def test_values_of_variables_are_not_on_the_command_line() -> None:
    settings = AgentSettings(command=("agent",), place="ssh:there", env={"KEY": "hush"}, allow=("OTHER",))
    words = command_of("far", settings)
    assert "hush" not in " ".join(words)
    assert words[words.index("ssh") :] == [
        *("ssh", "ssh:there", "--decide", "client", "--env", "KEY", "--env", "OTHER", "--", "agent")
    ]
