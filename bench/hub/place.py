"""A real `dragoman hub` in a process of its own, with the benchmark's agent, and what it uses of the machine.

The journal is SQLite with its write-ahead log; `durability` is the hub's own setting. Nothing of the user's
is read or written: configuration, tokens and journal are in a folder of the caller's. Linux only.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from harness.processes import cpu_of

BENCH = Path(__file__).resolve().parent.parent
START_SECONDS = 60
AGENT = [sys.executable, "-m", "hub.agent"]

CONFIGURATION = """
listen = "127.0.0.1:{port}"
journal = {journal}
durability = "{durability}"
default_agent = "bench"
[agents.bench]
command = {command}
cwd = {bench}
env = {{ PYTHONPATH = {bench} }}
linger = 1
sessions = 100000
[limits]
connections = 5000
sessions = 100000
prompt_rate = "1000000/s"
connect_rate = "1000000/s"
"""


class HubProcess:
    """Started again after `kill`, it is at the same address, with the same journal and token."""

    def __init__(self, folder: Path, *, durability: str = "full") -> None:
        self.journal = folder / "hub.db"
        self.url = self.token = ""
        self._durability = durability
        self._folder = folder
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        command = [sys.executable, "-m", "dragoman", "hub", "--json", "--config", str(self._configuration())]
        places = {f"XDG_{name}_HOME": str(self._folder) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **places}
            )
        assert self._process.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(self._process.stdout.readline), START_SECONDS)
        if not line:
            raise RuntimeError(f"the hub did not start: {(self._folder / 'log').read_text()[-500:]}")
        said = json.loads(line)
        self.token = said["token"] or self.token
        self.url = said["acp"]
        self._port = int(self.url.removesuffix("/acp").rpartition(":")[2])

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process is not None and process.stdout is not None:
            process.stdout.close()

    def cpu(self) -> float:
        """Seconds of all its threads so far."""
        return cpu_of(self._pid)

    def written(self) -> int:
        """Bytes that it wrote with system calls so far, to files and sockets."""
        fields = dict(line.split(": ") for line in Path(f"/proc/{self._pid}/io").read_text().splitlines())
        return int(fields["wchar"])

    def memory_kb(self, name: str = "VmRSS") -> int:
        for line in Path(f"/proc/{self._pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise LookupError(name)

    @property
    def _pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _configuration(self) -> Path:
        path = self._folder / "hub.toml"
        values = {"journal": str(self.journal), "command": AGENT, "bench": str(BENCH)}
        quoted = {name: json.dumps(value) for name, value in values.items()}
        path.write_text(CONFIGURATION.format(port=self._port, durability=self._durability, **quoted))
        return path


@contextlib.asynccontextmanager
async def running_hub(folder: Path, *, durability: str = "full") -> AsyncIterator[HubProcess]:
    hub = HubProcess(folder, durability=durability)
    try:
        await hub.start()
        yield hub
    finally:
        hub.end()
