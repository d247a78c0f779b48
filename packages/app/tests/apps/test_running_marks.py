"""Whether a session still goes on is asked of the process that records it, not of what it last wrote."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.apps.running_marks import RunningMark, is_running
from tests.apps.run.run_process import DRAGOMAN, home, scripted
from tests.cli.held import Held

pytestmark = pytest.mark.bound(60)


def states(folder: Path) -> list[str]:
    done = subprocess.run(
        [*DRAGOMAN, "sessions", "list", "--json"],
        env=home(folder),
        cwd=folder,
        capture_output=True,
        check=True,
        timeout=patience(55),
    )
    return [session["state"] for session in json.loads(done.stdout)["sessions"]]


def test_a_turn_that_was_killed_does_not_run_any_more(tmp_path: Path) -> None:
    agent = scripted(tmp_path, f"agent slow\non prompt\n  save {tmp_path}/here yes\n  wait 600\n")
    held = Held([*DRAGOMAN, "run", "--agent", agent, "hello"], tmp_path)
    try:
        held.wait_for((tmp_path / "here").exists, "the turn")
        held.wait_for(lambda: states(tmp_path) == ["running"], "the record of the turn")
        held.process.kill()
        held.process.wait()
        assert states(tmp_path) == ["interrupted"]
    finally:
        held.close()


def test_a_mark_is_held_as_long_as_its_block_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not is_running("one")
    with RunningMark("one"):
        assert is_running("one")
        assert not is_running("two")
    assert not is_running("one")
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []
