"""A person with an agent that edits files, and the commands that tell of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.command_forks import run_command


class MemoryStage:
    """A home and a folder of work."""

    agent = f"{sys.executable} {Path(__file__).with_name('editing_agent.py')}"

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "work"
        self.folder.mkdir()

    def command(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """`more` is in its environment."""
        environ = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}", "HOME": str(self.home)}
        environ |= {f"XDG_{name}_HOME": str(self.home / name.lower()) for name in ("DATA", "STATE", "CONFIG")}
        return run_command(*words, cwd=self.folder, env=environ | more)

    def turn(self, prompt: str, *more: str) -> None:
        done = self.command("run", "--agent", self.agent, "--approve", "all", *more, prompt)
        assert done.returncode == 0, done.stderr

    def blame(self, *words: str) -> list[dict[str, Any]]:
        done = self.command("blame", "--json", *words)
        assert done.returncode == 0, done.stderr
        lines: list[dict[str, Any]] = json.loads(done.stdout)["lines"]
        return lines
