"""What an open, idle session costs a hub, line by line: sessions of one turn that a client follows.

Argument: how many sessions. The hub, its agent and its client are in this process, and agent and client keep
nothing, so that `tracemalloc` sees what each line of the hub holds. Printed: bytes for each session, the
growth of the resident set, and the lines that hold most.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

from dragoman.hub.agents.channel import AgentChannel, DirectChannel
from dragoman.hub.agents.pool import AgentSpec
from dragoman.hub.engine.options import HubOptions
from dragoman.hub.gate.admission import Grant
from dragoman.hub.hub import Hub
from dragoman.journal.sqlite import open_journal
from dragoman.transport.memory import MemoryTransport, memory_pair

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


def resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4


async def main(count: int, *, traced: bool) -> None:
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
            await client.open_sessions(WARM, place)
            gc.collect()
            if traced:
                tracemalloc.start()
            before = tracemalloc.take_snapshot() if traced else None
            resident = resident_kb()
            await client.open_sessions(count, place)
            gc.collect()
            print(f"resident: {(resident_kb() - resident) * 1024 / count:.0f} bytes for each of {count}")
            if before is not None:
                grown = tracemalloc.take_snapshot().compare_to(before, "lineno")
                print(f"traced: {sum(one.size_diff for one in grown) / count:.0f} bytes for each")
                for one in grown[:SHOWN]:
                    print(f"{one.size_diff / count:8.0f}  {one.traceback}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), traced="--lines" in sys.argv))
