"""What a whole turn with one update costs a hub, from its prompt to its end, with every default on.

Arguments: how many turns each session has, one after the other; then how many sessions have them at the same
time, one number after the other. They share a folder, and each has a WebSocket client. Printed as JSON: by
number of sessions the turns, the hub's processor seconds, and the bytes that it wrote.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hub.bare import BareClient
from hub.place import running_hub

WARM = 10


async def measure(count: int, sessions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name, "project")
        folder.mkdir()
        async with running_hub(Path(name)) as hub, contextlib.AsyncExitStack() as stack:
            clients = [BareClient(hub.url, hub.headers, cwd=str(folder)) for _ in range(sessions)]
            for client in clients:
                await stack.enter_async_context(client)
            pairs = [(client, await client.new_session()) for client in clients]

            async def turns(number: int) -> None:
                for _ in range(number):
                    came = await asyncio.gather(*(client.prompt(session, "go") for client, session in pairs))
                    if came != [1] * sessions:
                        raise RuntimeError(f"{came} updates came, one for each session was said")

            await turns(WARM)
            cpu, written = hub.cpu(), hub.written()
            await turns(count)
            return {"turns": count * sessions, "cpu": hub.cpu() - cpu, "written": hub.written() - written}


async def main(count: int, numbers: list[int]) -> None:
    print(json.dumps({number: await measure(count, number) for number in numbers}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), [int(word) for word in sys.argv[2:]]))
