"""What a hub spends on an update at the pace at which people read: sessions with 50 updates a second each.

Arguments: how many updates each session has; then how many sessions, one number after the other. The journal
is durable, and each session has a WebSocket client. Printed as JSON: by number of sessions the updates that
came, the hub's processor seconds, and the bytes that it wrote; and what the machine itself takes (`floor`).
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hub.bare import BareClient
from hub.floor import GAP, measure_floor
from hub.place import HubProcess, running_hub

WARM = 20
FLOOR_STEPS = 100


async def pace(hub: HubProcess, folder: str, *, count: int, sessions: int) -> dict[str, Any]:
    clients = [BareClient(hub.url, hub.headers, cwd=folder) for _ in range(sessions)]
    for client in clients:
        await client.__aenter__()
    names = [await client.new_session() for client in clients]

    async def turn(number: int) -> list[int]:
        order = json.dumps({"do": "paced", "count": number, "gap": GAP})
        pairs = zip(clients, names, strict=True)
        return await asyncio.gather(*(client.prompt(name, order) for client, name in pairs))

    await turn(WARM)
    cpu, written = hub.cpu(), hub.written()
    came = sum(await turn(count))
    result = {"came": came, "hub_cpu": hub.cpu() - cpu, "written": hub.written() - written}
    for client in clients:
        await client.__aexit__(None, None, None)
    return result


async def main(count: int, numbers: list[int]) -> None:
    found: dict[int | str, dict[str, Any]] = {}
    for number in numbers:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            folder = Path(place, "project")
            folder.mkdir()
            async with running_hub(Path(place)) as hub:
                found[number] = await pace(hub, str(folder), count=count, sessions=number)
    with tempfile.TemporaryDirectory() as place:
        found["floor"] = await measure_floor(Path(place), FLOOR_STEPS)
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), [int(word) for word in sys.argv[2:]]))
