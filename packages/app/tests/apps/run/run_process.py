"""`dragoman run` as a process, in a home of its own. In this room it is a fork, and so are its agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.testing.pace import patience
from tests import forks
from tests.fork_server import ForkServer

DRAGOMAN = [sys.executable, "-m", "dragoman"]
RUN = [*DRAGOMAN, "run"]
BOUND = 55.0

fork_server: ForkServer | None = None
"""Runs the commands while there is one."""


class Done(NamedTuple):
    """How it went."""

    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]

    @property
    def text(self) -> str:
        return "".join(event["text"] for event in self.named("text"))


def home(folder: Path, **more: str) -> dict[str, str]:
    """An environment that knows nothing of this machine's user."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONDONTWRITEBYTECODE") if name in os.environ}
    return {**kept, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "TERM": "xterm", **more}


def run(
    *arguments: str,
    folder: Path,
    given: bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Done:
    cwd, env, timeout = cwd or folder, env or home(folder), patience(BOUND)
    if fork_server is not None:
        done = fork_server.run(["run", *arguments], given=given, cwd=cwd, env=env, timeout=timeout)
    else:
        done = subprocess.run(
            [*RUN, *arguments],
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            cwd=cwd,
            env=env,
            timeout=timeout,
            check=False,
        )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def scripted(folder: Path, script: str) -> str:
    """The command line of an agent that does what the script says."""
    path = folder / "agent.script"
    path.write_text(script, encoding="utf-8")
    return " ".join([*forks.DRAGOMAN, "agent", "script", str(path)])
