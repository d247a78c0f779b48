"""What `dragoman audit verify` says of a log, and with which status."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_local.workspace.policy.audit import AuditLog
from dragoman_local.workspace.policy.policy_paths import policy_paths
from tests.workspace.policy.makers import audit_line


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log = AuditLog(policy_paths().audit)
    for number in range(3):
        log.append(audit_line(f"git {number}"))
    return Path(log.path)


def test_a_whole_log_is_said_to_be_whole_and_what_that_does_not_show(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "verify"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("complete: 3 of 3 lines are linked")
    assert "keep the digest of the last line elsewhere" in shown
    assert main(["audit", "verify", str(log), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["broken"], report["chained"]) == ("", 3)
    assert report["last_digest"] in shown


def test_a_changed_log_is_named_with_its_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_bytes(log.read_bytes().replace(b"git 1", b"git 7"))
    assert main(["audit", "verify"]) == 1
    assert f"broken: {log}, line 3: it does not follow" in capsys.readouterr().out


def test_a_log_that_is_not_there_is_said_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["audit", "verify", str(tmp_path / "none.jsonl")]) == 1
    assert "can't read" in capsys.readouterr().err


READER = """
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        say(id=message["id"], result={"protocolVersion": 1})
    elif method == "session/new":
        say(id=message["id"], result={"sessionId": "s"})
    elif method == "session/prompt":
        prompt = message["id"]
        say(id=1, method="fs/read_text_file", params={"sessionId": "s", "path": sys.argv[1]})
    elif "method" not in message:
        say(id=prompt, result={"stopReason": "end_turn"})
"""


def test_a_run_that_approves_all_is_in_the_audit_log(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("words")
    (tmp_path / "reader.py").write_text(READER)
    monkeypatch.chdir(project)
    command = [sys.executable, str(tmp_path / "reader.py"), str(project / "notes.txt")]
    assert main(["run", "hello", "--approve", "all", "--agent", shlex.join(command)]) == 0
    mode, read = [json.loads(line) for line in log.read_text().splitlines()][3:]
    assert (mode["method"], mode["kind"], mode["title"]) == ("run", "mode", "approve all")
    assert (read["method"], read["outcome"]) == ("fs/read", "allow")
