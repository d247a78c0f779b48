"""Programs of ours that tests start, as forks: a run of many tests has one process that has imported them.

`DRAGOMAN` and `module(…)` begin the command lines of tests that talk to a program, or let another one start
it. That starts a small process with the streams, the signals and the status of the fork
(`tests/fork_client.py`); its number, memory and processor time are not those of the fork. Tests of these, of
the start, of terminals and of kills start the program itself, and so does every run of a few tests.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ADDRESS = f"{tempfile.gettempdir()}/forks-{os.getpid()}"
"""Of the server of this run; workers fork later."""

MANY = 500
"""Tests for which a server is worth its start."""

MODULES = (
    "acp",
    "dragoman.agents.code.agent",
    "dragoman.agents.review.review_run",
    "dragoman.apps.console",
    "dragoman.apps.run.command",
    "dragoman.apps.run.drive",
    "dragoman.blocking",
    "dragoman.cli.agent_code",
    "dragoman.cli.agent_echo",
    "dragoman.cli.agent_review",
    "dragoman.cli.agent_script",
    "dragoman.cli.translate",
    "tests.agents.model_layer",
)
"""What most of the programs import."""


def module(name: str) -> list[str]:
    """What stands before the arguments of `python -m name`."""
    if sys.platform != "linux":
        return [sys.executable, "-m", name]
    client = str(Path(__file__).with_name("fork_client.py"))
    return [sys.executable, "-I", "-S", client, ADDRESS, "-m", name]


def unforked(command: list[str]) -> list[str]:
    """The same as a process: for another version of something that the server has imported."""
    return [sys.executable, *command[5:]] if ADDRESS in command[:5] else command


DRAGOMAN = module("dragoman")
