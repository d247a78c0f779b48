"""Updates through a hub: agent (a child process behind its keeper) → hub → WebSocket client.

Arguments: `live` or `load`, and how many updates. The hub's journal is durable. Measured are our SDK's client
and one over the package `websockets` alone: in a turn, or loading a session of as many mixed updates. Printed
as JSON: for each the seconds, the updates that came, and what hub and client used of the processor.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from dragoman import connect
from hub.bare import BareClient
from hub.place import HubProcess, running_hub
from peers.dragoman.client import Seen, bench_client, replay_client

SIZE = 20
WARM = 2_000


def order(do: str, count: int) -> str:
    return json.dumps({"do": do, "count": count, "size": SIZE})


async def measured(hub: HubProcess, work: Awaitable[int]) -> dict[str, Any]:
    used, own, begun = hub.cpu(), time.process_time(), time.perf_counter()
    count = await work
    wall = time.perf_counter() - begun
    return {
        "wall": wall,
        "count": count,
        "client_cpu": time.process_time() - own,
        "hub_cpu": hub.cpu() - used,
    }


async def ours(hub: HubProcess, folder: str, count: int) -> dict[str, Any]:
    seen = [Seen()]
    async with connect(hub.url, client=bench_client(seen), headers=hub.headers) as agent:
        session = await agent.new_session(cwd=folder)

        async def work(count: int) -> int:
            before = seen[0].kinds.total()
            await seen[0].read(session.prompt(order("stream", count)))
            return seen[0].kinds.total() - before

        await work(WARM)
        return await measured(hub, work(count))


async def bare(hub: HubProcess, folder: str, count: int) -> dict[str, Any]:
    async with BareClient(hub.url, hub.headers, cwd=folder) as client:
        session = await client.new_session()
        await client.prompt(session, order("stream", WARM))
        return await measured(hub, client.prompt(session, order("stream", count)))


async def loaded(hub: HubProcess, folder: str, session: str) -> dict[str, Any]:
    seen = [Seen()]

    async def work() -> int:
        await agent.load_session(session, cwd=folder)
        return seen[0].kinds.total()

    async with connect(hub.url, client=replay_client(seen), headers=hub.headers) as agent:
        return await measured(hub, work())


async def loaded_bare(hub: HubProcess, folder: str, session: str) -> dict[str, Any]:
    async with BareClient(hub.url, hub.headers, cwd=folder) as client:
        return await measured(hub, client.load(session))


async def main(what: str, count: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place, "project")
        folder.mkdir()
        async with running_hub(Path(place)) as hub:
            if what == "live":
                clients = {"ours": ours, "bare": bare}
                result = {name: await work(hub, str(folder), count) for name, work in clients.items()}
            else:
                session = await filled(hub, str(folder), count)
                result = {
                    "ours": await loaded(hub, str(folder), session),
                    "bare": await loaded_bare(hub, str(folder), session),
                }
    print(json.dumps(result))


async def filled(hub: HubProcess, folder: str, count: int) -> str:
    """A session that has had so many updates."""
    async with BareClient(hub.url, hub.headers, cwd=folder) as client:
        session = await client.new_session()
        await client.prompt(session, order("mix", count))
        return session


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
