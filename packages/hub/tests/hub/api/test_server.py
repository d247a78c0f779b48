"""The server of a listener: what it does while nobody speaks, and how it ends."""

from __future__ import annotations

import asyncio

import uvicorn

from dragoman_hub.api.server import HubServer


class CountingServer(HubServer):
    ticks = 0

    async def on_tick(self, counter: int) -> bool:
        self.ticks += 1
        return await super().on_tick(counter)


async def test_a_server_that_nobody_speaks_to_rests_and_ends_at_once_when_it_is_told() -> None:
    server = CountingServer(uvicorn.Config(app="none", lifespan="off"))
    running = asyncio.get_running_loop().create_task(server.main_loop())
    await asyncio.sleep(0.25)
    assert server.ticks == 1
    assert server.server_state.default_headers[0][0] == b"date"
    server.stop()
    for _ in range(3):
        await asyncio.sleep(0)
    assert running.done()
