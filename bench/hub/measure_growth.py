"""How one hub grows: with its sessions, with the clients of a session, with the length of a history.

Arguments: what grows (`sessions`, `clients` or `history`), and how many. Hub, agent and clients are in one
process, the journal is SQLite and durable. Printed as JSON: processor microseconds for each update that
reached a client, and how many KB the resident set grew at its highest.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman.hub.agents.channel import AgentChannel, DirectChannel
from dragoman.hub.agents.pool import AgentSpec
from dragoman.hub.engine.options import HubOptions
from dragoman.hub.hub import Hub
from dragoman.journal import open_journal
from dragoman.sdk.serve import ServeContext, serving
from dragoman.transport.memory import memory_pair
from hub import measure_many
from hub.counting_agent import Gate, numbered_agent
from hub.measure_many import Counter, Progress
from hub.measure_restart import entries
from peers.measure import memory_kb

UPDATES_IN_ALL = 50_000
UPDATES_OF_SESSION = 10_000
WARM = 500
TOGETHER = 10_000


@asynccontextmanager
async def hub_in_process(place: str, gate: Gate) -> AsyncIterator[Hub]:
    """A hub with the counting agent."""
    agents: list[ServeContext] = []

    async def open_() -> AgentChannel:
        ours, theirs = memory_pair()
        agents.append(serving(numbered_agent(gate), theirs))
        await agents[-1].__aenter__()
        return DirectChannel(ours)

    specs = {"scripted": AgentSpec(name="scripted", open=open_)}
    options = HubOptions(default_agent="scripted")
    async with open_journal(Path(place, "hub.db")) as journal, Hub(journal, specs, options=options) as hub:
        yield hub
    for agent in agents:
        await agent.__aexit__(None, None, None)


async def sessions(number: int) -> dict[str, float]:
    """So many sessions stream at once."""
    total = max(UPDATES_IN_ALL, number)
    result = await measure_many.measure(total, number)
    if not result["whole"]:
        raise SystemExit("a session lost something or its order")
    return {"us": result["cpu"] / total * 1e6, "kb": result["whole_kb"]}


class Follower(Counter):
    """A client that knows when it has heard everything."""

    def __init__(self, hub: Hub, progress: Progress) -> None:
        super().__init__(hub, progress)
        self.all_event = asyncio.Event()

    def feed(self, block: bytes) -> None:
        super().feed(block)
        if self.seen >= UPDATES_OF_SESSION:
            self.all_event.set()


async def clients(number: int) -> dict[str, float]:
    """So many clients follow one session that streams."""
    gate, progress = Gate(1), Progress(UPDATES_OF_SESSION * number)
    gate.opened.set()
    with tempfile.TemporaryDirectory() as place:
        async with hub_in_process(place, gate) as hub:
            base = memory_kb("VmRSS")
            followers = [Follower(hub, progress) for _ in range(number)]
            progress.clients = [*followers]
            session = await followers[0].begin(place)
            await followers[0].stream(session, WARM)
            for follower in followers[1:]:
                await follower.join(session, place)
            for follower in followers:
                follower.seen = 0
            used = time.process_time()
            await followers[0].stream(session, UPDATES_OF_SESSION)
            for follower in followers:
                await follower.all_event.wait()
            used = time.process_time() - used
            for follower in followers:
                await follower.aclose()
    peak = memory_kb("VmHWM") - base
    return {"us": used / UPDATES_OF_SESSION / number * 1e6, "kb": peak}


async def history(number: int) -> dict[str, float]:
    """One client loads a session of so many updates."""
    with tempfile.TemporaryDirectory() as place:
        await _fill(Path(place, "hub.db"), place, number)
        async with hub_in_process(place, Gate(1)) as hub:
            client = Counter(hub, Progress(number))
            await client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            base, used = memory_kb("VmRSS"), time.process_time()
            await client.load("session-0", place)
            used, peak = time.process_time() - used, memory_kb("VmHWM") - base
            if client.seen != number + 1:  # and the prompt
                raise SystemExit(f"{client.seen} updates came instead of {number + 1}")
            await client.aclose()
    return {"us": used / number * 1e6, "kb": peak}


async def _fill(path: Path, folder: str, updates: int) -> None:
    story = entries("session-0", folder, min(updates, TOGETHER))
    said = story[2:-2]
    async with open_journal(path, durability="off") as journal:
        await journal.append("session-0", story[:2])
        for _ in range(0, updates, len(said)):
            await journal.append("session-0", said)
        await journal.append("session-0", story[-2:])
        await journal.describe("session-0", agent="scripted", cwd=folder, title="session-0", state="idle")


MEASURES: dict[str, Any] = {"sessions": sessions, "clients": clients, "history": history}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(MEASURES[sys.argv[1]](int(sys.argv[2])))))
