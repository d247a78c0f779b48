"""The agent of the official Python SDK behind a WebSocket, as its documentation serves it: with uvicorn.

It prints its port, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import uvicorn
from acp.http.asgi import create_asgi_app

from peers.official_py.agent import BenchAgent


async def main() -> None:
    make: Any = lambda *_: BenchAgent()  # noqa: E731 -- one agent for each connection
    app: Any = create_asgi_app(make)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws_max_size=64 * 1024 * 1024))
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        print(bound.getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    asyncio.run(main())
