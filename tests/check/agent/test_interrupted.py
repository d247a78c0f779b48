"""An examination that is ended early reports what it has, and says that it is not all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.run.running import DRAGOMAN, home

pytestmark = [pytest.mark.bound(60), pytest.mark.timeout(120)]


def examine(folder: Path) -> subprocess.Popen[str]:
    command = [
        *DRAGOMAN,
        "check",
        "agent",
        "--jobs",
        "1",
        "--format",
        "json=report.json",
        "--save",
        "saved",
        "--",
    ]
    return subprocess.Popen(
        [*command, *DRAGOMAN, "agent", "echo"],
        cwd=folder,
        env=home(folder),
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_it_with_a_report_of_what_it_has(name: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    with examine(tmp_path) as process:
        assert process.stderr is not None
        while not process.stderr.readline().startswith("scene 3 of"):
            assert process.poll() is None
        process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == 128 + number
    assert f"{name} ended the examination: this report is incomplete" in said
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["outcome"] == "blocked"
    assert name in report["blocked"]
    assert report["counts"]["passed"] > 0
    saved = os.listdir(tmp_path / "saved")
    assert saved
    assert all((tmp_path / "saved" / file).stat().st_mode & 0o077 == 0 for file in saved)
