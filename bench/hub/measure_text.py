"""Updates of real text through a hub: agent → hub with a durable journal → WebSocket client.

Arguments: how many updates of 20 characters, and of 1 KB. Printed as JSON: for each size the seconds, the
updates that came, and what the hub used of the processor.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from hub.bare import BareClient
from hub.measure_stream import measured
from hub.place import running_hub

SIZES = (20, 1024)
WARM = 1_000


async def main(*counts: int) -> None:
    found = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place, "project")
        folder.mkdir()
        async with running_hub(Path(place)) as hub:
            for size, count in zip(SIZES, counts, strict=True):
                async with BareClient(hub.url, hub.headers, cwd=str(folder)) as client:
                    session = await client.new_session()
                    for number in (WARM, count):
                        order = json.dumps({"do": "prose", "count": number, "size": size})
                        found[size] = await measured(hub, client.prompt(session, order))
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
