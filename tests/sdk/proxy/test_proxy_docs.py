"""The programs of docs/proxies.md run: those that serve are talked to, the others come to their end."""

from __future__ import annotations

import os
import re
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

PAGE = Path("docs/proxies.md")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
SERVING = [program for program in PROGRAMS if "serve(" in program]
OTHERS = [program for program in PROGRAMS if "serve(" not in program]

EXPECTED = ["You said: Never touch main. hi", "You said: hi", "You said: hi", "NEVER TOUCH MAIN. HI"]


def with_our_programs(folder: Path) -> dict[str, str]:
    """The page says `python3` and `dragoman`, as its readers would; here those are the tests' own."""
    (folder / "python3").symlink_to(sys.executable)
    site = os.pathsep.join(entry for entry in sys.path if entry)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": site}


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

    env = with_our_programs(tmp_path)
    async with connect([sys.executable, "-c", program], client=client, env=env) as agent:
        session = await agent.new_session(cwd="/tmp")
        texts = [
            update.content.text
            async for update in session.prompt("hi")
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
        ]
    assert "".join(texts) == expected


@pytest.mark.parametrize("program", OTHERS)
def test_any_other_program_comes_to_its_end(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=patience(20))
