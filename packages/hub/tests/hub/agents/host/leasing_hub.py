"""A small hub for tests that stop it: keeps an agent and renews its lease, again and again, until it ends.

`python leasing_hub.py SOCKET LEASE COMMAND…` prints what its agent says, and never leaves by itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.hosted_agents import host_agent
from dragoman_hub.agents.host.lease import moment


class Printing:
    """Acknowledges nothing: whoever comes next hears all of it again."""

    def feed(self, first: int, block: bytes) -> None:
        os.write(1, block)

    def stderr(self, line: bytes) -> None: ...

    def on_oversized(self, number: int, size: int) -> None: ...

    def on_end(self, reason: str, exit_status: int | None) -> None: ...


async def main(socket: Path, lease: float, command: list[str]) -> None:
    agent = await host_agent(HostOrder(command=command, socket=socket, lease=moment(60.0), lease_linger=60.0))
    agent.start(Printing())
    while True:
        agent.lease(lease)
        await asyncio.sleep(lease / 8)


asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
