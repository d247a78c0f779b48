"""A real hub with real agents, killed with -9 in the middle of everything: its client notices a pause."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import LinkClosed
from dragoman.sdk.resumption.transport import ResumingTransport
from dragoman.testing.pace import patience
from dragoman.transport.contract import Transport
from dragoman.transport.websocket import open_websocket
from tests.forks import Fork, first_line, start
from tests.hub.sessions.drops import Person, normalised
from tests.ports import KeptPort

pytestmark = [pytest.mark.bound(100), pytest.mark.timeout(150)]

KILLS = int(os.environ.get("DRAGOMAN_KILLS", "2"))
"""How often the hub is killed; a thousand times by hand."""


class KilledHub:
    """A hub as a process of its own, not of our tree: what it leaves behind must live on."""

    def __init__(self, folder: Path) -> None:
        self._kept_port = KeptPort()
        self.port = self._kept_port.number
        self._env = {
            **{name: value for name, value in os.environ.items() if "DRAGOMAN" not in name},
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self._log = (folder / "log").open("ab")
        self._config = folder / "hub.toml"
        self._config.write_text('default_agent = "echo"\n[limits]\nprompt_rate = "100000/min"\n')
        self.token = ""
        self.process: subprocess.Popen[bytes] | Fork | None = None

    async def start(self) -> None:
        place = ["--listen", f"127.0.0.1:{self.port}", "--config", str(self._config), "--json"]
        command = [sys.executable, "-m", "dragoman", "hub", *place]
        self.process = start(command, cwd=Path.cwd(), env=self._env, stderr=self._log.fileno())
        line = await asyncio.to_thread(first_line, self.process, Path(self._log.name))
        self.token = json.loads(line)["token"] or self.token

    def kill(self, how: int = signal.SIGKILL) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(how)
        self.process.wait(patience(30))
        self.process.stdout.close()

    async def connect(self) -> Transport:
        headers = {"authorization": f"Bearer {self.token}"}
        return await open_websocket(f"ws://127.0.0.1:{self.port}/acp", headers=headers)

    def close(self) -> None:
        self._log.close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[KilledHub]:
    made = KilledHub(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill(signal.SIGTERM)
    made.close()


async def conversation(hub: KilledHub, tmp_path: Path, kills: int, *, rounds: int) -> list[bytes]:
    """What a person heard of one conversation, while the hub was killed now and then."""
    chance = random.Random(7)
    transport = ResumingTransport(hub.connect, backoff=lambda failed: 0.02)
    person = Person(transport)
    over = asyncio.Event()

    async def kill() -> None:
        for number in range(kills):
            heard = len(person.raw) + chance.randint(1, 60)
            while len(person.raw) < heard and not over.is_set():  # noqa: ASYNC110 -- either will do
                await asyncio.sleep(0.005)
            if over.is_set():
                assert number > 0, "it was over before anything was killed"
                return
            await asyncio.to_thread(hub.kill)
            await hub.start()

    killing = asyncio.get_running_loop().create_task(kill())
    try:
        await person.begin()
        session = await person.new(str(tmp_path))
        for turn in range(rounds):
            for words in ("/stream 120", f"/ask {tmp_path}/made-{turn}"):
                answer = await person.answer(person.prompt(session, words))
                assert answer["result"]["stopReason"] == "end_turn", answer
    finally:
        over.set()
        await killing
        with contextlib.suppress(LinkClosed):
            await transport.aclose()
    made = list(tmp_path.glob("made-*"))
    assert len(made) == rounds, f"each was allowed, and done once, not {len(made)} of {rounds}"
    for path in made:
        path.unlink()
    return normalised(person.raw)


async def test_a_hub_may_be_killed_again_and_again(hub: KilledHub, tmp_path: Path) -> None:
    await hub.start()
    rounds = max(3, KILLS // 2)
    expected = await conversation(hub, tmp_path, 0, rounds=rounds)
    assert await conversation(hub, tmp_path, KILLS, rounds=rounds) == expected
