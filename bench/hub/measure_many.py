"""Sessions that stream at once on one hub, in one process with a scripted agent and their clients.

Arguments: how many updates in all; then how many sessions, each number in a process of its own. The journal
is SQLite and durable. Printed as JSON: by number of sessions the processor seconds until all turns have
begun, the seconds of wall and processor from there on, the growth of the resident set at its highest from
there on and with the sessions themselves, whether each session was in order, and how far the last session was
when half of all updates had come, as a part of how far the first one was.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dragoman.hub.agents.channel import AgentChannel, DirectChannel
from dragoman.hub.agents.pool import AgentSpec
from dragoman.hub.engine.options import HubOptions
from dragoman.hub.gate.admission import Grant
from dragoman.hub.hub import Hub
from dragoman.hub.runner import collect_seldom
from dragoman.journal import open_journal
from dragoman.sdk.serve import serving
from dragoman.transport.memory import memory_pair
from hub.counting_agent import Gate, numbered_agent
from peers.measure import memory_kb

WORDS = b'"text":"'

TOGETHER = 100
"""Sessions that are opened at the same time: they share what the disk takes."""


class Counter:
    """A client of one session: hears numbers, which must come one after the other."""

    def __init__(self, hub: Hub, progress: Progress) -> None:
        here, there = memory_pair()
        self.seen = self._id = 0
        self.in_order = True
        self._progress = progress
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._transport = here
        here.start(self)
        hub.accept(there, Grant("owner"))

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            place = line.find(WORDS)
            if place >= 0:
                number = line[place + len(WORDS) : line.find(b'"', place + len(WORDS))]
                self.in_order = self.in_order and number == b"%d" % self.seen
                self.seen += 1
            else:
                self._heard(json.loads(line))
        self._progress.look()

    def _heard(self, message: dict[str, Any]) -> None:
        waiting = self._answers.pop(message.get("id", 0), None)
        if waiting is not None and "error" in message:
            waiting.set_exception(RuntimeError(str(message["error"])))
        elif waiting is not None:
            waiting.set_result(message["result"])

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None: ...

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        self._id += 1
        number = self._id
        self._answers[number] = asyncio.get_running_loop().create_future()
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self._transport.write(json.dumps(request).encode() + b"\n")
        return await self._answers[number]

    async def begin(self, folder: str) -> str:
        await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        made = await self.call("session/new", {"cwd": folder, "mcpServers": []})
        return str(made["sessionId"])

    async def join(self, session: str, folder: str) -> None:
        """Follow a session that another client has opened."""
        await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        await self.load(session, folder)

    async def load(self, session: str, folder: str) -> None:
        await self.call("session/load", {"sessionId": session, "cwd": folder, "mcpServers": []})

    async def stream(self, session: str, count: int) -> None:
        prompt = [{"type": "text", "text": str(count)}]
        await self.call("session/prompt", {"sessionId": session, "prompt": prompt})

    async def aclose(self) -> None:
        await self._transport.aclose()


class Progress:
    """Notices when half of everything has come."""

    def __init__(self, total: int) -> None:
        self.clients: list[Counter] = []
        self.fairness = 0.0
        self._half = total // 2
        self._looks = 0

    def look(self) -> None:
        self._looks += 1
        if self.fairness or self._looks % max(1, len(self.clients) // 20):
            return
        seen = [client.seen for client in self.clients]
        if sum(seen) >= self._half:
            self.fairness = max(min(seen), 0.001) / max(seen)


async def measure(total: int, sessions: int) -> dict[str, Any]:
    collect_seldom()
    progress, gate = Progress(total), Gate(sessions)
    served = []

    async def open_() -> AgentChannel:
        ours, theirs = memory_pair()
        served.append(serving(numbered_agent(gate), theirs))
        await served[-1].__aenter__()
        return DirectChannel(ours)

    with tempfile.TemporaryDirectory() as place:
        options = HubOptions(default_agent="scripted")
        agents = {"scripted": AgentSpec(name="scripted", open=open_)}
        async with (
            open_journal(Path(place, "hub.db")) as journal,
            Hub(journal, agents, options=options) as hub,
        ):
            empty = memory_kb("VmRSS")
            progress.clients = [Counter(hub, progress) for _ in range(sessions)]
            opened: list[str] = []
            for first in range(0, sessions, TOGETHER):
                some = progress.clients[first : first + TOGETHER]
                opened += await asyncio.gather(*(client.begin(place) for client in some))
            pairs = zip(progress.clients, opened, strict=True)
            start_used = time.process_time()
            async with asyncio.TaskGroup() as turns:
                for client, session in pairs:
                    turns.create_task(client.stream(session, total // sessions))
                await gate.all_there.wait()
                base, used, begun = memory_kb("VmRSS"), time.process_time(), time.perf_counter()
                gate.opened.set()
            result = {
                "start_cpu": used - start_used,
                "wall": time.perf_counter() - begun,
                "cpu": time.process_time() - used,
                "peak_kb": memory_kb("VmHWM") - base,
                "whole_kb": memory_kb("VmHWM") - empty,
                "fairness": progress.fairness,
                "whole": all(one.in_order and one.seen == total // sessions for one in progress.clients),
            }
            for client in progress.clients:
                await client.aclose()
        for one in served:
            await one.__aexit__(None, None, None)
    return result


def main(total: int, numbers: list[int]) -> None:
    if len(numbers) == 1:
        print(json.dumps(asyncio.run(measure(total, numbers[0]))))
        return
    results = {}
    for number in numbers:
        command = [sys.executable, "-m", "hub.measure_many", str(total), str(number)]
        results[number] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(word) for word in sys.argv[2:]])
