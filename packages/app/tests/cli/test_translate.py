"""`dragoman translate` as a person or an editor starts it: its help, its exit statuses, its ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import DIALECTS
from dragoman.testing.pace import patience
from dragoman_app.cli import main
from tests.forks import DRAGOMAN

TRANSLATE = [*DRAGOMAN, "translate"]

# An agent of one line a frame: it says one update, answers what it is asked, and ends with its input.
AGENT = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 2}
    note = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    print(json.dumps(note), flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"stopReason": "end_turn"}}), flush=True)
print("the agent has ended", file=sys.stderr)
"""
ASKED: Any = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "session/prompt",
    "params": {"sessionId": "s", "prompt": []},
}
LOSS = "an update that the reference does not list"


def translate(*words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [*TRANSLATE, *words]
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=patience(50))


def test_its_help_names_every_dialect_and_every_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["translate", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in DIALECTS)
    assert all(f"\n{status:>5}  " in shown for status in (0, 2, 3, 127))


@pytest.mark.parametrize("words", [[], ["--client", "klingon", "--", "agent"], ["--ledger"]])
def test_a_command_line_without_sense_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["translate", *words])
    assert ended.value.code == 2
    assert "Try: dragoman translate --help" in capsys.readouterr().err


def test_an_agent_that_cannot_be_started_is_127_and_said_so() -> None:
    run = translate("--", "/nowhere/agent")
    assert run.returncode == 127
    assert run.stdout == ""
    assert run.stderr.startswith("dragoman translate: ")
    assert "/nowhere/agent" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("code", "status"),
    [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("sys.exit(0)", 0)],
)
def test_the_status_and_the_last_words_of_an_agent_pass_through(code: str, status: int) -> None:
    agent = f"import os, sys; print('no API key', file=sys.stderr, flush=True); {code}"
    command = [*TRANSLATE, "--client", "v1", "--agent", "v1", "--", sys.executable, "-c", agent]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as run:  # its input stays open
        assert run.wait(timeout=patience(50)) == status
        assert run.stderr is not None
        assert run.stderr.read() == b"no API key\n"


def test_losses_are_said_at_the_end_and_written_to_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    ways = ["--client", "haven", "--agent", "v1", "--ledger", str(ledger)]
    run = translate(*ways, "--", sys.executable, "-c", AGENT, said=(json.dumps(ASKED) + "\n") * 2)
    assert run.returncode == 0
    assert [json.loads(line).get("id") for line in run.stdout.splitlines()] == [None, 1, None, 1]
    assert f"dragoman translate: lost: haven: {LOSS} (2 times): sent as it is" in run.stderr
    assert "the agent has ended" in run.stderr
    (entry,) = json.loads(ledger.read_text())["entries"]
    assert entry.pop("first_frame") > 0
    assert entry == {
        "outcome": "lost",
        "dialect": "haven",
        "what": LOSS,
        "done": "sent as it is: it may be ignored",
        "count": 2,
    }


def test_strict_ends_with_3_at_the_first_loss() -> None:
    run = translate(
        *["--strict", "--client", "haven", "--agent", "v1", "--", sys.executable, "-c", AGENT],
        said=json.dumps(ASKED) + "\n",
    )
    assert run.returncode == 3
    assert "because --strict allows no loss" in run.stderr


def test_a_ledger_that_cannot_be_written_is_said_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "nowhere" / "ledger.json"
    assert main(["translate", "--ledger", str(there), "--", "/nowhere/agent"]) == 2
    assert f"dragoman translate: cannot write {there}" in capsys.readouterr().err
