"""v2 clients of the official SDKs hold whole conversations with v1 agents, through `dragoman translate`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.message import decode
from dragoman.testing.pace import patience
from tests.agents.review.ground import APP, APP_FINDINGS, APP_FIXED, findings_in, make_repository
from tests.dialect.v2.client_play import deviations, judged
from tests.forks import DRAGOMAN
from tests.interop.judges import frames
from tests.interop.programs import ROOT, environment, needs_node, tapped
from tests.interop.python.fetch import VERSIONS, sources

HERE = Path(__file__).parent
TYPESCRIPT = ["node", str(HERE / "client.mjs")]
PYTHON = [sys.executable, str(HERE / "python_client.py")]
TRANSLATE = [*DRAGOMAN, "translate", "--client", "v2", "--agent", "v1"]
REVIEW = [*DRAGOMAN, "agent", "review", "--offline"]

needs_sources = pytest.mark.skipif(
    not all(sources(version).is_dir() for version in VERSIONS),
    reason="needs the official SDK's sources: python tests/interop/python/fetch.py",
)


def report(command: list[str], sdk: Path | None = None) -> Any:
    run = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(sdk),
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def translated(folder: Path, agent: list[str]) -> list[str]:
    """An agent's command with an interpreter before it that tells its ledger, and a tap before that."""
    return tapped(folder / "frames", [*TRANSLATE, "--ledger", str(folder / "ledger"), "--", *agent])


def judge(folder: Path) -> None:
    """Everything that the client got was v2."""
    asked: dict[Any, str] = {}
    heard = []
    for way, frame in frames(folder / "frames"):
        message: Any = decode(json.dumps(frame).encode())
        if way == "to_client":
            heard.append(message)
        elif message.is_request:
            asked[message.id] = message.method
    assert deviations(judged(heard, asked)) == []
    assert len(heard) > 5


def noted(folder: Path) -> set[str]:
    return {entry["what"] for entry in json.loads((folder / "ledger").read_text())["entries"]}


@needs_node
def test_a_typescript_client_has_code_reviewed_mended_and_told_again(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    agent = translated(tmp_path, [*REVIEW, "--sessions", str(tmp_path / "sessions.db")])
    seen = report([*TYPESCRIPT, "review", str(folder), *agent])
    assert (seen["version"], seen["agent"]) == (2, "dragoman-review")
    assert seen["options"] == ["mode", "severity", "scope"]
    first = seen["review"]
    assert first["states"] == ["running", "end_turn"]
    assert first["user"] == [[first["messageId"], "review src/app.py"]]
    assert set(findings_in(first["text"])) == APP_FINDINGS
    assert first["tools"] == ["completed"]
    assert first["plan"]["planId"] == "main"
    assert [entry["status"] for entry in first["plan"]["entries"]] == ["completed"] * 4
    assert seen["mode"] == "fix"
    assert seen["cancelled"]["states"][:2] == ["running", "requires_action"]
    assert seen["cancelled"]["states"][-1] == "cancelled"
    assert seen["fix"]["states"] == ["running", "requires_action", "running", "end_turn"]
    check_mended(folder, seen["asked"])
    assert seen["both"]["states"] == ["running", "end_turn"] * 2
    assert [text for _, text in seen["both"]["user"]] == ["sing!", "dance!"]
    assert [message_id for message_id, _ in seen["both"]["user"]] == seen["acknowledged"]
    assert seen["listed"] == [True]
    assert seen["resumed"]["states"] == ["idle"]
    prompts = ["review src/app.py", "apply the fixes", "apply the fixes", "sing!", "dance!"]
    assert seen["resumed"]["replayed"] == prompts
    assert first["text"] in seen["resumed"]["text"]
    assert (seen["lost"], seen["unknown"]) == (-32002, -32601)
    judge(tmp_path)
    assert {"a diff as two texts", "a chunk without a message id"} <= noted(tmp_path)


def check_mended(folder: Path, asked: list[Any]) -> None:
    """The client was asked twice, saw the change as a patch, and allowed it the second time."""
    path = str(folder / "src" / "app.py")
    for question in asked:
        assert question["changes"] == [{"operation": "modify", "path": path, "fileType": "text"}]
        assert f"\n--- {path}\n+++ {path}\n@@ " in question["patch"]
        assert "\n-import os\n" in question["patch"]
    assert len(asked) == 2
    assert APP != APP_FIXED == Path(path).read_text()


@needs_node
@needs_sources
def test_a_typescript_client_talks_to_the_official_example_agent(tmp_path: Path) -> None:
    example = [sys.executable, str(sources(VERSIONS[0]) / "examples" / "agent.py")]
    agent = translated(tmp_path, example)
    seen = report([*TYPESCRIPT, "example", "/tmp", *agent], sources(VERSIONS[0]) / "src")
    assert (seen["version"], seen["agent"]) == (2, "example-agent")
    assert seen["turn"]["states"] == ["running", "end_turn"]
    assert seen["turn"]["user"] == [[seen["turn"]["messageId"], "hello"]]
    assert seen["turn"]["text"] == "Client sent:helloresource_link"
    assert seen["listed"] == ["/tmp"]
    assert seen["closed"] == -32002
    judge(tmp_path)
    assert noted(tmp_path) == {
        "a chunk without a message id",
        "session/list at an agent without it",
        "session/close at an agent without it",
    }


@pytest.mark.slow  # the client in TypeScript has the same talk, and more; this one takes seconds to import
@needs_sources
def test_a_python_client_of_the_coming_version_has_code_reviewed_and_mended(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    agent = [*TRANSLATE, "--", *REVIEW, "--sessions", str(tmp_path / "sessions.db")]
    seen = report([*PYTHON, str(folder), *agent], sources(VERSIONS[-1]) / "src")
    assert (seen["agent"], seen["options"]) == ("dragoman-review", ["mode", "severity", "scope"])
    assert [seen[name]["acknowledged"] for name in ("review", "fix")] == [True, True]
    assert seen["review"]["states"] == ["running", "end_turn"]
    assert set(findings_in(seen["review"]["text"])) == APP_FINDINGS
    assert seen["fix"]["states"] == ["running", "requires_action", "running", "end_turn"]
    assert len(seen["asked"]) == 1
    assert (folder / "src" / "app.py").read_text() == APP_FIXED
