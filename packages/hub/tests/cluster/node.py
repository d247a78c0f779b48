"""A hub of a cluster: `dragoman hub` (by way of `telling`), a process on a machine of its own with files of
its own, which can be killed, stopped, paused and started again.

All hubs are given the same token, so that a client may come to any of them. What a killed one leaves behind
(keepers, agents) carries the folder of all in its command line: `end_leftovers` finds it by that.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from dragoman.testing.pace import deadline
from dragoman_hub.gate.grants_store import TokenStore
from tests.nats_servers import Place
from tests.ports import KeptPort

ROOT = Path(__file__).parents[4]
AGENT = Path(__file__).with_name("agent.py")
TASK_REPORT = Path(__file__).with_name("task_report.py")
STARTING = 60.0
STOPPING = 60.0

CONFIG = """
default_agent = "storm"
known_agents = false
insecure = true
hosts = ["{address}"]
[agents.storm]
command = {command}
dialect = "v1"
sessions = 20000
[limits]
connections = 5000
sessions = 20000
connect_rate = "100000/s"
prompt_rate = "100000/s"
prompts_queued = 1000
{more}
"""


class Node:
    """`journal` is an address that all share; empty is a file of its own, and no cluster."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        journal: str,
        place: Place | None = None,
        command: list[str] | None = None,
        more: str = "",
    ) -> None:
        """`more` are further lines of the configuration; `command` is another agent."""
        self.name = name
        self.place = place or Place()
        self._kept_port = KeptPort(self.place.host)
        self.address = f"{self.place.host}:{self._kept_port.number}"
        self.folder = folder / name
        self.journal = journal
        self.process: subprocess.Popen[bytes] | None = None
        self._changes = asyncio.Lock()
        """One start or end at a time: on a slow machine the next blow comes before the hub is up again."""
        self.log = self.folder / "log"
        self.notes = folder / "agents"
        """Where the agents of all nodes write down what they do."""
        self.notes.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data" / "dragoman"
        self.data.mkdir(parents=True)
        self._config = self.folder / "hub.toml"
        agent = command or [sys.executable, str(AGENT), str(self.notes), name]
        self._config.write_text(CONFIG.format(address=self.address, command=json.dumps(agent), more=more))

    @property
    def url(self) -> str:
        return f"ws://{self.address}/acp"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def begin(self) -> None:
        """Returns at once; `ready` says when it serves."""
        words = ["--listen", self.address, "--config", str(self._config), "--json"]
        if self.journal:
            words += ["--journal", self.journal, "--node", self.name]
        command = [*_dying_with_us(), *self.place.prefix, sys.executable, str(TASK_REPORT), "hub", *words]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self._env(), stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )

    async def ready(self) -> None:
        process = self.process
        assert process is not None
        assert process.stdout is not None
        async with deadline(STARTING):
            line = await asyncio.to_thread(process.stdout.readline)
        if not line:
            raise ChildProcessError(f"{self.name} did not start:\n{self.log.read_text()[-2000:]}")

    async def start(self) -> None:
        async with self._changes:
            self.begin()
            await self.ready()

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def end(self, how: int = signal.SIGTERM) -> None:
        """Gone when it returns; one that does not go in time is killed."""
        async with self._changes:
            process, self.process = self.process, None
            if process is None:
                return
            process.send_signal(signal.SIGCONT)
            process.send_signal(how)
            try:
                await asyncio.to_thread(process.wait, STOPPING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _env(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if "DRAGOMAN" not in name}
        places = {
            f"XDG_{name}_HOME": str(self.folder / name.lower())
            for name in ("DATA", "CONFIG", "STATE", "CACHE")
        }
        return {**ours, **places}


def share_token(nodes: list[Node]) -> str:
    """One that is good at all of them."""
    first = nodes[0].data / "tokens.json"
    token = TokenStore(first).first_token()
    assert token is not None
    for node in nodes[1:]:
        shutil.copy(first, node.data / "tokens.json")
        (node.data / "tokens.json").chmod(0o600)
    return token


def end_leftovers(folder: Path) -> list[int]:
    """Kill what killed hubs have left: whatever names a file in the folder in its command line."""
    mine = f"{folder}/".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes()
        except OSError:  # it ended while we looked
            continue
        if mine in command and int(place.name) not in (os.getpid(), os.getppid()):
            found.append(int(place.name))
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return found


def _dying_with_us() -> list[str]:
    """A test run that is killed takes its hubs along, where the system has a word for it."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
