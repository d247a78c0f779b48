"""Commands of `dragoman` for tests of their words and their exit status: forks, where a process can fork."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dragoman.testing.pace import patience
from tests.fork_server import CommandForks

BOUND = 40.0

MODULES = (
    "tests.fork_start",
    "dragoman_app.apps.run.command",
    "dragoman_app.apps.run.drive",
    "dragoman_app.apps.console",
    "dragoman_app.cli.agents_login",
    "dragoman_app.cli.doctor",
)
"""What most of these commands import, for a run without a server."""

fork_server: CommandForks | None = None
"""Set by `conftest.py` where a process can fork."""


def run_command(*words: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its standard input is empty."""
    if fork_server is None:
        return subprocess.run(
            [sys.executable, "-m", "dragoman", *words],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=patience(BOUND),
            check=False,
        )
    done = fork_server.run(words, given=None, cwd=cwd, env=env, timeout=patience(BOUND))
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)
