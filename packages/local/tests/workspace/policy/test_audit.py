import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec import to_builtins

from dragoman.testing.pace import patience
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.audit import (
    AuditLog,
    attempt_entry,
    audit_entry,
    read_entries,
    verify_audit_log,
    write_approve_mode,
)
from dragoman_local.workspace.policy.decision import PolicyDecision
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.policy.shell import read_line
from tests.forks import forked
from tests.workspace.policy.makers import audit_line


def test_a_line_says_what_was_wanted_and_what_was_decided(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "state" / "audit.jsonl"))
    log.append(audit_line())
    assert json.loads(Path(log.path).read_text()) == {
        "time": "2025-06-01T12:00:00.000Z",
        "agent": "claude",
        "session": "s",
        "method": "permission",
        "kind": "execute",
        "tool": "",
        "title": "git push",
        "paths": [],
        "command": "git push",
        "outcome": "deny",
        "rule": "p.toml:3",
        "why": "because",
        "by": "person",
        "option": "no",
        "n": 1,
        "prev": "0" * 64,
    }


def test_every_field_of_a_line_is_what_was_said_without_its_secrets() -> None:
    secret = "curl --password hunter2hunter2 x"
    act = Act(
        method="terminal",
        session_id="s",
        paths=("/a", "/b"),
        script=read_line(secret),
        agent=f"agent {secret}",
        kind=f"kind {secret}",
        tool=f"tool {secret}",
        title=f"title {secret}",
        requester=f"requester {secret}",
    )
    decision = PolicyDecision(outcome="ask", rule="p.toml:3", why=f"why {secret}", remedy=f"remedy {secret}")
    later = datetime(2025, 6, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    entry = to_builtins(audit_entry(act, decision, by="deadline", person="ann", option="no", time=later))
    covered = secret.replace("hunter2hunter2", "[redacted]")
    for name in ("title", "requester", "why", "remedy"):
        assert entry.pop(name) == f"{name} {covered}"
    assert entry == {
        "time": "2025-06-01T12:00:00.000Z",
        "agent": f"agent {secret}",
        "session": "s",
        "method": "terminal",
        "kind": f"kind {secret}",
        "tool": f"tool {secret}",
        "paths": ("/a", "/b"),
        "command": covered,
        "outcome": "ask",
        "rule": "p.toml:3",
        "by": "deadline",
        "option": "no",
        "person": "ann",
    }
    plain = audit_entry(Act(method="terminal"), decision, time=later)
    assert (plain.command, plain.option, plain.person, plain.by) == (None, None, "", "policy")


def test_every_field_of_an_attempt_is_what_was_said_without_its_secrets() -> None:
    secret, covered = "--password hunter2hunter2", "--password [redacted]"
    fields = {"person": "ann", "agent": "one", "session": "s", "kind": "mode", "command": "make"}
    entry = to_builtins(
        attempt_entry("m", secret, outcome="allow", why=secret, by="policy", paths=("/a",), **fields)
    )
    assert datetime.fromisoformat(entry.pop("time")) > datetime(2025, 6, 1, tzinfo=UTC)
    same = {"method": "m", "title": covered, "outcome": "allow", "why": covered, "by": "policy"}
    assert entry == {**fields, **same, "paths": ("/a",), "tool": "", "rule": "", "option": None}
    plain = to_builtins(attempt_entry("m", "t", outcome="deny", why="w"))
    assert (plain["by"], plain["kind"], plain["paths"], plain["command"]) == ("person", "other", (), None)
    assert not {"person", "requester", "remedy"} & set(plain)


@pytest.mark.parametrize(
    ("approve", "why"),
    [
        ("all", "what no rule covers is allowed"),
        ("reads", "what no rule covers is allowed, if it only reads"),
        ("none", ""),
        (None, ""),
    ],
)
def test_what_a_command_allows_without_asking_is_a_line(
    approve: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    write_approve_mode("dragoman run", approve, agent="one")
    log = Path(policy_paths().audit)
    lines = list(read_entries(log.read_text())) if log.exists() else []
    names = ("method", "title", "outcome", "why", "agent", "kind", "by")
    expected = ["dragoman run", f"approve {approve}", "allow", why, "one", "mode", "person"]
    assert [[line[name] for name in names] for line in lines] == ([expected] if why else [])
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    write_approve_mode("dragoman run", approve, agent="one")  # what cannot be written is permitted nowhere


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "state" / "audit.jsonl"))
    log.append(audit_line())
    assert stat.S_IMODE(os.stat(log.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "state").st_mode) == 0o700


def test_secrets_are_covered(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    log.append(audit_line("curl --password hunter2hunter2 x"))
    assert "hunter2" not in Path(log.path).read_text()


def test_a_large_log_is_renamed_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"), most_bytes=500, rotated_files=2)
    for number in range(12):
        log.append(audit_line(f"git {number}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit.jsonl",
        "audit.jsonl.1",
        "audit.jsonl.2",
        "audit.jsonl.head",
    ]
    texts = [(tmp_path / name).read_text() for name in ("audit.jsonl.2", "audit.jsonl.1", "audit.jsonl")]
    commands = [found["command"] for text in texts for found in read_entries(text)]
    assert commands == [f"git {number}" for number in range(12 - len(commands), 12)]
    assert all(len(text) < 1500 for text in texts)


def test_a_log_that_somebody_took_away_is_begun_anew(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    log.append(audit_line("git 1"))
    os.unlink(log.path)
    log.append(audit_line("git 2"))
    assert [found["command"] for found in read_entries(Path(log.path).read_text())] == ["git 2"]


def test_what_cannot_be_written_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        AuditLog(str(tmp_path / "file" / "audit.jsonl")).append(audit_line())
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        AuditLog(str(tmp_path / "link")).append(audit_line())
    assert not (tmp_path / "elsewhere").exists()


def test_a_torn_line_spoils_no_other(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    log.append(audit_line("git 1"))
    with open(log.path, "a") as file:
        file.write('{"time": "20\n5\n')
    log.append(audit_line("git 2"))
    assert [found["command"] for found in read_entries(Path(log.path).read_text())] == ["git 1", "git 2"]


WRITER = """
import sys
from dragoman_local.workspace.policy.audit import AuditLog
from tests.workspace.policy.makers import audit_line

log = AuditLog(sys.argv[1], most_bytes=20_000, rotated_files=50)
for number in range(100):
    log.append(audit_line(f"git {sys.argv[2]} {number}"))
"""


def test_lines_of_several_processes_never_mix_nor_get_lost(tmp_path: Path) -> None:
    path = str(tmp_path / "audit.jsonl")
    root = Path(__file__).parents[5]
    command = forked([sys.executable, "-c", WRITER, path])
    writers = [subprocess.Popen([*command, name], cwd=root) for name in "abc"]
    assert [writer.wait(patience(30)) for writer in writers] == [0, 0, 0]
    logs = [log for log in tmp_path.iterdir() if log.suffix != ".head"]
    found = [json.loads(text)["command"] for log in logs for text in log.read_text().splitlines()]
    assert sorted(found) == sorted(f"git {name} {number}" for name in "abc" for number in range(100))
    report = verify_audit_log(path)
    assert (report.broken, report.chained, report.notes) == ("", 300, [])
