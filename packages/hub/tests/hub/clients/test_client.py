"""One client of a hub: what it hears when a message of its own cannot be read, and what its answers do."""

from __future__ import annotations

from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.hub.test_hub_effects import user


async def test_a_message_that_is_too_large_is_refused_and_the_next_one_is_answered() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        (held,) = stage.hub.clients
        held.on_oversized(12_345)
        refused = await client.until(lambda one: "error" in one)
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert "12345 bytes" in refused["error"]["message"]
        assert await client.new()


async def test_an_agent_hears_why_a_client_does_not_lend_it_a_file() -> None:
    async with staged({"user": user}) as stage:
        client = await stage.client().begin(fs={"readTextFile": True})
        session = await client.new()
        turn = client.prompt(session, "read /tmp/a.txt")
        asked = await client.asked("fs/read_text_file")
        client.say({"id": asked["id"], "error": {"code": -32002, "message": "closed it"}})
        await client.answer(turn)
        assert client.texts() == ["-32002  closed it"]
