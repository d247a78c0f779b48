"""What a hub adds to the delay of an update: one session, a hundred updates a second.

Arguments: how many updates. The agent puts the moment into the text, the client subtracts; once over a pipe
to the same agent, once through a hub with a durable journal, once through one that does not wait for the
disk. Printed as JSON: percentiles of each, in microseconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dragoman import AgentHandle, Client, connect
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from hub.place import AGENT, running_hub
from peers.measure import percentiles

GAP = 0.01
WARM = 30


async def delays(agent: AgentHandle, folder: str, count: int) -> list[float]:
    session = await agent.new_session(cwd=folder)
    found: list[float] = []
    async for update in session.prompt(json.dumps({"do": "paced", "count": count + WARM, "gap": GAP})):
        now = time.monotonic()
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            found.append(now - float(update.content.text))
    if len(found) != count + WARM:
        raise RuntimeError(f"{len(found)} updates of {count + WARM} came")
    return found[WARM:]


async def through_hub(place: Path, count: int, durability: str) -> list[float]:
    folder = place / "project"
    folder.mkdir(parents=True)
    async with (
        running_hub(place, durability=durability) as hub,
        connect(hub.url, client=Client("bench"), headers=hub.headers) as agent,
    ):
        return await delays(agent, str(folder), count)


async def main(count: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        async with connect(AGENT, client=Client("bench")) as agent:
            direct = await delays(agent, place, count)
        result: dict[str, Any] = {"direct": percentiles(direct)}
        for durability in ("full", "off"):
            result[durability] = percentiles(await through_hub(Path(place, durability), count, durability))
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
