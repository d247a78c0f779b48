"""What an idle session and an idle connection cost a hub: its resident set, before and after there are many.

Arguments: how many of each. Sessions are prompted once, by a client that stays; connections have said
`initialize`. Printed as JSON: kilobytes of growth of the hub's process.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from hub.bare import BareClient
from hub.place import HubProcess, running_hub

WARM = 50
TOGETHER = 50


async def open_sessions(client: BareClient, count: int) -> None:
    for _ in range(count):
        await client.prompt(await client.new_session(), "hello")


async def open_connections(hub: HubProcess, stack: AsyncExitStack, count: int) -> None:
    for _ in range(count // TOGETHER):
        some = [BareClient(hub.url, hub.headers, cwd="/") for _ in range(TOGETHER)]
        for client in await asyncio.gather(*(client.__aenter__() for client in some)):
            stack.push_async_exit(client.__aexit__)


async def main(count: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the hub has it from us
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place, "project")
        folder.mkdir()
        async with running_hub(Path(place)) as hub, AsyncExitStack() as stack:
            client = await stack.enter_async_context(BareClient(hub.url, hub.headers, cwd=str(folder)))
            await open_sessions(client, WARM)
            before = hub.memory_kb()
            await open_sessions(client, count)
            sessions = hub.memory_kb() - before
            await open_connections(hub, stack, TOGETHER)
            before = hub.memory_kb()
            await open_connections(hub, stack, count)
            connections = hub.memory_kb() - before
    print(json.dumps({"sessions": sessions, "connections": connections}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
