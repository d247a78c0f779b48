"""Clients of the official SDKs have code reviewed and mended; what the agent says is judged by both."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.agents.review.ground import APP_FINDINGS, APP_FIXED, findings_in, make_repository
from tests.agents.review.process import COMMAND
from tests.forks import forked
from tests.interop.judges import refused_by_python, refused_by_typescript, sent
from tests.interop.programs import ROOT, TS, needs_node, tapped

PYTHON = forked([sys.executable, str(Path(__file__).with_name("official_reviewer.py"))])
TYPESCRIPT = ["node", str(TS / "reviewer.mjs")]


@pytest.mark.in_turn("client")
@pytest.mark.parametrize(
    "client", [PYTHON, pytest.param(TYPESCRIPT, marks=needs_node)], ids=["python", "typescript"]
)
def test_a_review_is_asked_for_followed_mended_and_loaded(client: list[str], tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    frames = tmp_path / "frames"
    agent = tapped(frames, [*COMMAND, "--sessions", str(tmp_path / "sessions.db")])
    run = subprocess.run(
        [*client, str(folder), *agent],
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(55),
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    assert report["modes"] == ["review", "fix"]
    assert report["options"] == ["mode", "severity", "scope"]
    assert [report[name]["stop"] for name in ("review", "fix", "odd")] == ["end_turn"] * 3
    assert set(findings_in(report["review"]["text"])) == APP_FINDINGS
    assert report["review"]["tools"] == ["completed"]
    assert report["review"]["plan"] == ["completed"] * 4
    assert report["asked"] == [["edit", "diff"]]
    assert report["written"] == {str(folder / "src" / "app.py"): APP_FIXED}
    assert "I review code" in report["odd"]["text"]
    assert report["loaded"]["user"] == ["review src/app.py", "apply the fixes", "sing!"]
    assert report["loaded"]["text"] == "".join(report[name]["text"] for name in ("review", "fix", "odd"))
    assert report["lost"] == -32002
    judge(frames)


def judge(frames: Path) -> None:
    values = [item for item in sent(frames, "to_client") if item.definition]
    assert len(values) > 20
    assert refused_by_python(values) == []
    if not needs_node.args[0]:
        assert refused_by_typescript(values) == []
