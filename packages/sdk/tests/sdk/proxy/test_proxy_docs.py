"""The programs of docs/proxies.md run: those that serve are talked to, the others come to their end."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.schema.v1 import (
    AgentMessageChunk,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    TextContent,
)
from dragoman.testing.pace import patience
from tests.forks import DRAGOMAN, forked

PAGE = Path("docs/proxies.md")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
SERVING = [program for program in PROGRAMS if "serve(" in program]
OTHERS = [program for program in PROGRAMS if "serve(" not in program]

EXPECTED = ["You said: Never touch main. hi", "You said: hi", "You said: hi", "NEVER TOUCH MAIN. HI"]


def with_our_program(folder: Path) -> dict[str, str]:
    """The page says `dragoman`, as its readers would; here that is the tests' own."""
    program = folder / "dragoman"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(DRAGOMAN)} "$@"\n')
    program.chmod(0o700)
    site = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]), "PYTHONPATH": site}


def test_the_page_has_the_programs_that_are_tried() -> None:
    assert len(SERVING) == len(EXPECTED)
    assert OTHERS


@pytest.mark.bound(20)
@pytest.mark.parametrize(("program", "expected"), list(zip(SERVING, EXPECTED, strict=False)))
async def test_a_program_that_serves_answers_a_prompt(program: str, expected: str, tmp_path: Path) -> None:
    client = Client()

    @client.request_permission
    async def yes(request: RequestPermissionRequest) -> RequestPermissionResponse:
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id="yes"))

    env = with_our_program(tmp_path)
    async with connect(forked([sys.executable, "-c", program]), client=client, env=env) as agent:
        session = await agent.new_session(cwd="/tmp")
        texts = [
            update.content.text
            async for update in session.prompt("hi")
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
        ]
    assert "".join(texts) == expected


@pytest.mark.parametrize("program", OTHERS)
def test_any_other_program_comes_to_its_end(program: str) -> None:
    subprocess.run(forked([sys.executable, "-c", program]), check=True, timeout=patience(20))
