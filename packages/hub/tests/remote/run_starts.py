"""Measures how long `dragoman ssh` takes to the first answer: cold, warm, and warm over a shared connection.

    python -m tests.remote.run_starts --starts 5

A client starts `dragoman ssh there -- AGENT` with a real sshd on loopback, and sends `initialize`,
`session/new` and a prompt; the clock stops at the first text of the answer. Seconds of processors are those
of both sides: whatever the start has left behind is ours to wait for.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.remote.other_side import SshServer, why_no_sshd

ECHO = ("dragoman", "agent", "echo")

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: processes whose parent has ended become our children."""


class StartTimes(Struct, frozen=True, kw_only=True):
    """Seconds from the start to the answer to `initialize`, and to the first text."""

    initialize: float
    text: float


def time_start(words: Sequence[str], *, env: dict[str, str], cwd: Path) -> StartTimes:
    """One start, from the first process to the first text; then it is ended as an editor does."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "ssh", *words],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018
    client = StartClient(process)
    client.call(1, "initialize", protocolVersion=1, clientCapabilities={})
    client.hear(answer_to=1)
    initialize = time.monotonic() - began
    client.call(2, "session/new", cwd=str(cwd), mcpServers=[])
    session_id = client.hear(answer_to=2)["result"]["sessionId"]
    client.call(3, "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Hello"}])
    client.hear(method="session/update")
    text = time.monotonic() - began
    process.stdin.close()
    process.wait()
    process.stdout.close()
    return StartTimes(initialize=initialize, text=text)


class StartClient:
    """As little of a client as there can be, so that its own time does not count."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, call_id: int, method: str, **params: object) -> None:
        assert self._process.stdin is not None
        request = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def hear(self, *, method: str = "", answer_to: int | None = None) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line)
            if (method and message.get("method") == method) or message.get("id", 0) == answer_to:
                return message
        raise AssertionError("the agent has ended")


class ProcessorClock:
    """Seconds of processors that processes of ours have used: those that have ended, and a server with its
    children.
    """

    def __init__(self, server: int) -> None:
        self._server = server

    def seconds(self) -> float:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        fields = Path(f"/proc/{self._server}/stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))  # its own time, and that of its children
        return usage.ru_utime + usage.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


class StartReport(Struct, frozen=True, kw_only=True):
    """Starts of one kind."""

    kind: str
    times: list[StartTimes]
    processors: float
    """Seconds for each start, its end included."""

    def __str__(self) -> str:
        texts = sorted(times.text for times in self.times)
        middle = texts[len(texts) // 2]
        return (
            f"{self.kind}: first text after {middle:.2f} s ({texts[0]:.2f} to {texts[-1]:.2f}), "
            f"processors {self.processors:.2f} s"
        )


def measure(folder: Path, *, starts: int, agent: Sequence[str]) -> Iterator[StartReport]:
    """Cold starts, warm ones, and warm ones over a connection that is open."""
    server = SshServer(folder)
    server.start()
    home = folder / "here"
    home.mkdir()
    kinds = ("CACHE", "CONFIG", "DATA", "STATE")
    env = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in kinds} | {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "DRAGOMAN_REMOTE_PYTHON": sys.executable,
        "DRAGOMAN_SSH_CONFIG": str(server.config()),
    }
    clock = ProcessorClock(server.pid)

    def repeat(kind: str, count: int, *options: str) -> StartReport:
        began = clock.seconds()
        words = ("there", *options, "--", *agent)
        times = [time_start(words, env=env, cwd=folder) for _ in range(count)]
        return StartReport(kind=kind, times=times, processors=(clock.seconds() - began) / count)

    try:
        yield repeat("cold", 1, "--no-sharing")
        repeat("bytecode", 1, "--no-sharing")
        yield repeat("warm", starts, "--no-sharing")
        repeat("first of a shared connection", 1)
        yield repeat("shared", starts)
        subprocess.run([sys.executable, "-m", "dragoman", "ssh", "there", "--remove"], env=env, check=True)
    finally:
        server.stop()


def main() -> int:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("agent", nargs="*", default=list(ECHO))
    args = parser.parse_args()
    if why_no_sshd():
        sys.exit(why_no_sshd())
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        for report in measure(Path(folder), starts=args.starts, agent=args.agent):
            print(report, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
