"""The coder driven by acpx, a client of other makers: files, permission and terminals are all its own."""

import asyncio
import os
import shlex
import shutil
from pathlib import Path

import pytest

from dragoman.testing.models import call, scripted_model, think, turn
from tests.forks import DRAGOMAN
from tests.interop.programs import TS

ACPX = shutil.which("acpx") or shutil.which(TS.parent / "acpx" / "node_modules" / ".bin" / "acpx")

pytestmark = [
    pytest.mark.bound(55),
    pytest.mark.timeout(120),
    pytest.mark.skipif(ACPX is None, reason="needs acpx: npm install -g acpx"),
]


async def test_acpx_reads_edits_and_runs(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    script = [
        turn(think("Hm."), "Looking. ", call("read", path="a.py")),
        turn(call("edit", path="a.py", old="x = 1", new="x = 2"), call("run", command="cat a.py")),
        turn("All done."),
    ]
    async with scripted_model(script) as model:
        # The other format is spoken below, and wherever acpx drives the coder in tests/requirements.
        settings = "--model small --api anthropic"
        settings += f" --base-url {model.anthropic_url} --sessions {tmp_path / 's.db'}"
        code, told = await acpx(
            f"{shlex.join(DRAGOMAN)} agent code {settings}",
            tmp_path,
            "--approve-all",
            "exec",
            "Change x",
        )
    assert code == 0, told
    assert "All done." in told
    assert "end_turn" in told
    assert (tmp_path / "a.py").read_text() == "x = 2\n"
    assert [result.text for result in model.requests[2].results.values()] == [
        "     1\tx = 1",
        "Edited a.py at line 1.",
        "x = 2\n(exit status 0)",
    ]


@pytest.mark.slow
async def test_what_acpx_denies_does_not_happen(tmp_path: Path) -> None:
    script = [turn(call("run", command="touch x")), turn("As you wish.")]
    async with scripted_model(script) as model:
        settings = f"--model small --base-url {model.openai_url} --sessions {tmp_path / 's.db'}"
        command = f"{shlex.join(DRAGOMAN)} agent code {settings}"
        _, told = await acpx(command, tmp_path, "--deny-all", "exec", "Go")
    assert "As you wish." in told
    assert not (tmp_path / "x").exists()
    (result,) = model.requests[1].results.values()
    assert "did not allow" in result.text


async def acpx(agent: str, folder: Path, *arguments: str) -> tuple[int | None, str]:
    """Its exit status, and all that it printed."""
    assert ACPX is not None
    child = await asyncio.create_subprocess_exec(
        ACPX,
        *["--agent", agent, "--cwd", str(folder), *arguments],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "HOME": str(folder)},  # it keeps sessions there
    )
    told, _ = await child.communicate()
    return child.returncode, told.decode()
