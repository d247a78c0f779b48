"""Clients of the official SDKs keep sessions with an agent that has the kit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.forks import forked
from tests.interop.programs import ROOT, TS, needs_node

AGENT = forked([sys.executable, str(ROOT / "examples" / "notes_agent.py")])
PYTHON = forked([sys.executable, str(Path(__file__).with_name("official_keeper.py"))])
TYPESCRIPT = ["node", str(TS / "keeper.mjs")]


@pytest.mark.in_turn("client")
@pytest.mark.parametrize(
    "client", [PYTHON, pytest.param(TYPESCRIPT, marks=needs_node)], ids=["python", "typescript"]
)
def test_a_session_is_talked_in_loaded_listed_forked_and_forgotten(client: list[str], tmp_path: Path) -> None:
    command = [*client, *AGENT, str(tmp_path / "sessions.db")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(50), cwd=ROOT)
    assert run.returncode == 0, run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    assert report["modes"] == ["plain", "careful"]
    assert report["options"] == ["mode", "order"]
    assert report["mode"] == "plain"
    assert report["stop"] == "end_turn"
    assert report["listed"] == [[True, "buy milk"]]
    assert report.get("left", [True]) == [True]
    live = [one for one in report["live"] if one[0] != "config_option_update"]
    replayed = report["replayed"]
    assert replayed[0] == ["user_message_chunk", "buy milk"]
    assert replayed[1:] == live
    assert live[-1] == ["agent_message_chunk", "That is note 1."]
