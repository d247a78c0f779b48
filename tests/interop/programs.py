"""The programs of the story: who can play which part, and how to start them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests import forks

ROOT = Path(__file__).parents[2]
TS = Path(__file__).parent / "ts"

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (TS / "node_modules" / "@agentclientprotocol").is_dir(),
    reason="needs node and the TypeScript SDK: make setup",
)


def python(module: str) -> list[str]:
    return [sys.executable, "-m", f"tests.interop.python.{module}"]


def forked(module: str) -> list[str]:
    return forks.module(f"tests.interop.python.{module}")


CLIENTS = {
    "ours": forked("our_client"),
    "official-python": forked("official_client"),
    "typescript": ["node", str(TS / "client.mjs")],
}
AGENTS = {
    "ours": forked("our_agent"),
    "adapted": forked("adapted_agent"),
    "official-python": forked("official_agent"),
    "typescript": ["node", str(TS / "agent.mjs")],
}


def environment(sdk: Path | None) -> dict[str, str]:
    """Ours, with the SDK in this folder before the installed one."""
    return dict(os.environ) if sdk is None else {**os.environ, "PYTHONPATH": str(sdk)}


def tapped(journal: Path, command: list[str]) -> list[str]:
    """The same command with a tap before it."""
    return [*forks.module("tests.interop.tap"), str(journal), *command]


def tell(
    client: list[str], tale: str, orders: list[str], agent: list[str], *, sdk: Path | None = None
) -> dict[str, Any]:
    """Let a client walk through a tale with an agent; what it saw. `sdk` is another official Python SDK."""
    if sdk is not None:
        client, agent = forks.unforked(client), forks.unforked(agent)
    run = subprocess.run(
        [*client, tale, json.dumps(orders), *agent],
        cwd=ROOT,
        env=environment(sdk),
        capture_output=True,
        text=True,
        timeout=patience(50),
    )
    assert run.returncode == 0, run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    return report
