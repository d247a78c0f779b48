"""A hub that is killed between the last entry of a deleted session and the end of its stream."""

from __future__ import annotations

from dragoman_hub.session.notes import note
from dragoman_local.journal import Entry
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged


async def test_a_deleted_session_is_gone_although_the_hub_was_killed_before_its_stream_was() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        await stage.crash()
        await stage.journal.append(session, [Entry("note", note("deleted"), 1.0)])
        await stage.start()
        client = await stage.client().begin()
        refusal = await client.refusal(
            "session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        )
        assert refusal["code"] == -32002
        assert await stage.journal.info(session) is None


async def test_the_host_of_an_agent_remembers_nothing_of_sessions_that_are_closed() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        for method in ("session/close", "session/delete"):
            session = await client.new()
            await client.answer(client.prompt(session, "say 1"))
            assert session in stage.kept["one"].taken_numbers
            await client.call(method, {"sessionId": session})
            assert stage.kept["one"].taken_numbers == {}
        assert stage.hub.pool.find_process("one") is not None
