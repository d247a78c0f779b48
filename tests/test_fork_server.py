"""A forked command does what a started one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.apps.run.running import DRAGOMAN, home
from tests.fork_server import ForkServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are passed as on Linux")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    running = ForkServer()
    yield running
    running.close()


def test_status_and_output_are_those_of_a_process(server: ForkServer, tmp_path: Path) -> None:
    for arguments, given in (
        (["--version"], None),
        (["run", "--cwd", "missing", "x"], None),
        (["run", "--agent", "echo"], "Héllo".encode()),
        (["no-such-command"], b"never read"),
    ):
        started = subprocess.run(
            [*DRAGOMAN, *arguments],
            input=given or b"",
            capture_output=True,
            cwd=tmp_path,
            env=home(tmp_path),
            timeout=patience(30),
            check=False,
        )
        forked = server.run(arguments, given=given, cwd=tmp_path, env=home(tmp_path), timeout=patience(30))
        assert (forked.returncode, forked.stdout, forked.stderr) == (
            started.returncode,
            started.stdout,
            started.stderr,
        )


def test_a_command_beyond_its_time_is_killed(server: ForkServer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "prompt")  # nobody writes into it
    done = server.run(
        ["run", "--prompt-file", "prompt"], given=None, cwd=tmp_path, env=home(tmp_path), timeout=0.1
    )
    assert done.returncode == -signal.SIGKILL
