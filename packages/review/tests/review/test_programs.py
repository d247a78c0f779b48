"""Tools that are started: found in safe places only, and gone at their deadline with all they started."""

import sys
from pathlib import Path

import pytest

from dragoman_review.programs import ToolFailed, run_program
from tests.transport.programs import alive, eventually


async def test_a_program_gets_its_text_and_gives_its_answer() -> None:
    done = await run_program([sys.executable, "-c", "print(input()[::-1])"], text=b"abc\n")
    assert (done.status, done.out) == (0, b"cba\n")


async def test_a_program_that_is_not_there_is_a_failure() -> None:
    with pytest.raises(ToolFailed, match="cannot be started"):
        await run_program(["/no/such/program"])


async def test_a_program_that_floods_is_ended_at_its_deadline() -> None:
    flood = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    with pytest.raises(ToolFailed, match="longer than 1 seconds"):
        await run_program([sys.executable, "-c", flood], deadline=1)


@pytest.mark.bound(20)
async def test_what_a_tool_started_is_gone_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    body = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(1000)\n"
    )
    with pytest.raises(ToolFailed):
        await run_program([sys.executable, "-c", body], deadline=2)
    child = int(mark.read_text())
    await eventually(lambda: not alive(child))  # killed with its group; nobody waits for a grandchild


async def test_a_program_that_does_not_read_its_text_is_no_error() -> None:
    done = await run_program([sys.executable, "-c", "pass"], text=b"x" * 1_000_000)
    assert done.status == 0
