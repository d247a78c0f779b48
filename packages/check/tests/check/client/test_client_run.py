from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman.transport.contract import Grace
from dragoman_check.client.client_run import fill_command, run_client

STAND_IN = ["/opt/a python", "-m", "dragoman", "check", "stand-in"]


def test_the_stand_in_is_one_word_a_list_or_many_words() -> None:
    words = fill_command(["client", "--agent", "{agent}", "--json={agent_json}", "{agent_words}"], STAND_IN)
    assert words[:2] == ["client", "--agent"]
    assert shlex.split(words[2]) == STAND_IN
    assert json.loads(words[3].removeprefix("--json=")) == STAND_IN
    assert words[4:] == STAND_IN


def test_a_command_without_a_place_for_the_agent_is_a_mistake() -> None:
    with pytest.raises(LocalMistake, match="does not say where the agent goes"):
        fill_command(["client", "agent"], STAND_IN)


async def test_a_client_gets_its_lines_and_its_end_is_told(tmp_path: Path) -> None:
    program = "import sys; print(sys.stdin.read().upper()); print('bad', file=sys.stderr); sys.exit(3)"
    command = [sys.executable, "-S", "-E", "-c", program]
    run = await run_client(command, says=["one", "two"], cwd=tmp_path, seconds=20)
    assert run.status == 3
    assert run.output.split() == ["ONE", "TWO"]
    assert run.complaints.split() == ["bad"]


async def test_a_client_that_does_not_end_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-E", "-c", "import sys, time; sys.stdin.read(); time.sleep(600)"]
    run = await run_client(command, cwd=tmp_path, seconds=0.1, grace=Grace.steps(0.05))
    assert run.status is None
