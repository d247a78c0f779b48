"""Dragoman's client over Streamable HTTP: a turn's updates arrive on an event stream of a bare server.

Arguments: how many updates, and of how many characters. Printed as JSON: seconds, the client's CPU, and how
many updates came.
"""

from __future__ import annotations

import asyncio
import json
import sys

from dragoman import connect
from peers.dragoman.client import Seen
from peers.measure import Meter
from sse import server as bare_server


async def main(count: int, size: int) -> None:
    command = [sys.executable, "-m", bare_server.__name__, str(count), str(size)]
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert server.stdout is not None
    try:
        port = int(await server.stdout.readline())
        async with connect(f"http://127.0.0.1:{port}/acp") as agent:
            session = await agent.new_session(cwd="/")
            await Seen().read(session.prompt("warm"))
            meter, seen = Meter(), Seen()
            await seen.read(session.prompt("go", keep_text=False))
            result = {**meter.read(), "count": sum(seen.kinds.values()), "chars": seen.chars}
    finally:
        server.kill()
        await server.wait()
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
