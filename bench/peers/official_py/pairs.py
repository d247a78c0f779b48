"""Idle connections of the official Python SDK: N pairs in one process, over its own in-memory transport."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from typing import Any

from acp import PROTOCOL_VERSION, ReadTextFileResponse, connect_to_agent
from acp._transport import memory_transport_pair
from acp.core import AgentSideConnection

from peers.measure import memory_kb
from peers.official_py.echo import EchoAgent


class IdleClient:
    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        return None

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="")


async def open_pair() -> tuple[Any, Any]:
    near, far = memory_transport_pair()
    echo: Any = EchoAgent()
    idle: Any = IdleClient()
    agent_side = AgentSideConnection(echo, near)
    agent = connect_to_agent(idle, far)
    await agent.initialize(protocol_version=PROTOCOL_VERSION)
    await agent.new_session(cwd="/", mcp_servers=[])
    return agent_side, agent


async def main(count: int) -> None:
    # What the first pairs load and cache is the price of the SDK, not of a pair.
    kept = [await open_pair() for _ in range(20)]
    gc.collect()
    before = memory_kb("VmRSS")
    kept += [await open_pair() for _ in range(count)]
    gc.collect()
    grown = memory_kb("VmRSS") - before
    print(json.dumps({"pairs": count, "grown_kb": grown}))
    for agent_side, agent in kept:
        await agent.close()
        await agent_side.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
