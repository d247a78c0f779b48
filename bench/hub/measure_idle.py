"""What an open, idle session costs a hub: sessions of one turn that a client follows.

Argument: how many sessions. Printed as JSON: by how many bytes the resident set of `dragoman hub`, as it is
shipped, has grown for each session. With `--lines`, what `tracemalloc` sees for each, and the lines that hold
most: for that the hub, an agent and a client that keep nothing are in this process.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman.transport.memory import MemoryTransport, memory_pair
from dragoman_hub.agents.channel import AgentChannel, DirectChannel
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_local.journal.sqlite import open_journal
from hub.bare import BareClient
from hub.measure_memory import open_sessions
from hub.place import running_hub

WARM = 100
SHOWN = 30


class Peer:
    """Speaks raw messages over a pipe in memory."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        transport.start(self)

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            self.hear(json.loads(line))

    def hear(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def say(self, **message: Any) -> None:
        self.transport.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None: ...


class QuickAgent(Peer):
    made = 0

    def hear(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method == "initialize":
            self.say(id=message["id"], result={"protocolVersion": 1})
        elif method == "session/new":
            self.made += 1
            self.say(id=message["id"], result={"sessionId": f"session-{self.made:08}-0000-0000"})
        elif method == "session/prompt":
            content = {"type": "text", "text": "hello"}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            params = {"sessionId": message["params"]["sessionId"], "update": update}
            self.say(method="session/update", params=params)
            self.say(id=message["id"], result={"stopReason": "end_turn"})


class QuickClient(Peer):
    number = 0
    waiting: asyncio.Future[Any] | None = None

    def hear(self, message: dict[str, Any]) -> None:
        if message.get("id") == self.number and self.waiting is not None and "method" not in message:
            self.waiting.set_result(message["result"])

    async def call(self, method: str, **params: Any) -> Any:
        self.number += 1
        self.waiting = asyncio.get_running_loop().create_future()
        self.say(id=self.number, method=method, params=params)
        return await self.waiting

    async def open_sessions(self, count: int, folder: str) -> None:
        for _ in range(count):
            made = await self.call("session/new", cwd=folder, mcpServers=[])
            prompt = [{"type": "text", "text": "hello there"}]
            await self.call("session/prompt", sessionId=made["sessionId"], prompt=prompt)


async def open_agent() -> AgentChannel:
    here, there = memory_pair()
    QuickAgent(there)
    return DirectChannel(here)


@asynccontextmanager
async def hub_with_sessions(count: int) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    """A hub with so many sessions; the function that it gives opens more of them."""
    with tempfile.TemporaryDirectory() as place:
        async with (
            open_journal(Path(place, "hub.db"), durability="off") as journal,
            Hub(
                journal,
                {"one": AgentSpec(name="one", open=open_agent)},
                options=HubOptions(default_agent="one"),
            ) as hub,
        ):
            here, there = memory_pair()
            client = QuickClient(here)
            hub.accept(there, Grant("owner"))
            await client.call("initialize", protocolVersion=1, clientCapabilities={})
            await client.open_sessions(count, place)
            yield lambda more: client.open_sessions(more, place)


async def traced_lines(count: int, *, warm: int = WARM) -> list[tracemalloc.StatisticDiff]:
    """What each line holds after so many more sessions, most first. The hub has had `warm` before."""
    async with hub_with_sessions(warm) as open_sessions:
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.take_snapshot()
            await open_sessions(count)
            gc.collect()
            return tracemalloc.take_snapshot().compare_to(before, "lineno")
        finally:
            tracemalloc.stop()


async def print_lines(count: int) -> None:
    lines = await traced_lines(count)
    print(f"traced: {sum(line.size_diff for line in lines) / count:.0f} bytes for each of {count}")
    for line in lines[:SHOWN]:
        print(f"{line.size_diff / count:8.0f}  {line.traceback}")


async def print_resident(count: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place, "project")
        folder.mkdir()
        async with (
            running_hub(Path(place)) as hub,
            BareClient(hub.url, hub.headers, cwd=str(folder)) as client,
        ):
            await open_sessions(client, WARM)
            before = hub.memory_kb()
            await open_sessions(client, count)
            print(json.dumps({"bytes": round((hub.memory_kb() - before) * 1024 / count)}))


if __name__ == "__main__":
    report = print_lines if "--lines" in sys.argv else print_resident
    asyncio.run(report(int(sys.argv[1])))
