"""`run` understands agents of every dialect, says so, repairs quirks, and never hides a refusal."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apps.run.run_process import DRAGOMAN, home, run
from tests.together import SideBySide

together = SideBySide(2)

PROGRAM = Path(__file__).parents[4] / "sdk/tests/sdk/foreign_agent.py"
ZED = "@zed-industries/claude-code-acp"


def agent(*words: str) -> str:
    return shlex.join([sys.executable, str(PROGRAM), *words])


@pytest.mark.parametrize("dialect", ["crow", "acpex", "threads"])
@together
def test_an_agent_of_another_dialect_is_understood_and_that_is_said(dialect: str, tmp_path: Path) -> None:
    done = run("--agent", agent(dialect), "--format", "json", "Hello", folder=tmp_path)
    assert (done.status, done.text) == (0, "You said: Hello"), done.err
    notes = [event["message"] for event in done.named("note")]
    assert any(f"the agent speaks {dialect}" in note for note in notes)


@together
def test_a_dialect_is_taken_by_name_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    done = run("--agent", agent("crow"), "--dialect", "crow", "--format", "quiet", "Hello", folder=tmp_path)
    assert (done.status, done.out) == (0, "You said: Hello\n")
    refused = run("--agent", agent("crow"), "--dialect", "klingon", "Hello", folder=tmp_path)
    assert refused.status == 2
    assert "unknown dialect 'klingon'" in refused.err


@together
def test_the_configuration_says_what_a_known_agent_speaks(tmp_path: Path) -> None:
    words = [*DRAGOMAN, "agents", "add", "--dialect", "crow", "mine", *shlex.split(agent("crow"))]
    subprocess.run(words, env=home(tmp_path), check=True, capture_output=True)
    shown = subprocess.run(
        [*DRAGOMAN, "agents", "show", "mine", "--json"], env=home(tmp_path), check=True, capture_output=True
    )
    assert json.loads(shown.stdout)["dialect"] == "crow"
    done = run("--agent", "mine", "--format", "quiet", "Hello", folder=tmp_path)
    assert (done.status, done.out) == (0, "You said: Hello\n")


@together
def test_an_approved_shell_line_of_a_quirky_agent_is_run(tmp_path: Path) -> None:
    done = run("--agent", agent("shell", ZED), "--approve", "all", "--format", "json", "go", folder=tmp_path)
    assert done.status == 0, done.out
    assert (tmp_path / "out.txt").read_text() == "one\ntwo\n"


@together
def test_what_was_approved_and_then_refused_is_no_success(tmp_path: Path) -> None:
    stranger = agent("shell", "somebody")
    done = run("--agent", stranger, "--approve", "all", "--format", "json", "go", folder=tmp_path)
    assert {event["outcome"] for event in done.named("decision")} == {"allow"}
    assert done.status == 7
    assert not (tmp_path / "out.txt").exists()
    notes = [event["message"] for event in done.named("note")]
    assert any("not done: terminal/create" in note for note in notes)


@together
def test_doctor_says_what_was_found(tmp_path: Path) -> None:
    done = subprocess.run(
        [*DRAGOMAN, "doctor", "--json", agent("crow")],
        env=home(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    report = json.loads(done.stdout)
    (step,) = [step for step in report["steps"] if step["name"] == "dialect"]
    assert "the agent speaks crow" in step["summary"]
    assert "dragoman translate --agent crow --" in step["advice"]
    assert report["outcome"] == "ok"
