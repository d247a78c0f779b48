"""`dragoman attest`: of the lines that a commit adds, and of no prompt that nobody asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.memory_stage import MemoryStage
from tests.workspace.turns import commit_all, git

pytestmark = pytest.mark.bound(60)


def attested(stage: MemoryStage, *words: str) -> dict[str, Any]:
    done = stage.command("attest", "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_commit_is_attested_by_its_lines_and_prompts_stay_untold(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    (stage.folder / "a.py").write_text("was = 0\n")
    commit_all(stage.folder)
    stage.turn("a.py: made = 'by the agent'  # tested")
    with (stage.folder / "a.py").open("a") as file:
        file.write("typed = 'by a person'\n")
    commit_all(stage.folder)
    stage.turn("b.py: not committed", "--continue")
    found = attested(stage)
    assert (found["added"], found["lines"]) == (2, {"agent": 1, "command": 0, "person": 1, "unknown": 0})
    assert found["commit"] == git(stage.folder, "rev-parse", "HEAD").strip()
    assert [dict(found["sessions"][0]) | {"agent": ""}] == [
        {
            "session": "edits",
            "agent": "",
            "model": "acme/large-2",
            "turns": [1],
            "lines": 1,
            "approvals": 1,
            "checks": [{"turn": 1, "command": "make test", "outcome": "failed"}],
            "prompts": None,
        }
    ]
    # Rewritten history changes nothing, and neither does the line's later fate.
    (stage.folder / "a.py").write_text("was = 0\n")
    git(stage.folder, "commit", "-q", "--amend", "-m", "said otherwise")
    again = attested(stage, "HEAD~1..HEAD", "--prompts")
    assert again["lines"] == found["lines"]
    assert list(again["sessions"][0]["prompts"]) == ["1"]
    for words in ((), ("--format", "json"), ("--format", "trailer"), ("--format", "note")):
        said = stage.command("attest", *words).stdout
        assert "by the agent" not in said
        assert "make test" in said
    parted = git(stage.folder, "commit-tree", "HEAD~1^{tree}", "-p", "HEAD~1", "-m", "of others").strip()
    assert attested(stage, f"{parted}...HEAD")["base"] == git(stage.folder, "rev-parse", "HEAD~1").strip()
    trailers = stage.command("attest", "--format", "trailer").stdout.splitlines()
    assert trailers[0] == "Dragoman-Lines: agent 1, command 0, person 1, unknown 0"
    assert git(stage.folder, "for-each-ref", "refs/notes") == ""
    git(stage.folder, "config", "user.name", "a")
    git(stage.folder, "config", "user.email", "a@example.org")
    author = {"GIT_AUTHOR_NAME": "Bot", "GIT_AUTHOR_EMAIL": "bot@example.org"}
    assert stage.command("attest", "--format", "note", "--write", **author).returncode == 0
    assert git(stage.folder, "log", "-1", "--format=%an %cn", "refs/notes/dragoman").strip() == "Bot a"
    assert json.loads(git(stage.folder, "notes", "--ref", "dragoman", "show"))["lines"] == found["lines"]
    for words, status, told in (
        (("nonsense",), 1, "git can't read nonsense"),
        (("HEAD", "--write"), 2, "--format note --write"),
    ):
        done = stage.command("attest", *words)
        assert (done.returncode, told in done.stderr) == (status, True)
    record = json.loads(stage.command("blame", "a.py", "--format", "agent-trace").stdout)
    assert (record["version"], record["files"][0]["path"], "vcs" in record) == ("0.1", "a.py", False)
    git(stage.folder, "checkout", "-q", "a.py")
    record = json.loads(stage.command("blame", "a.py", "--format", "agent-trace").stdout)
    assert record["vcs"] == {"type": "git", "revision": git(stage.folder, "rev-parse", "HEAD").strip()}
    assert record["files"][0]["conversations"] == [
        {"contributor": {"type": "unknown"}, "ranges": [{"start_line": 1, "end_line": 1}]},
        {
            "url": "dragoman:/sessions/edits/turns/1",
            "contributor": {"type": "ai", "model_id": "acme/large-2"},
            "ranges": [{"start_line": 2, "end_line": 2}],
        },
        {"contributor": {"type": "human"}, "ranges": [{"start_line": 3, "end_line": 3}]},
    ]
