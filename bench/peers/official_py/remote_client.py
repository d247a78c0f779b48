"""The client of the official Python SDK over a WebSocket: starts the agent's server, gives it one order,
prints what that cost as JSON.

Arguments: the plan (JSON: ``warm`` and ``order``), then the command of the agent's server.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

from acp import PROTOCOL_VERSION, connect_to_agent
from acp.ws import create_websocket_stream

from peers.measure import Meter
from peers.official_py.client import BenchClient, carry_out


async def main(plan: dict[str, Any], command: list[str]) -> None:
    client: Any = BenchClient()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        port = int(await asyncio.to_thread(server.stdout.readline))
        stream = await create_websocket_stream(f"ws://127.0.0.1:{port}/acp")
        agent: Any = connect_to_agent(client, stream)
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        await agent.new_session(cwd="/", mcp_servers=[])
        if plan["warm"]:
            await carry_out(agent, client, plan["warm"])
        meter = Meter()
        await carry_out(agent, client, plan["order"])
        result = {**meter.read(), **client.result()}
        await agent.close()
        await stream.close()
        server.stdin.close()
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))
