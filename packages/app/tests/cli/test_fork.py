"""`dragoman fork`: another folder, the same past, and who goes on there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.memory_stage import MemoryStage

pytestmark = pytest.mark.bound(60)


def test_a_fork_has_the_files_and_the_words_of_its_turn_and_goes_on_with_any_agent(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    stage.agent += " --forks"
    stage.turn("a.py: made = 1")
    stage.turn("a.py: made = 2", "--continue")
    there = tmp_path / "there"
    for words, told in (
        (("--turn", "7"), "choose a turn from 1 to 2"),
        (("--worktree", str(tmp_path / "work" / "in")), "one of the two folders is in the other"),
        (("--prompt", "go on"), "name the agent with --agent"),
    ):
        refused = stage.command("fork", *words)
        assert refused.returncode == 1
        assert told in refused.stderr
    shown = stage.command("fork", "--turn", "1", "--worktree", str(there), "--dry-run")
    assert (shown.returncode, there.exists()) == (0, False)
    assert f"{there} would be as it was after turn 1: 1 file\n" in shown.stdout
    # From a turn that is not the last one: a brief of what was said until then.
    done = stage.command("fork", "--turn", "1", "--worktree", str(there), "--agent", stage.agent)
    assert "your next prompt brings a brief of it" in done.stdout
    go_on = shlex.split(done.stdout.partition("Next: ")[2])[1:-1]
    assert stage.command(*go_on, "--approve", "all", "b.py: other = 1").returncode == 0
    assert (there / "a.py").read_text() == "made = 1\n"
    assert (there / "b.py").read_text() == "other = 1\n"
    assert (stage.folder / "a.py").read_text() == "made = 1\nmade = 2\n"
    assert not (stage.folder / "b.py").exists()
    said = stage.command("sessions", "show", "last").stdout
    assert "made = 1" in said
    assert "made = 2" not in said
    assert [line["prompt"] for line in stage.blame(str(there / "a.py"))] == ["a.py: made = 1"]
    # From the last one: its agent forks the session.
    done = stage.command("fork", "--agent", stage.agent, "--json")
    report = json.loads(done.stdout)
    assert (report["conversation"], report["agent_session"], report["lost"]) == ("forked", "edits-fork", [])
    assert report["next"].endswith('--session edits-fork "…"')
    assert Path(report["folder"], "a.py").read_text() == "made = 1\nmade = 2\n"
    more = ("--cwd", report["folder"], "--agent", stage.agent, "--continue", "--approve", "all", "a.py: more")
    assert stage.command("run", *more).returncode == 0
    lines = stage.blame(str(Path(report["folder"], "a.py")))
    assert [(line["session"], line["turn"]) for line in lines] == [
        ("edits", 1),
        ("edits", 2),
        ("edits-fork", 1),
    ]
