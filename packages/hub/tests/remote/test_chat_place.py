"""The terminal client with an agent on another machine: what changed there is told here, and put back."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman_app.apps.chat.hub_backend import HubBackend
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.apps.target import Overrides
from dragoman_app.tui.ports import ChatRequest
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.quiet import Quiet
from tests.hub.outside.process import HubProcess
from tests.remote.other_side import SshServer, needs_sshd


@pytest.fixture
def folders(tmp_path: Path, server: SshServer, cache_here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for kind in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_here))
    monkeypatch.setenv("DRAGOMAN_SSH_CONFIG", str(server.config()))
    monkeypatch.setenv("DRAGOMAN_REMOTE_PYTHON", sys.executable)
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    return tmp_path


@needs_sshd
@pytest.mark.bound(60)  # four processes of Python start, one behind the other
async def test_a_chat_tells_what_changed_on_the_other_side_and_puts_it_back(folders: Path) -> None:
    here, there = folders / "here", folders / "there"
    (there / "a.txt").write_text("before\n")
    backend = LocalBackend(str(here), LocalRules(), Overrides(place="ssh:there", maps=[f"{here}={there}"]))
    quiet = Quiet()
    async with backend.open(ChatRequest(agent="echo", cwd=str(here)), quiet, quiet) as chat:
        await chat.look()
        turn = await chat.turn([v1.TextContent(text=f"/write {there}/a.txt after")])
        assert turn.stop_reason == "end_turn"
        assert len(quiet.asked) == 1
        review = await chat.review()
        assert review is not None
        (file,) = review.files
        assert (file.path, file.kind) == (str(here / "a.txt"), "modified")
        assert "-before\n+after" in str(file.diff)
        await review.revert(file.path)
        assert (there / "a.txt").read_text() == "before\n"
        await chat.look()
        await chat.turn([v1.TextContent(text="nothing")])
        again = await chat.review()
        assert again is not None
        assert list(again.files) == []
    assert list(here.iterdir()) == []


class _ReachingHub(HubProcess):
    """One that is told how to reach the other side."""

    @property
    def env(self) -> dict[str, str]:
        names = ("DRAGOMAN_SSH_CONFIG", "DRAGOMAN_REMOTE_PYTHON")
        return {**super().env, **{name: os.environ[name] for name in names}}


@needs_sshd
@pytest.mark.bound(90)  # a hub and four processes of Python start, one behind the other
async def test_a_chat_through_a_hub_tells_what_changed_on_the_other_side(folders: Path) -> None:
    there, here = folders / "there", folders / "nowhere"
    (there / "a.txt").write_text("before\n")
    hub = _ReachingHub(folders)
    words = json.dumps([sys.executable, "-m", "dragoman", "agent", "echo"])
    maps = json.dumps([f"{here}={there}"])
    place = f'[agents.far]\ncommand = {words}\nplace = "ssh:there"\nmap = {maps}\n'
    hub.config.write_text(f'durability = "off"\ndefault_agent = "echo"\n{place}')
    hub.start()
    try:
        backend = HubBackend(str(here), LocalRules(), url=f"ws://{hub.place}/acp", headers=hub.headers)
        far = next(choice for choice in await backend.agents() if choice.name == "far")
        assert far.detail == "on ssh:there"
        quiet = Quiet()
        async with backend.open(ChatRequest(agent="far", cwd=str(here)), quiet, quiet) as chat:
            turn = await chat.turn([v1.TextContent(text=f"/write {there}/a.txt after")])
            assert (turn.stop_reason, len(quiet.asked)) == ("end_turn", 1)
            review = await chat.review()
            assert review is not None
            assert [(file.path, file.kind) for file in review.files] == [(str(here / "a.txt"), "modified")]
            assert list(await chat.files("")) == []
            with pytest.raises(LocalMistake, match="are on ssh:there: open them there"):
                await chat.read_file("a.txt")
            await review.revert(str(here / "a.txt"))
        assert (there / "a.txt").read_text() == "before\n"
    finally:
        hub.stop()
