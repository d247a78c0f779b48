"""`dragoman sandbox`: the boundary as text and JSON, and attempts from inside it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from dragoman_local.sandbox.wall import can_hold
from tests.forks import DRAGOMAN


def sandbox(*words: str, folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    line = [*DRAGOMAN, "sandbox", *words]
    return subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    (path / ".ssh").mkdir(parents=True)
    (path / ".ssh/id").write_text("secret")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


def test_the_boundary_is_shown_as_text_and_as_json(folder: Path, home: Path) -> None:
    text = sandbox("show", folder=folder, home=home).stdout
    assert f"writable   {folder}" in text
    assert f"hidden     {home}/.ssh" in text
    report = json.loads(sandbox("show", "--json", "--", "ls", folder=folder, home=home).stdout)
    assert report["boundary"]["profile"] == "workspace"
    assert report["command"] == ["ls"]
    report = json.loads(sandbox("show", "--profile", "read-only", "--json", folder=folder, home=home).stdout)
    assert report["boundary"]["writable"] == []


def test_a_profile_that_is_none_is_refused(folder: Path, home: Path) -> None:
    done = sandbox("show", "--profile", "workspace+net:1.2.3.4", folder=folder, home=home)
    assert done.returncode != 0
    assert "addresses are not permitted" in done.stderr


@pytest.mark.bound(30)
def test_the_wall_is_tried_from_inside_and_a_command_runs_behind_it(folder: Path, home: Path) -> None:
    if reason := can_hold("workspace"):
        pytest.skip(f"no sandbox can be held here: {reason}")
    done = sandbox("verify", "--", "sh", "-c", "echo ran > file; exit 5", folder=folder, home=home)
    assert done.returncode == 5, done.stderr
    assert "BROKEN" not in done.stdout
    assert f"ok      write to {folder}: works" in done.stdout
    assert f"ok      read {home}/.ssh: refused" in done.stdout
    assert (folder / "file").read_text() == "ran\n"
    profile = ("--profile", "workspace+net:a.example")
    results = json.loads(sandbox("verify", *profile, "--json", folder=folder, home=home).stdout)["results"]
    assert len(results) >= 14
    assert all(result["holds"] for result in results)
    assert "reach a name that is not permitted" in [result["attempt"] for result in results]
