"""How a session stands in listings: after a crash the next hub looks for those that run."""

from __future__ import annotations

from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.runtime.raw import until


async def test_a_session_is_listed_as_running_before_a_message_whatever_seems_to_be_stored() -> None:
    """Its turn may have just ended, so that another word is on its way into the journal."""
    journal = MemoryJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        session = await (await stage.client().begin()).new()
        live = stage.hub.sessions[session]
        live.listed_state = "running"
        await live.list_as_running()
        info = await journal.info(session)
        assert info is not None
        assert info.state == "running"


async def test_a_session_rests_in_listings_once_its_agent_has_heard_all() -> None:
    journal = MemoryJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "hello"))
        live = stage.hub.sessions[session]
        await until(lambda: live.log.state == "idle")
        info = await journal.info(session)
        assert info is not None
        assert info.state == "idle"
