"""Tests that run in several processes are reported as if one had run them, and a death costs one test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dragoman.testing.pace import patience
from tests.workers import TOGETHER, FolderMaker, whole_of

ROOT = Path(__file__).parent.parent

NOTES = """
import os
from pathlib import Path

def note(name):
    with open(Path(__file__).with_name("notes"), "a") as file:
        file.write(f"{name} {os.environ.get('PYTEST_WORKER')} {os.getpid()}\\n")
"""
FIRST = """
import os, pytest
from notes import note

@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    yield tmp_path_factory.getbasetemp()
    note("ended")

def test_passes(shared, tmp_path):
    note("first")
    assert tmp_path == shared / "test_passes0"
    assert shared.name == os.environ["PYTEST_WORKER"]

def test_fails():
    note("first")
    print("shown", "once")
    assert 1 == 2

@pytest.mark.skip(reason="not today")
def test_skipped():
    pass
"""
DYING = """
import os
from notes import note

def test_before():
    note("dying")

def test_dies():
    os._exit(7)

def test_after():
    note("dying again")
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    files = {"notes": NOTES, "test_first": FIRST, "test_dying": DYING}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-v", "-ra", "-p", "tests.workers"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )


def test_every_test_is_run_and_reported_once_though_a_worker_dies(tmp_path: Path) -> None:
    result = run(tmp_path, "--workers", "2")
    assert result.returncode == 1, result.stderr
    assert "2 failed, 3 passed, 1 skipped" in result.stdout
    assert result.stdout.count("shown once") == 1
    assert "not today" in result.stdout
    assert "ended with status 7 in the middle of this test" in result.stdout
    notes = [line.split() for line in (tmp_path / "notes").read_text().splitlines()]
    workers = {name: {row[-2] for row in notes if row[0] == name} for name in ("first", "dying", "ended")}
    assert workers["first"] == workers["ended"], "a file stays in one worker, which ends its fixtures"
    assert len(workers["first"]) == 1
    assert workers["first"] != workers["dying"]
    assert len({row[-1] for row in notes}) == 3, "two workers, and another for the one that died"


def test_a_run_stops_at_the_number_of_failures_that_was_given(tmp_path: Path) -> None:
    result = run(tmp_path, "--workers", "2", "--maxfail", "1", "test_first.py", "test_dying.py")
    assert result.returncode == 1, result.stderr
    assert "stopping after 1 failures" in result.stdout


def test_a_worker_takes_a_file_or_the_folder_whose_files_share_what_they_start() -> None:
    alone, *shared = (
        ROOT / "packages/hub/tests" / name
        for name in ("hub/test_runner.py", "web/test_page.py", "web/test_live.py")
    )
    assert whole_of(alone) == alone
    assert {whole_of(file) for file in shared} == {ROOT / "packages/hub/tests/web"}
    assert all(
        [*ROOT.glob(f"tests/{name}/conftest.py"), *ROOT.glob(f"packages/*/tests/{name}/conftest.py")]
        for name in TOGETHER
    )


def test_each_folder_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "test_a1").mkdir()
    maker = FolderMaker()
    made = [maker.make(tmp_path, prefix, 0o700).name for prefix in ("test_a", "test_b", "test_a", "test_a")]
    assert made == ["test_a0", "test_b0", "test_a2", "test_a3"]
