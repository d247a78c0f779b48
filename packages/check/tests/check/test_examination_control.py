"""Every live examination that a signal ends reports what it has, and says that it is not all.

Real programs. Each case is stuck in the middle of its examination when the signal comes, so that there is
something to report and something that is missing.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dragoman_check.examination_control import NOT_REPEATED
from tests import forks
from tests.apps.run.run_process import DRAGOMAN, home
from tests.check.agent.agents import raw
from tests.check.endpoint.server import GoodServer
from tests.together import SideBySide
from tests.transport.asgi_server import served

together = SideBySide()
pytestmark = pytest.mark.in_turn("how")

# Introduces itself to the stand-in, and ends. When it is started again, it stays.
CLIENT = """
import pathlib, subprocess, sys
agent = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1)
agent.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\\n')
agent.stdin.flush()
agent.stdout.readline()
seen = pathlib.Path("seen")
if seen.exists():
    print("stuck", file=sys.stderr, flush=True)
    sys.stdin.read()
    agent.wait()
seen.touch()
agent.stdin.close()
agent.wait()
"""


class Case(NamedTuple):
    """An examination, and the line on standard error after which it cannot end by itself."""

    words: list[str]
    last_line: str


CASES = {
    # Two scenes are enough for a report with a gap; every scene more costs a process and its verdicts.
    "agent": Case(
        ["agent", "--jobs", "1", "--scene", "bare", "--scene", "versions", "--", *raw()],
        "scene 2 of 2: versions",
    ),
    "second look": Case(
        ["agent", "--scene", "versions", "--only", "INIT-07", "--", *raw("unsteady and silent")],
        "repeating failed scenes to be sure: versions",
    ),
    "client": Case(
        [
            "client",
            "--profile",
            "bare",
            "--profile",
            "full",
            "--",
            sys.executable,
            "-S",
            "-c",
            CLIENT,
            "{agent_words}",
        ],
        "dragoman check client: run 2 of 2",
    ),
    "endpoint": Case(["endpoint", "URL"], "scene 3 of 4: socket"),
    "translate": Case(
        ["translate", "--jobs", "1", "--agent", "v1", "--scene", "bare", "--scene", "versions", "--", *raw()],
        "scene 2 of 2: versions, with the interpreter",
    ),
}
SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"]


class StuckServer(GoodServer):
    """Answers over HTTP, and never over a WebSocket."""

    async def _socket(self, receive: Any, send: Any) -> None:
        await receive()
        await receive()  # the end of the connection


class Done(NamedTuple):
    status: int
    out: str
    err: str


async def interrupt(
    name: str, folder: Path, *signals: str, options: Sequence[str] = (), prefix: Sequence[str] = ()
) -> Done:
    """Start the examination, and send it signals in the middle."""
    case = CASES[name]
    async with served(StuckServer()) as port:
        command, *words = [word.replace("URL", f"http://127.0.0.1:{port}/acp") for word in case.words]
        process = await asyncio.create_subprocess_exec(
            *([*prefix, *DRAGOMAN] if prefix else forks.DRAGOMAN),
            *("check", command, *options, *words),
            cwd=folder,
            env=home(folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        said = b""
        while case.last_line not in said.decode():
            line = await process.stderr.readline()
            assert line, said.decode()
            said += line
        for how in signals:
            process.send_signal(getattr(signal, how))
        out, err = await process.communicate()
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


@pytest.mark.bound(60)  # several processes, one after the other
@pytest.mark.parametrize("how", SIGNALS)
@pytest.mark.parametrize("name", ["agent", "client", "endpoint"])
@together
async def test_a_signal_ends_an_examination_with_a_report_of_what_it_has(
    name: str, how: str, tmp_path: Path
) -> None:
    done = await interrupt(name, tmp_path, how, options=["--format", "json=report.json", "--format", "text"])
    reason = f"{how} ended the examination: this report is incomplete"
    assert done.status == 128 + getattr(signal, how)
    assert f"dragoman check: {reason}\n" in done.err
    assert "Traceback" not in done.err
    assert f"BLOCKED: {reason}" in done.out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["blocked"] == reason
    assert report["outcome"] == "blocked"
    assert report["counts"]["passed"] > 0
    assert report["counts"]["blocked"] > 0
    assert report["counts"]["not exercised"] == 0


@pytest.mark.bound(60)
@pytest.mark.parametrize("how", SIGNALS)
@together
async def test_a_signal_ends_a_comparison_with_what_both_examinations_show(how: str, tmp_path: Path) -> None:
    done = await interrupt("translate", tmp_path, how, options=["--json"])
    assert done.status == 128 + getattr(signal, how)
    assert "Traceback" not in done.err
    reason = f"{how} ended the examination: this report is incomplete"
    assert f"dragoman check: {reason}\n" in done.err
    # The scene that one side alone has played to its end is no loss.
    assert json.loads(done.out) == {"differences": [], "blocked": reason}


@pytest.mark.bound(60)
@together
async def test_a_failure_without_a_second_look_is_a_warning_that_says_so(tmp_path: Path) -> None:
    done = await interrupt("second look", tmp_path, "SIGTERM", options=["--format", "json"])
    assert done.status == 128 + signal.SIGTERM
    report = json.loads(done.out)
    assert "this report is incomplete" in report["blocked"]
    [verdict] = report["parts"][0]["verdicts"]
    assert (verdict["status"], verdict["reason"]) == ("warned", NOT_REPEATED)


@pytest.mark.bound(60)
@together
async def test_the_recordings_of_an_interrupted_examination_are_kept_for_their_owner_alone(
    tmp_path: Path,
) -> None:
    await interrupt("agent", tmp_path, "SIGTERM", options=["--save", "saved"])
    files = list((tmp_path / "saved").iterdir())
    assert files
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


@pytest.mark.bound(60)
@together
async def test_an_examination_under_nohup_survives_the_end_of_its_terminal(tmp_path: Path) -> None:
    done = await interrupt("agent", tmp_path, "SIGHUP", "SIGTERM", prefix=["nohup"])
    assert done.status == 128 + signal.SIGTERM
