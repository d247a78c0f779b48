"""The agent of a run is started first, and belongs to somebody at every moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.errors import SpawnFailed
from dragoman.transport.tree import look_up
from dragoman_app.apps.run.early_agent import EarlyAgent
from dragoman_app.apps.run.plan import RunPlan, make_plan
from dragoman_app.cli.parser import make_parser

SLOW_TO_LOAD = ("asyncio", "logging", "dataclasses", "tomllib", "difflib", "tempfile")


def plan(agent: str, folder: Path) -> RunPlan:
    words = ["run", "Hello", "--agent", agent, "--cwd", str(folder)]
    return make_plan(make_parser(words).parse_args(words))


def test_what_takes_long_to_load_is_not_loaded_before_the_agent_is_started(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from dragoman_app.apps.run.plan import make_plan\n"
        "from dragoman_app.apps.run import command\n"
        "from dragoman_app.cli.parser import make_parser\n"
        "words = ['run', 'Hello', '--agent', 'echo']\n"
        "early = command.EarlyAgent(make_plan(make_parser(words).parse_args(words)))\n"
        f"print(*(name for name in {SLOW_TO_LOAD} if name in sys.modules))\n"
        "early.kill()\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == ([], "")


def test_an_agent_that_nobody_took_is_ended(tmp_path: Path) -> None:
    early = EarlyAgent(plan(f"{sys.executable} -c 'import time; time.sleep(60)'", tmp_path))
    child = early._child
    assert child is not None
    pid = child.program.process.pid
    assert look_up(pid) is not None
    early.kill()
    assert look_up(pid) is None
    early.kill()  # once is enough


async def test_an_agent_that_is_watched_and_not_taken_is_ended(tmp_path: Path) -> None:
    early = EarlyAgent(plan(f"{sys.executable} -c 'import sys; sys.stdin.read()'", tmp_path))
    early.adopt()
    transport = early._transport
    assert transport is not None
    await early.aclose()
    assert transport.tree.is_gone


async def test_a_program_that_cannot_be_started_is_explained_to_whoever_takes_it(tmp_path: Path) -> None:
    early = EarlyAgent(plan("./missing --acp", tmp_path))
    early.adopt()
    with pytest.raises(SpawnFailed, match="there is no such file"):
        early.take(lambda _: None)
