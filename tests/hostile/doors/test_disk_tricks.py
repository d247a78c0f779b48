"""What changed on disk is told and put back as it was, and no change brings the rules of its review along."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from dragoman_app.cli import main
from tests.hostile.doors.disk_tricks import (
    BACK_TRICKS,
    GIT,
    IMPORT_TRICKS,
    PLAIN,
    REVIEW_TRICKS,
    STRICT_TRICKS,
    BackTrick,
    ImportTrick,
    ReviewTrick,
    StrictTrick,
)
from tests.hostile.doors.program import environment
from tests.hostile.doors.stage import puppet
from tests.hostile.doors.tricks import must_not, parameters

WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b.example",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.example",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Desk:
    """A person's folder, with a project in it. Commands run in this process, which has imported them."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        (folder / "home").mkdir()
        self.env = {**environment(folder), **WHO}
        for name, value in self.env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.project)
        self._capfd = capfd

    def shell(self, line: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", line], cwd=self.project, env=self.env, capture_output=True, text=True
        )
        return done.stdout.strip()

    def command(self, *words: str) -> tuple[int, str]:
        self._capfd.readouterr()
        status = main(list(words))
        return status, "".join(self._capfd.readouterr())

    def run(self, line: str, *options: str) -> tuple[int, str]:
        steps = json.dumps([{"shell": line}] if line else [])
        agent = shlex.join(puppet("v1"))
        return self.command("run", "--no-history", "--approve", "none", *options, "--agent", agent, steps)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capfd)


UNASKED, WELL = 12, 0


@pytest.mark.parametrize("trick", parameters(STRICT_TRICKS))
def test_no_change_is_silent(desk: Desk, trick: StrictTrick) -> None:
    desk.shell(trick.before)
    before = fingerprint(desk.project)
    status, text = desk.run(trick.line, "--strict")
    assert fingerprint(desk.project) != before
    must_not(status == WELL, text)
    assert status == UNASKED, text


def fingerprint(folder: Path) -> dict[bytes, object]:
    """Every file below the folder, those of git included, with its rights and what is in it."""
    files: dict[bytes, object] = {}
    for place, _, names in os.walk(os.fsencode(folder)):
        for name in names:
            path = os.path.join(place, name)
            content = os.readlink(path) if os.path.islink(path) else Path(os.fsdecode(path)).read_bytes()
            files[path] = (os.lstat(path).st_mode, content)
    return files


@pytest.mark.parametrize("before", [GIT, PLAIN], ids=["git", "plain"])
def test_a_turn_without_changes_is_told_from_one_with_them(desk: Desk, before: str) -> None:
    desk.shell(before)
    assert desk.run("", "--strict")[0] == WELL
    assert desk.run("echo more > more", "--strict")[0] == UNASKED


@pytest.mark.parametrize("trick", parameters(BACK_TRICKS))
def test_what_is_put_back_is_as_it_was(desk: Desk, trick: BackTrick) -> None:
    desk.shell(f"umask 022; {trick.before}; echo before > plain")
    assert desk.shell(trick.look) == trick.wanted
    status, text = desk.run(f"{trick.line}; echo after > plain", "--changes", "revert")
    assert desk.shell("cat plain") == "before", text
    must_not(status == WELL and desk.shell(trick.look) != trick.wanted, desk.shell("ls -l"), text)


BASE = """
git init -q -b main . && printf '# dragoman: ignore[python/eval] a constant\nx = eval("1")\n' > a.py
git add . && git commit -qm first && git checkout -q -b change
"""


def review(desk: Desk, *options: str, tools: bool = False) -> tuple[int, str]:
    return desk.command("review", *([] if tools else ["--no-tools"]), *options)


@pytest.mark.parametrize("trick", parameters(REVIEW_TRICKS))
def test_no_change_silences_its_own_review(desk: Desk, trick: ReviewTrick) -> None:
    desk.shell(BASE)
    (desk.project / "b.py").write_text(trick.code, "latin-1")
    for name, text in trick.files.items():
        if name == "baseline":
            baseline = desk.project / (text or ".dragoman/baseline.json")
            baseline.parent.mkdir(exist_ok=True)
            review(desk, "--write-baseline", str(baseline))
            assert baseline.exists()
        else:
            (desk.project / name).parent.mkdir(parents=True, exist_ok=True)
            (desk.project / name).write_text(text)
    desk.shell("git add -A && git commit -qm change")
    # Without the rule on new comments, which is as grave and would fail the review in the place of eval.
    gate = ("--diff", "main", "--fail-on", "medium", "--without", "review/*")
    status, text = review(desk, *gate, *trick.arguments, tools=trick.tools)
    must_not(status == WELL, text)
    assert status == 1, text
    assert "python/eval" in text


def test_a_comment_that_a_change_adds_is_reported_and_one_of_the_base_holds(desk: Desk) -> None:
    desk.shell(BASE)
    (desk.project / "a.py").write_text(
        '# dragoman: ignore[python/eval] a constant\nx = eval("1")\n'
        "y = 1  # dragoman: ignore[python/eval] y\n"
    )
    desk.shell("git add -A && git commit -qm change")
    status, text = review(desk, "--diff", "main", "--whole-files")
    assert (status, text.count("python/eval]"), "review/new-suppression" in text) == (1, 1, True), text
    assert review(desk, "--diff")[0] == WELL, "nothing is new since the last commit"
    assert review(desk)[0] == WELL, "the person's own files are believed"


def test_rules_and_baseline_of_the_base_hold(desk: Desk) -> None:
    desk.shell(BASE.partition("git add")[0])
    rules = desk.project / ".dragoman" / "rules"
    rules.mkdir(parents=True)
    (rules / "team.toml").write_text(
        '[[rule]]\nid = "team/frob"\ntitle = "t"\nwhy = "w"\nseverity = "high"\npattern = "frob"\n'
    )
    (desk.project / "b.py").write_text("frob = 1\n")
    review(desk, "--write-baseline", ".dragoman/baseline.json")
    desk.shell("git add -A && git commit -qm first && git checkout -q -b change")
    (desk.project / "b.py").write_text("y = 2\nfrob = 1\n")
    (desk.project / "d.py").write_text("frob = 2\n")
    desk.shell("rm -r .dragoman && git add -A && git commit -qm change")
    status, text = review(desk, "--diff", "main", "--fail-on", "high", "--format", "github")
    assert status == 1, text
    assert [line.partition(",")[0] for line in text.splitlines() if "frob" in line] == [
        "::error file=d.py"
    ], text


def test_a_change_that_brings_nothing_along_is_reviewed(desk: Desk) -> None:
    desk.shell(BASE)
    (desk.project / "b.py").write_text(ReviewTrick.code)
    desk.shell("git add -A && git commit -qm change")
    status, text = review(desk, "--diff", "main", "--fail-on", "medium")
    assert status == 1, text
    assert "eval" in text


@pytest.mark.parametrize("trick", parameters(IMPORT_TRICKS))
def test_no_repository_chooses_the_agents_of_its_reader(desk: Desk, trick: ImportTrick) -> None:
    """Its file is taken only if somebody names it."""
    (desk.project / trick.file).write_text(json.dumps({"agents": {"claude": {"command": "./evil"}}}))
    status, text = desk.command("agents", "import", "acpx", *trick.options)
    config = Path(desk.env["XDG_CONFIG_HOME"]) / "dragoman" / "config.toml"
    must_not(config.exists() and "evil" in config.read_text(), status, text)


def test_agents_of_the_person_are_imported(desk: Desk) -> None:
    folder = Path(desk.env["HOME"]) / ".acpx"
    os.makedirs(folder)
    (folder / "config.json").write_text(json.dumps({"agents": {"mine": {"command": "my-agent"}}}))
    status, text = desk.command("agents", "import", "acpx")
    assert status == WELL, text
    config = Path(desk.env["XDG_CONFIG_HOME"]) / "dragoman" / "config.toml"
    assert "my-agent" in config.read_text()
