"""A hub that shares its journal with others: what it may do with sessions that another may have by now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman import Agent
from dragoman.errors import JournalBusy, JournalError
from dragoman_hub.engine import lifecycle
from dragoman_hub.engine.ownership import SessionLease, SoleOwnership
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.engine.test_child_sessions import ALLOWED, announce, ask, family
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.raw_agents import eventually
from tests.hub.sessions.stage import staged

LOAD = {"cwd": "/tmp", "mcpServers": []}


class SharedOwnership(SoleOwnership):
    """All sessions are ours while there is a lease."""

    is_shared = True

    def __init__(self) -> None:
        self.has_lease = asyncio.Event()
        self.has_lease.set()
        self.asked = 0

    async def may_act(self) -> None:
        self.asked += 1
        await self.has_lease.wait()


class FailingJournal(MemoryJournal):
    """Stores nothing while it fails."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if self.fails:
            raise JournalBusy("another process is using the journal")
        return await super().append(stream, entries, after=after)


async def test_a_session_whose_turn_is_not_stored_is_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its agent said would be lost: it is acknowledged, and the stream does not have it."""
    gate, journal = Gate(), FailingJournal()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        stage.hub.ownership = SharedOwnership()
        client.prompt(session, "wait", key="k")
        await gate.waiting.wait()
        live = stage.hub.sessions[session]
        journal.fails = True
        gate.open.set()
        await eventually(lambda: not live.state.is_busy)
        stage.hub.begin_draining()
        monkeypatch.setattr(lifecycle, "STORE_SECONDS", 0.0)  # from here on nothing is stored in time
        await lifecycle.hand_over(stage.hub, live)
        assert session in stage.hub.sessions, "it waits for the end of the hub"
        await stage.crash()
        journal.fails = False
        await stage.start()
        again = await stage.client().begin()
        await again.call("session/load", {"sessionId": session, **LOAD})
        answer = await again.answer(again.prompt(session, "wait", key="k"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert gate.prompts == ["wait"]


async def test_a_session_that_waits_for_its_agent_again_when_all_is_stored_is_not_handed_over() -> None:
    """A message came while the journal was away: its outcome is for this hub, which gives it to the agent."""
    journal = FailingJournal()
    async with staged({"one": lambda: Agent("one", steering=True)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        live = stage.hub.sessions[session]
        stage.hub.ownership = SharedOwnership()
        journal.fails = True
        message = {"sessionId": session, "prompt": [{"type": "text", "text": "left"}]}
        idle = {"steering": {"idleBehavior": "promptRequired"}}
        steer = client.ask("_session/steering", {**message, "_meta": idle})
        await eventually(lambda: live.state.steers)
        stage.hub.begin_draining()
        handing_over = asyncio.create_task(lifecycle.hand_over(stage.hub, live))
        await asyncio.sleep(0)
        journal.fails = False
        await handing_over
        assert "outcome" in (await client.answer(steer))["result"]
        await eventually(lambda: session not in stage.hub.sessions)  # it rests, and is for others


async def test_a_child_is_not_handed_over_while_its_parent_has_a_turn(tmp_path: Path) -> None:
    """Its agent would get an error now, and the answer of a person from the next hub that has the agent."""
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid")
        ask(home.agent, "r", "kid")
        question = await home.client.asked()
        home.hub.ownership = SharedOwnership()
        home.hub.begin_draining()
        await lifecycle.hand_over(home.hub, home.hub.sessions["kid"])
        assert "r" not in home.agent.answers
        home.client.allow(question)
        await eventually(lambda: "r" in home.agent.answers)
        assert home.agent.answers["r"]["result"] == ALLOWED
        ask(home.agent, "again", "kid")
        home.client.allow(await home.client.asked(after=len(home.client.heard)))
        await eventually(lambda: "again" in home.agent.answers)
        assert home.agent.answers["again"]["result"] == ALLOWED, "its agent still works in it"
        home.agent.end_turn()
        assert (await home.client.answer(home.prompt))["result"] == {"stopReason": "end_turn"}
        await eventually(lambda: not home.hub.sessions)  # children go with their parent


async def test_a_session_whose_agent_waits_for_an_answer_is_not_handed_over(tmp_path: Path) -> None:
    """An agent may ask between turns. The question stays here until it has its one answer."""
    async with family(tmp_path) as home:
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        ask(home.agent, "r", home.session)
        question = await home.client.asked()
        home.hub.ownership = SharedOwnership()
        home.hub.begin_draining()
        await lifecycle.hand_over(home.hub, home.hub.sessions[home.session])
        assert "r" not in home.agent.answers
        home.client.allow(question)
        await eventually(lambda: "r" in home.agent.answers)
        assert home.agent.answers["r"]["result"] == ALLOWED
        await eventually(lambda: not home.hub.sessions)


async def test_a_hub_without_a_lease_does_not_answer_for_a_session_that_it_has_open() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client(cursors=True).begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        stage.hub.ownership = shared = SharedOwnership()
        shared.has_lease.clear()
        late = await stage.client().begin()
        params = {"sessionId": session, **LOAD, "_meta": {"dragoman": {"after": "999"}}}
        resume = late.ask("session/resume", params)
        await eventually(lambda: shared.asked)
        assert not any(one.get("id") == resume for one in late.heard), "another node may have gone on with it"
        shared.has_lease.set()
        assert (await late.answer(resume))["error"]["code"] == -32602


async def test_a_hub_that_does_not_get_its_lease_back_says_so() -> None:
    class NoLease(SharedOwnership):
        async def may_act(self) -> None:
            raise JournalError("this node has no lease now")

    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        stage.hub.ownership = NoLease()
        refused = await client.refusal("session/load", {"sessionId": session, **LOAD})
        assert refused["code"] == -32603


async def test_a_session_that_was_lost_while_it_was_read_gets_no_entry_of_ours() -> None:
    """Another node has it by then, and what it has written there is its own."""

    class LostWhileReading(SharedOwnership):
        async def claim(self, session: str) -> SessionLease:
            return SessionLease(session, is_taken_over=True)

        async def may_use(self, lease: SessionLease) -> None:
            raise JournalError("it was claimed before this node lost its lease")

    journal = MemoryJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        session = await (await stage.client().begin()).new()
    async with staged({"one": obedient}, journal=journal) as stage:
        stage.hub.ownership = LostWhileReading()
        before = await journal.info(session)
        refused = await (await stage.client().begin()).refusal("session/load", {"sessionId": session, **LOAD})
        after = await journal.info(session)
        assert refused["code"] == -32603
        assert before is not None and after is not None  # noqa: PT018
        assert after.last == before.last
