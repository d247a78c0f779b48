"""A hub as people run it: `dragoman hub`, a process of its own with files of its own, and clients that come
to it over the network.

It is not one of our tree when it is killed: what it leaves behind, hosts and agents, must be found by the
next one. `stop` ends it as `SIGTERM` does, and its agents with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.testing.pace import patience
from dragoman.transport.websocket import open_websocket
from tests.forks import Fork, first_line, forked, start
from tests.hub.sessions.stage import Talker
from tests.ports import KeptPort

DRAGOMAN = [sys.executable, "-m", "dragoman"]
ROOT = Path(__file__).parents[5]
STARTING = 60.0

UNHURRIED = """
[limits]
connect_rate = "10000/s"
prompt_rate = "10000/s"
"""
"""Tests come more often than people do."""


class HubProcess:
    """One folder with everything of it, and one process at a time."""

    def __init__(
        self, folder: Path, *, config: str = "", before: Sequence[str] = (), is_forked: bool = True
    ) -> None:
        """`before` are the words of a command that runs the hub's. A fork has the command line, environment
        and memory of another process in `/proc`.
        """
        self._kept_port = KeptPort()
        self.port: int = self._kept_port.number
        self.folder = folder
        self.data = folder / "data" / "dragoman"
        self.log = folder / "log"
        self.work = folder / "work"
        """A folder for sessions: small, because hubs look at what turns change."""
        self.work.mkdir(exist_ok=True)
        self.token = ""
        self.process: subprocess.Popen[bytes] | Fork | None = None
        self._before = list(before)
        self._is_forked = is_forked
        self.config = folder / "config" / "dragoman" / "hub.toml"
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(f'default_agent = "echo"\nknown_agents = false\n{config or UNHURRIED}')

    @property
    def env(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if "DRAGOMAN" not in name}
        return {
            **ours,
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
        }

    @property
    def place(self) -> str:
        """Its address without a scheme."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def start(self) -> HubProcess:
        words = [*self._before, *DRAGOMAN, "hub", "--listen", self.place, "--json"]
        with self.log.open("ab") as log:
            self.process = start(
                words, cwd=ROOT, env=self.env, stderr=log.fileno(), is_forked=self._is_forked
            )
        line = first_line(self.process, self.log)
        self.token = json.loads(line)["token"] or self.token
        return self

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Its exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, how: int) -> int:
        assert self.process is not None
        process, self.process = self.process, None
        process.send_signal(how)
        status = process.wait(STARTING)
        assert process.stdout is not None
        process.stdout.close()
        return status

    async def client(self, *, token: str = "", query: str = "", **ours: Any) -> Talker:
        headers = {"authorization": f"Bearer {token or self.token}"}
        transport = await open_websocket(f"ws://{self.place}/acp{query}", headers=headers)
        return Talker(transport, **ours)

    def command(self, *words: str) -> str:
        """What a command says, run by the same person."""
        run = subprocess.run(
            forked([*DRAGOMAN, *words]),
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=patience(STARTING),
        )
        assert run.returncode == 0, run.stderr
        return run.stdout


@contextmanager
def running_hub(
    folder: Path, *, config: str = "", before: Sequence[str] = (), is_forked: bool = True
) -> Iterator[HubProcess]:
    hub = HubProcess(folder, config=config, before=before, is_forked=is_forked).start()
    try:
        yield hub
    finally:
        if hub.process is not None:
            hub.stop()


async def told_of(client: Talker, session: str) -> list[str]:
    """What a load tells of a session: the texts of prompts and answers, in order."""
    before = len(client.heard)
    await client.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
    kinds = ("user_message_chunk", "agent_message_chunk")
    return [
        one["params"]["update"]["content"]["text"]
        for one in client.heard[before:]
        if one.get("method") == "session/update" and one["params"]["update"]["sessionUpdate"] in kinds
    ]


async def leave(*clients: Talker) -> None:
    await asyncio.gather(*(client.transport.aclose() for client in clients))
