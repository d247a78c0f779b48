"""The manual page and the completions of shells have every command and its options."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_app.cli.commands import COMMANDS

TOOL = Path(__file__).parents[4] / "tools" / "generate_manual.py"


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    subprocess.run([sys.executable, TOOL, folder], check=True)
    return folder


def test_the_manual_page_has_every_command(manual: Path) -> None:
    page = re.sub(r"\\f[BIR]|\\[,/]", "", (manual / "dragoman.1").read_text("utf-8")).replace("\\-", "-")
    missing = [row.name for row in COMMANDS if row.help and f"dragoman {row.name}" not in page]
    assert missing == []
    assert "--start-timeout" in page


def test_a_shell_completes_commands_and_options(manual: Path) -> None:
    script = (manual / "dragoman.tcsh").read_text("utf-8")
    assert all(row.name in script for row in COMMANDS if row.help and not row.parent)
    assert "start-timeout" in script
    subprocess.run(["bash", "-n", manual / "dragoman.bash"], check=True)
