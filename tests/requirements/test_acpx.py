"""Both agents driven by `acpx`, a client of other people from npm, in one turn that asks and changes a file.

It is pinned in tests/interop/ts. Its newest release names a newer Node than some machines have; where it does
not run with the Node that is there, this is skipped and says so.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.models import scripted_model
from dragoman.testing.pace import patience
from tests.interop.programs import TS
from tests.requirements.cast import APP, ROLES, environment, script

ACPX = TS.parent / "acpx" / "node_modules" / ".bin" / "acpx"

pytestmark = [pytest.mark.bound(100), pytest.mark.timeout(120)]


@cache
def _missing() -> str | None:
    """Why it cannot be used, if it cannot."""
    if shutil.which("node") is None or not ACPX.exists():
        return "needs node and acpx: make setup"
    run = subprocess.run([ACPX, "--version"], capture_output=True, text=True, timeout=patience(50))
    return None if run.returncode == 0 else f"acpx does not run with this node: {run.stderr.strip()[-200:]}"


async def _ask(agent: list[str], prompt: str, answer: str, folder: Path) -> list[Any]:
    """One prompt; all frames of both ways."""
    words = [str(ACPX), "--cwd", str(folder), "--format", "json", answer, "--agent", shlex.join(agent)]
    child = await asyncio.create_subprocess_exec(
        *words,
        "exec",
        prompt,
        cwd=folder,
        env=environment(folder.parent),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=10_000_000,
    )
    output, complaints = await child.communicate()
    frames = [json.loads(line) for line in output.splitlines()]
    assert frames, complaints.decode()
    return frames


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        pytest.param("review", "--approve-all", marks=pytest.mark.slow),
        pytest.param("code", "--approve-all", marks=pytest.mark.slow),
        ("review", "--deny-all"),
    ],
)
async def test_acpx_can_drive_it(name: str, answer: str, tmp_path: Path) -> None:
    missing = await asyncio.to_thread(_missing)
    if missing is not None:
        pytest.skip(missing)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    prompt = "review app.py and fix it" if name == "review" else ROLES[name].edit
    async with scripted_model(script(), strict=False) as model:
        frames = await _ask(ROLES[name].start(tmp_path, model), prompt, answer, folder)
    methods = [frame["method"] for frame in frames if "method" in frame]
    assert methods[:2] == ["initialize", "session/new"]
    assert "fs/read_text_file" in methods
    (reason,) = [frame["result"]["stopReason"] for frame in frames if "stopReason" in frame.get("result", ())]
    assert reason == "end_turn"
    is_written = answer == "--approve-all"
    assert ("session/request_permission" in methods) is is_written, "it denies already to read"
    assert ("fs/write_text_file" in methods) is is_written
    assert ((folder / "app.py").read_text() != APP) is is_written
