"""A real ASGI server on a free port of loopback, in the test's own loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn


@asynccontextmanager
async def served(app: Any, **options: Any) -> AsyncIterator[int]:
    """The port on which `app` is served."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        ws="websockets-sansio",
        lifespan="off",
        log_level="critical",
        ws_per_message_deflate=False,
        **options,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    running = asyncio.get_running_loop().create_task(server._serve(sockets=[listening]))
    try:
        while not server.started:  # noqa: ASYNC110 -- it has no event for that
            await asyncio.sleep(0.01)
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        await running
        listening.close()
