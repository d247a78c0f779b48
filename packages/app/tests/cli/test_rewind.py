"""`dragoman rewind`: shows, refuses, goes back, and forth again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.memory_stage import MemoryStage

pytestmark = pytest.mark.bound(60)


def test_what_a_person_wrote_is_not_lost_without_force(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    file, own = stage.folder / "a.py", stage.folder / "own.py"
    file.write_text("was = 0\n")
    stage.turn("a.py: made = 1")
    stage.turn("a.py: made = 2", "--continue")
    after = file.read_text()
    for words, told in (
        (("--to", "0"), "counted from 1"),
        ((), "is missing"),
        (("--to", "7"), "choose a turn from 1 to 2"),
        (("nobody", "--to", "1"), "no session"),
        (("--undo",), "no rewind"),
        (("--undo", "--to", "1"), "leave --to and the steps out"),
    ):
        done = stage.command("rewind", *words)
        assert done.returncode in (1, 2)
        assert told in done.stderr
    shown = stage.command("rewind", "--to", "2", "--dry-run")
    assert (shown.returncode, file.read_text()) == (0, after)
    assert "would be as it was before turn 2: 1 file\n" in shown.stdout
    assert stage.command("rewind", "--to", "2").returncode == 0
    assert file.read_text() == "was = 0\nmade = 1\n"
    assert (
        "All files are as they were before turn 2" in stage.command("rewind", "--to", "2", "--dry-run").stdout
    )
    assert stage.command("rewind", "--undo").returncode == 0
    assert file.read_text() == after
    file.write_text(f"{after}typed = 3\n")
    own.write_text("typed = 4\n")
    refused = stage.command("rewind", "--to", "1")
    assert (refused.returncode, file.read_text()) == (1, f"{after}typed = 3\n")
    assert "2 files changed since, by a person" in refused.stderr
    done = stage.command("rewind", "edits", "--to", "1", "--force", "--json")
    report = json.loads(done.stdout)
    assert (report["done"], report["turn"], report["failures"]) == (True, 1, [])
    assert sorted(step["path"] for step in report["files"][str(stage.folder)]) == ["a.py", "own.py"]
    assert (file.read_text(), own.exists()) == ("was = 0\n", False)
    assert stage.command("rewind", "--undo").returncode == 0
    assert (file.read_text(), own.read_text()) == (f"{after}typed = 3\n", "typed = 4\n")
    assert [line["by"] for line in stage.blame("a.py")] == ["unknown", "agent", "agent", "person"]


def test_what_no_turn_announced_is_not_lost_without_force(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    made, own = (stage.folder / name for name in ("a.py", "own.py"))
    stage.turn("? own.py: typed = 1\na.py: made = 1")
    refused = stage.command("rewind", "--to", "1")
    assert (refused.returncode, own.read_text()) == (1, "typed = 1\n")
    assert refused.stderr.count("own.py") == 1
    assert "1 file changed since" in refused.stderr
    assert flags(stage) == {"a.py": False, "own.py": True}
    assert stage.command("rewind", "--to", "1", "--force").returncode == 0
    assert (made.exists(), own.exists()) == (False, False)


def test_what_comes_right_after_the_answer_is_not_lost_without_force(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    late = stage.folder / "late.py"
    stage.turn("a.py: made = 1\n$ echo built > built.txt\n! late.py: typed = 2")
    refused = stage.command("rewind", "--to", "1")
    assert (refused.returncode, late.read_text()) == (1, "typed = 2\n")
    assert flags(stage) == {"a.py": False, "built.txt": False, "late.py": True}
    shown = stage.command("rewind", "--to", "1", "--dry-run").stdout
    assert "built.txt  (changed while a command ran" in shown
    assert "late.py  (changed by a person" in shown
    assert [line["by"] for line in stage.blame("late.py")] in (["unknown"], ["person"])


def flags(stage: MemoryStage) -> dict[str, bool]:
    """The files that a rewind to before the first turn would change, and whether it asks for them."""
    shown = json.loads(stage.command("rewind", "--to", "1", "--dry-run", "--json").stdout)
    return {step["path"]: step["is_persons"] for step in shown["files"][str(stage.folder)]}


def test_files_go_back_to_before_one_step_of_a_turn(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    first, second, made = (stage.folder / name for name in ("a.py", "b.py", "made.txt"))
    first.write_text("was = 0\n")
    first.chmod(0o755)
    stage.turn("a.py: one = 1\nb.py: two = 2\n$ echo made > made.txt\na.py: three = 3")
    after = first.read_text()
    listed = stage.command("rewind", "--to", "1", "--steps", "--json")
    steps = json.loads(listed.stdout)["steps"]
    assert [(step["number"], step["title"]) for step in steps] == [
        (1, "Edit a.py"),
        (2, "Edit b.py"),
        (3, "Edit a.py"),
    ]
    assert steps[2]["paths"] == [str(first)]
    assert "   2  Edit b.py" in stage.command("rewind", "--to", "1", "--steps").stdout
    for words, told in (
        (("--to", "1", "--step", "4"), "has no step 4"),
        (("--to", "1", "--step", "0"), "has no step 0"),
        (("--step", "1"), "use --to TURN"),
        (("--undo", "--step", "1"), "leave --to and the steps out"),
        (("--to", "1", "--step", "1", "--conversation"), "whole turns"),
    ):
        refused = stage.command("rewind", *words)
        assert refused.returncode in (1, 2)
        assert told in refused.stderr
    assert stage.command("rewind", "--to", "1", "--step", "3", "--dry-run").returncode == 0
    assert first.read_text() == after
    done = stage.command("rewind", "--to", "1", "--step", "3")
    assert (done.returncode, first.read_text()) == (0, "was = 0\none = 1\n")
    assert "is as it was before step 3 of turn 1: 1 file\n" in done.stdout
    assert stage.command("rewind", "--to", "1", "--step", "2").returncode == 0
    assert (first.read_text(), second.exists()) == ("was = 0\none = 1\n", False)
    assert (made.read_text(), first.stat().st_mode & 0o777) == ("made\n", 0o755)  # no step made it
    assert stage.command("rewind", "--undo").returncode == 0
    assert second.read_text() == "two = 2\n"
    assert stage.command("rewind", "--undo").returncode == 0
    assert first.read_text() == after
    first.write_text(f"{after}typed = 4\n")
    refused = stage.command("rewind", "--to", "1", "--step", "1")
    assert (refused.returncode, first.read_text()) == (1, f"{after}typed = 4\n")


def test_the_agent_is_told_once_that_its_files_were_put_back(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    stage.turn("a.py: made = 1")
    stage.turn("b.py: made = 2", "--continue")
    assert stage.command("rewind", "--to", "2").returncode == 0
    assert stage.command("rewind", "--undo").returncode == 0
    stage.turn("a.py: nothing to tell", "--continue")
    assert stage.command("rewind", "--to", "2").returncode == 0
    stage.turn("a.py: told = 1", "--continue")
    said = stage.command("sessions", "show", "last").stdout
    assert "back to before turn 2 of edits. Changed: a.py, b.py." in said
    stage.turn("a.py: told = 2", "--continue")
    assert "put files back" not in stage.command("sessions", "show", "last").stdout
    back = json.loads(stage.command("rewind", "--to", "3", "--conversation", "--json").stdout)
    before = stage.command("sessions", "show", back["conversation"]).stdout
    assert ("made = 2" in before, "nothing to tell" in before) == (True, False)
    assert stage.command("rewind", "--undo").returncode == 0
    assert (stage.folder / "a.py").read_text() == "made = 1\ntold = 1\ntold = 2\n"


def test_what_was_put_back_is_forgotten_with_its_session(tmp_path: Path) -> None:
    stage = MemoryStage(tmp_path)
    (stage.folder / "a.py").write_text("was = 0\n")
    stage.turn("a.py: made = 1")
    assert stage.command("rewind", "--to", "1").returncode == 0
    assert stage.command("rewind", "--undo").returncode == 0
    with closing(sqlite3.connect(tmp_path / "data" / "dragoman" / "memory.db")) as store:
        assert store.execute("select count(*) from blobs").fetchone()[0] > 0
        assert stage.command("sessions", "forget", "last", "--yes").returncode == 0
        tables = ("turns", "looks", "changes", "files", "blobs")
        counts = [store.execute(f"select count(*) from {table}").fetchone()[0] for table in tables]
    assert counts == [0] * len(tables)
