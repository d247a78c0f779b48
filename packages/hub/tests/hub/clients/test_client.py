"""One client of a hub: what it hears when a message of its own cannot be read."""

from __future__ import annotations

from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged


async def test_a_message_that_is_too_large_is_refused_and_the_next_one_is_answered() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        (held,) = stage.hub.clients
        held.on_oversized(12_345)
        refused = await client.until(lambda one: "error" in one)
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert "12345 bytes" in refused["error"]["message"]
        assert await client.new()
