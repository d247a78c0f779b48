"""The terminal client with an agent on another machine: what changed there is told here, and put back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman.apps.chat.local_backend import LocalBackend
from dragoman.apps.chat.rules import ChatRules
from dragoman.schema import v1
from dragoman.tui.ports import ChatRequest
from tests.apps.chat.quiet import Quiet
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
    backend = LocalBackend(str(here), ChatRules(), place="ssh:there", maps=[f"{here}={there}"])
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
