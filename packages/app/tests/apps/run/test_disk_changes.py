"""Changes on disk beside what was decided: what nobody was asked about is told, and fails a strict run."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema import v1
from dragoman_app.apps.run.disk_changes import DecidedEffects, mode_that_asks
from dragoman_local.workspace.policy.audit import AuditEntry
from tests.apps.run.run_process import home, run

SLY = """
from pathlib import Path

from dragoman import Agent, Turn, serve

agent = Agent("sly")


@agent.prompt
async def reply(turn: Turn) -> None:
    Path("sly.txt").write_text("nobody knows")


serve(agent)
"""


def decision(method: str = "permission", *, outcome: str = "allow", **members: Any) -> AuditEntry:
    given: dict[str, Any] = {"kind": "edit", "paths": (), "command": None, **members}
    blank: dict[str, Any] = dict.fromkeys(
        ("time", "agent", "session", "tool", "title", "rule", "why", "by"), ""
    )
    return AuditEntry(method=method, outcome=outcome, option=None, **blank, **given)


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ([], "none"),
        ([decision(paths=("a.txt",))], "file"),
        ([decision("fs/write", paths=("/w/a.txt",))], "file"),
        ([decision(paths=("/w",))], "file"),
        ([decision(paths=("/w/a",))], "none"),
        ([decision("fs/read", kind="read", paths=("/w/a.txt",))], "none"),
        ([decision(kind="search")], "none"),
        ([decision("terminal", kind="execute", command="make")], "command"),
        ([decision("mcp", kind="other", paths=("/x",))], "command"),
        ([decision(kind="other")], "command"),
        ([decision(outcome="deny", paths=("/w/a.txt",))], "denied"),
        ([decision(outcome="deny", paths=("/w/a.txt",)), decision(paths=("/w/a.txt",))], "file"),
        ([decision(outcome="deny", kind="execute", command="make")], "none"),
    ],
)
def test_a_change_is_covered_by_a_decision_that_names_it(decisions: list[AuditEntry], expected: str) -> None:
    effects = DecidedEffects()
    for line in decisions:
        effects.add(line, cwd="/w")
    assert effects.decision_about("/w/a.txt") == expected


@pytest.mark.parametrize(
    ("current", "expected"), [("bypassPermissions", "default"), ("acceptEdits", "default"), ("default", None)]
)
def test_a_mode_that_asks_is_known_by_what_the_agent_says_of_it(current: str, expected: str | None) -> None:
    modes = [
        v1.SessionMode(id="acceptEdits", name="Accept Edits", description="Accepts edits, asks for the rest"),
        v1.SessionMode(id="default", name="Default", description="Prompts for dangerous operations"),
        v1.SessionMode(id="bypassPermissions", name="Bypass", description="Bypasses permission checks"),
    ]
    state = v1.SessionModeState(current_mode_id=current, available_modes=modes)
    assert mode_that_asks(state) == expected
    assert mode_that_asks(None) is None


def test_a_strict_run_fails_by_a_change_that_nobody_was_asked_about(tmp_path: Path) -> None:
    (tmp_path / "sly.py").write_text(SLY)
    (project := tmp_path / "project").mkdir()
    agent = shlex.join([sys.executable, str(tmp_path / "sly.py")])
    done = run("--agent", agent, "--strict", "--format", "json", "x", folder=project, env=home(tmp_path))
    [changes] = done.named("changes")
    assert changes["unasked"] == [str(project / "sly.txt")]
    assert changes["files"][0]["decision"] == "none"
    assert (done.status, done.named("end")[0]["outcome"]) == (12, "unasked_changes")


def test_a_change_that_was_asked_about_passes_a_strict_run(tmp_path: Path) -> None:
    (project := tmp_path / "project").mkdir()
    arguments = ("--agent", "echo", "--approve", "all", "--strict")
    done = run(*arguments, "/ask new.txt", folder=project, env=home(tmp_path))  # written by the agent itself
    assert (done.status, (project / "new.txt").exists()) == (0, True), done.err
    assert "Nobody was asked" not in done.out


HIDDEN = (".git/hooks/post-checkout", ".git/config", "build/out.bin", "node_modules/x/index.js", "sub/a.txt")


def test_a_strict_run_looks_where_a_snapshot_does_not(tmp_path: Path) -> None:
    (project := tmp_path / "project").mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    subprocess.run(["git", "init", "-q", project / "sub"], check=True)
    (project / ".gitignore").write_text("build/\nnode_modules/\n")
    for name in HIDDEN[2:]:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("old\n")
    script = tmp_path / "hidden.py"
    script.write_text(HIDING.replace("NAMES", repr(HIDDEN)))
    agent = shlex.join([sys.executable, str(script)])
    done = run("--agent", agent, "--strict", "--format", "json", "x", folder=project, env=home(tmp_path))
    [changes] = done.named("changes")
    assert set(changes["unasked"]) == {str(project / name) for name in HIDDEN}
    assert done.status == 12
    quiet = run("--agent", "echo", "--strict", "x", folder=project, env=home(tmp_path))
    assert quiet.status == 0, quiet.err


HIDING = """
import json, pathlib, sys

for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message.get("method") == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif message.get("method") == "session/new":
        result = {"sessionId": "s"}
    elif message.get("method") == "session/prompt":
        for name in NAMES:
            with open(name, "a") as file:
                file.write("# changed\\n")
        result = {"stopReason": "end_turn"}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
