"""The runner answers for a run: failures are named and count, nothing is left running, a stuck run ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.progress import STUCK

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux alone")


def run_tests(
    folder: Path, *arguments: str, before: str = "pass", **files: str
) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder as `make test` runs ours; `before` changes the runner first."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    code = f"import sys, run_tests; {before}; sys.exit(run_tests.main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT / 'tools'}:{ROOT}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )


UNSTEADY = """
from pathlib import Path

import pytest

@pytest.mark.parametrize("number", range({count}))
def test_unsteady(number):
    mark = Path(__file__).with_name(f"was_here_{{number}}")
    there = mark.exists()
    mark.touch()
    assert there, "the first time is the last"

def test_later():
    print("later")
"""


def test_a_failure_is_named_at_once_and_counts_though_it_passes_when_it_is_run_again(tmp_path: Path) -> None:
    result = run_tests(tmp_path, "-s", test_it=UNSTEADY.format(count=1))
    assert result.returncode == 1
    named = result.stdout.index("FAILED")
    assert "the first time is the last" in result.stdout[named : result.stdout.index("later\n")]
    again = result.stdout[result.stdout.index("run once more") :]
    assert "PASSED test_it.py::test_unsteady" in again
    assert "test_later" not in again
    assert "UNSTEADY: test_it.py::test_unsteady[0] failed beside" in again


def test_what_fails_again_fails_the_run(tmp_path: Path) -> None:
    broken = "\ndef test_broken():\n    assert False\n"
    result = run_tests(tmp_path, test_it=UNSTEADY.format(count=1) + broken)
    assert result.returncode == 1
    assert "UNSTEADY:" not in result.stdout


LEAKY = """
import subprocess

def test_leaky():
    subprocess.Popen(["sh", "-c", "sleep 987654 & echo"], stdout=subprocess.DEVNULL).wait()
"""


def test_a_process_left_running_is_named_with_its_test_ended_and_counts(tmp_path: Path) -> None:
    result = run_tests(tmp_path, "--costs", before="run_tests.GOODBYE = 0.1", test_it=LEAKY)
    assert result.returncode == 1
    assert "1 passed" in result.stdout
    assert "LEFT RUNNING: sleep 987654 (started by" in result.stdout
    assert "test_leaky" in result.stdout
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(b"987654" in command for command in commands)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[4] for row in rows if row[5:] == ["test_it.py"]] == ["1"], "a table says what tests cost"


HANGS = """
import threading

def test_hangs():
    threading.Event().wait()
"""


def test_a_run_in_which_nothing_happens_ends_and_names_what_is_under_way(tmp_path: Path) -> None:
    impatient = "import tests.progress\ntests.progress.QUIET = 0.01\n"
    result = run_tests(tmp_path, conftest=impatient, test_it=HANGS)
    assert result.returncode == STUCK
    assert "test_hangs since" in result.stdout
