"""A small hub for tests that kill it: stores what its agent says, and tells the agent the numbers 1 … TOTAL.

`python mortal_hub.py SOCKET JOURNAL TOTAL` starts the agent, or finds it. It prints a line for each block
that it has stored and another when it has said everything; it never leaves by itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.hosted_agents import HostedAgent, find_hosted, host_agent

BATCH = 50


class Storing:
    """Appends whole frames to a file before it acknowledges them."""

    def __init__(self, agent: HostedAgent, path: str) -> None:
        self._agent = agent
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.last = os.pread(self._file, 1 << 24, 0).count(b"\n")

    def feed(self, first: int, block: bytes) -> None:
        known = self.last - first + 1
        if known > 0:
            block = block.split(b"\n", known)[known] if known < block.count(b"\n") else b""
        assert known >= 0, "a gap"
        os.write(self._file, block)
        self.last += block.count(b"\n")
        self._agent.acknowledge(self.last)
        print(self.last, flush=True)

    def stderr(self, line: bytes) -> None: ...

    def on_oversized(self, number: int, size: int) -> None: ...

    def on_end(self, reason: str, exit_status: int | None) -> None: ...


async def main(socket: Path, journal: str, total: int) -> None:
    agent = await find_hosted(socket) or await host_agent(HostOrder(command=["cat"], socket=socket))
    storing = Storing(agent, journal)
    agent.start(storing)
    said = agent.taken_numbers.get("numbers", 0)
    while said < total:
        upto = min(said + BATCH, total)
        block = b"".join(b"%d\n" % number for number in range(said + 1, upto + 1))
        agent.write(block, stream="numbers", last=upto)
        said = upto
        await agent.drain()
        await asyncio.sleep(0)
    print("said", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
