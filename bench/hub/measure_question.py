"""How long a question of an agent is on its way while others speak: from the agent's permission request until
a client of its session is asked.

Arguments: how many questions, and how many other sessions have 50 updates a second each meanwhile. The agent
puts the moment into the title of the tool call, the client subtracts. The journal is durable, and each
session has a WebSocket client. Printed as JSON: percentiles in microseconds, and the updates that came.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dragoman import Client, connect
from dragoman.schema.v1 import (
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
)
from hub.bare import BareClient
from hub.floor import GAP
from hub.place import HubProcess, running_hub
from peers.measure import percentiles

QUESTION_GAP = 0.033
"""Seconds; no multiple of the others' gap, so that questions come at every moment between two updates."""

WARM = 10


async def delays(hub: HubProcess, folder: str, count: int) -> list[float]:
    """Seconds of each question."""
    found: list[float] = []
    client = Client("bench")

    @client.request_permission
    def allow(request: RequestPermissionRequest) -> RequestPermissionResponse:
        found.append(time.monotonic() - float(str(request.tool_call.title)))
        chosen = SelectedPermissionOutcome(option_id=request.options[0].option_id)
        return RequestPermissionResponse(outcome=chosen)

    async with connect(hub.url, client=client, headers=hub.headers) as agent:
        session = await agent.new_session(cwd=folder)
        await session.prompt(json.dumps({"do": "ask", "count": count + WARM, "gap": QUESTION_GAP}))
    if len(found) != count + WARM:
        raise RuntimeError(f"{len(found)} questions of {count + WARM} came")
    return found[WARM:]


async def beside(hub: HubProcess, folder: str, *, count: int, sessions: int) -> dict[str, Any]:
    """Questions, while others speak: in turns that are long enough for all of them, if nothing is late."""
    updates = int(1.5 * (count + WARM) * QUESTION_GAP / GAP)
    order = json.dumps({"do": "paced", "count": updates, "gap": GAP})
    is_over = asyncio.Event()

    async def speak(client: BareClient) -> list[int]:
        """How many updates came in each turn."""
        session = await client.new_session()
        came = [await client.prompt(session, order)]
        while not is_over.is_set():
            came.append(await client.prompt(session, order))
        return came

    async with contextlib.AsyncExitStack() as stack:
        clients = [BareClient(hub.url, hub.headers, cwd=folder) for _ in range(sessions)]
        for client in clients:
            await stack.enter_async_context(client)
        speaking = asyncio.gather(*map(speak, clients))
        found = await delays(hub, folder, count)
        is_over.set()
        turns = [came for turns in await speaking for came in turns]
    return {**percentiles(found), "came": sum(turns), "said": updates * len(turns)}


async def measure(count: int, sessions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place, "project")
        folder.mkdir()
        async with running_hub(Path(place)) as hub:
            return await beside(hub, str(folder), count=count, sessions=sessions)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(int(sys.argv[1]), int(sys.argv[2])))))
