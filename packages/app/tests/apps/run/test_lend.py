"""What a run lends: what decides about it is loaded with the first request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dragoman_app.apps.run.lend import LentWorkspace
from dragoman_app.apps.run.output import OutputWriter
from dragoman_app.apps.run.plan import make_plan
from dragoman_app.apps.run.reporter import QuietView, RunReporter
from dragoman_app.cli.parser import make_parser


def lend(folder: Path) -> LentWorkspace:
    words = ["run", "Hello", "--agent", "echo", "--cwd", str(folder)]
    reporter = RunReporter(QuietView(), OutputWriter(1), verbose=False, progress=None)
    return LentWorkspace(
        make_plan(make_parser(words).parse_args(words)), reporter, on_open_question=lambda: None
    )


async def test_a_run_without_requests_has_denied_nothing(tmp_path: Path) -> None:
    decisions = lend(tmp_path).decisions
    assert (decisions.last_denier, decisions.last_refusal) == ("", None)
    assert decisions.effects.decision_about(str(tmp_path / "a.txt")) == "none"


def test_a_run_loads_no_policy_before_the_first_request() -> None:
    code = "import sys, dragoman_app.apps.run.drive; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "dragoman_local.workspace.local_client" in loaded.split()
    late = ("desk", "permission_service", "judge", "shell", "rules", "policy_files", "terminal")
    assert not {f"dragoman_local.workspace.policy.{name}" for name in late} & {*loaded.split()}
