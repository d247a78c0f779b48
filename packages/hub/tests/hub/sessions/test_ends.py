"""Every prompt gets one answer, and it is true: around the end of a session, and with a journal that fails.

Only what clients say and hear counts here, and what the agent was told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest

from dragoman import Agent
from dragoman.errors import JournalBusy, JournalError, JournalUncertain
from dragoman.schema.v1 import CloseSessionResponse
from dragoman_hub.engine import live_session
from dragoman_hub.engine import log as hub_log
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.session.state import ANSWERS
from dragoman_local.journal import Entry, Page
from dragoman_local.journal.memory import MemoryJournal
from tests.conversations.slow_people import in_leaps, think
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.raw_agents import RawAgent, eventually, raw_stage
from tests.hub.sessions.stage import Talker, staged

LOAD = {"cwd": "/tmp", "mcpServers": []}
OUTCOMES = ("end_turn", "cancelled")


def slow_to_close(gate: Gate, closing: asyncio.Event) -> Agent:
    """Closes a session when it is allowed to."""
    agent = obedient(gate)

    @agent.close_session
    async def close(_: Any) -> CloseSessionResponse:
        closing.set()
        await gate.open.wait()
        return CloseSessionResponse()

    return agent


async def answered(client: Talker, requests: Sequence[int]) -> list[str]:
    """How each prompt ended."""
    answers = [await client.answer(request) for request in requests]
    for request in requests:
        assert sum(one.get("id") == request and "method" not in one for one in client.heard) == 1
    return [one["result"]["stopReason"] if "result" in one else "refused" for one in answers]


async def until_queued(session: LiveSession) -> None:
    """A prompt waits, and is stored."""
    while not (session.state.queue and session.log.is_idle):  # noqa: ASYNC110 -- nothing tells of it
        await asyncio.sleep(0)


async def pass_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
@pytest.mark.parametrize("wait", range(0, 40, 3))
async def test_a_prompt_around_the_end_of_its_session_gets_one_answer(method: str, wait: int) -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        session = await client.new()
        prompts = [client.prompt(session, "say 2", key=f"before-{at}") for at in range(2)]
        await pass_turns(wait)
        ending = other.ask(method, {"sessionId": session})
        for at in range(4):
            prompts.append(client.prompt(session, "say 1", key=f"behind-{at}"))
            await pass_turns(wait // 4)
        assert "result" in await other.answer(ending)
        ends = await answered(client, prompts)
    assert set(ends) <= {*OUTCOMES, "refused"}
    assert len(gate.prompts) <= sum(end in OUTCOMES for end in ends), "nothing that was refused was run"


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_while_an_agent_takes_its_time_to_close_a_session_prompts_are_refused(method: str) -> None:
    gate, closing = Gate(), asyncio.Event()
    async with staged({"one": lambda: slow_to_close(gate, closing)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        ending = client.ask(method, {"sessionId": session})
        await closing.wait()
        refused = await client.answer(client.prompt(session, "say 1"))
        assert refused["error"]["message"] == (
            "Invalid request: the session is being closed; load it again before the next prompt"
        )
        gate.open.set()
        assert "result" in await client.answer(ending)
        if method == "session/close":
            await client.call("session/load", {"sessionId": session, **LOAD})
            assert await answered(client, [client.prompt(session, "say 1")]) == ["end_turn"]
        else:
            assert (await client.refusal("session/load", {"sessionId": session, **LOAD}))["code"] == -32002


async def test_two_clients_may_close_and_delete_a_session_at_the_same_time() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client, other = await stage.client().begin(), await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        ends = [
            client.ask("session/close", {"sessionId": session}),
            other.ask("session/delete", {"sessionId": session}),
        ]
        assert await answered(client, [running]) == ["cancelled"]
        assert "result" in await client.answer(ends[0])
        assert "result" in await other.answer(ends[1])
        assert await stage.journal.info(session) is None


def test_a_session_is_closed_in_time_though_the_clock_is_set_back_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The agent goes on after the cancel, and what it asks sets the hub's timer anew."""

    async def play() -> None:
        async with raw_stage("stubborn") as (stage, client):
            agent = stage.agents["stubborn"]
            session = await client.new()
            running = client.prompt(session, "go on")
            await eventually(lambda: agent.prompts)
            ending = client.ask("session/close", {"sessionId": session})
            await eventually(lambda: agent.notes)
            now = time.time()
            monkeypatch.setattr(time, "time", lambda: now - 3600)
            call = {"toolCallId": "c", "title": "Delete it"}
            options = [{"optionId": "y", "name": "Allow", "kind": "allow_once"}]
            agent.ask("p", "session/request_permission", session, toolCall=call, options=options)
            await eventually(lambda: agent.answers)
            await think(60)
            assert await answered(client, [running]) == ["cancelled"]
            assert agent.answers["p"]["result"]["outcome"]["outcome"] == "cancelled"
            assert "result" in await client.answer(ending)

    in_leaps(play())


class Refusing(MemoryJournal):
    """Raises `error` as long as there is one; what it raises it for is stored if `stores`. Nobody can read it
    if it `is_blind`.
    """

    error: JournalError | None = None
    stores = is_blind = False

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        if self.is_blind:
            raise JournalUncertain("no answer")
        async for page in super().replay(stream, after=after, limit=limit):
            yield page

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if self.error is not None:
            if self.stores:
                self.stores = False
                await super().append(stream, entries, after=after)
            raise self.error
        return await super().append(stream, entries, after=after)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_log, "AGAIN_SECONDS", 0.01)


async def test_a_prompt_that_is_not_stored_is_refused_and_never_run() -> None:
    gate, journal = Gate(), Refusing()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        journal.error = JournalBusy("another process is using the journal")
        refused = client.prompt(session, "say 1", key="k1")
        assert "could not be stored" in (await client.answer(refused))["error"]["message"]
        journal.error = None
        assert await answered(client, [client.prompt(session, "say 2", key="k2")]) == ["end_turn"]
        assert gate.prompts == ["say 2"]
        again = await client.answer(client.prompt(session, "say 1", key="k1"))
        assert "could not be stored" in again["error"]["message"], "a retry gets the same outcome"
        assert gate.prompts == ["say 2"]


async def test_a_prompt_that_was_stored_waits_for_a_journal_that_fails() -> None:
    gate, journal = Gate(), Refusing()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        queued = client.prompt(session, "say 1", key="k1")
        await until_queued(stage.hub.sessions[session])
        journal.error = JournalBusy("another process is using the journal")
        gate.open.set()
        await pass_turns(50)
        journal.error = None
        assert set(await answered(client, [running, queued])) <= set(OUTCOMES)


@pytest.mark.parametrize("stores", [True, False])
async def test_a_prompt_of_which_nobody_knows_whether_it_is_stored_runs_once_it_is_known(
    stores: bool,
) -> None:
    gate, journal = Gate(), Refusing()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        journal.stores, journal.error, journal.is_blind = stores, JournalUncertain("no answer"), True
        asked = client.prompt(session, "say 1", key="k1")
        again = client.prompt(session, "say 1", key="k1")
        await asyncio.sleep(0.05)
        assert not [one for one in client.heard if one.get("id") in (asked, again)], "nobody is told anything"
        assert gate.prompts == []
        journal.error, journal.is_blind = None, False
        assert (await client.answer(again))["result"] == {"stopReason": "end_turn"}
        assert gate.prompts == ["say 1"]
        stored = [one async for page in journal.replay(session) for one in page]
        assert sum(b'"taken"' in one.frame for one in stored) == 1
        assert client.texts(session=session) == ["0 "]


async def test_a_prompt_that_was_taken_and_then_changed_is_not_refused_with_its_change() -> None:
    gate, journal = Gate(), Refusing()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        queued = client.prompt(session, "say 1", key="k1")
        await until_queued(stage.hub.sessions[session])
        journal.error = JournalBusy("another process is using the journal")
        prompt = [{"type": "text", "text": "say 3"}]
        await client.call("_dragoman/hub/queue/edit", {"sessionId": session, "key": "k1", "prompt": prompt})
        await asyncio.sleep(0.05)
        journal.error = None
        gate.open.set()
        assert set(await answered(client, [running, queued])) <= set(OUTCOMES)
        assert gate.prompts == ["wait", "say 3"]


class HeldJournal(MemoryJournal):
    """Reads and deletes a stream when it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_read, self.may_delete = asyncio.Event(), asyncio.Event()
        self.may_read.set()
        self.deleting = asyncio.Event()

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        await self.may_read.wait()
        async for page in super().replay(stream, after=after, limit=limit):
            yield page

    async def delete(self, stream: str) -> bool:
        self.deleting.set()
        await self.may_delete.wait()
        return await super().delete(stream)


@pytest.mark.parametrize("turns", [1, ANSWERS + 1])
async def test_who_is_behind_gets_its_answer_while_the_session_is_being_deleted(turns: int) -> None:
    journal = HeldJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        client, late = await stage.client().begin(), await stage.client(cursors=True).begin()
        session = await client.new()
        for turn in range(turns):
            await client.answer(client.prompt(session, "say 1", key=f"k{turn}"))
        journal.may_read.clear()
        params = {"sessionId": session, **LOAD, "_meta": {"dragoman": {"after": "1"}}}
        await late.call("session/resume", params)
        before = [late.prompt(session, "say 1", key="k0")] if turns == 1 else []
        ending = client.ask("session/delete", {"sessionId": session})
        await journal.deleting.wait()
        prompt = late.prompt(session, "say 1", key=f"k{turns - 1}")
        assert await answered(late, [*before, prompt]) == ["end_turn"] * (len(before) + 1)
        journal.may_delete.set()
        assert "result" in await client.answer(ending)
        journal.may_read.set()


class RefusingJournal(MemoryJournal):
    """Can be read, and stores nothing while it is locked."""

    def __init__(self) -> None:
        super().__init__()
        self.is_locked = False

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if self.is_locked:
            raise JournalBusy("another process is using the journal")
        return await super().append(stream, entries, after=after)


async def test_a_key_that_was_refused_is_not_accepted_after_many_other_refusals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_log, "AGAIN_SECONDS", 0.001)
    gate, journal = Gate(), RefusingJournal()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        journal.is_locked = True
        keys = [f"k{number}" for number in range(ANSWERS + 6)]
        for key in keys:
            assert "error" in await client.answer(client.prompt(session, f"say {key}", key=key))
        again = [client.prompt(session, f"say {key}", key=key) for key in keys]
        await pass_turns(50)
        journal.is_locked = False
        assert await answered(client, again) == ["refused"] * len(keys)
        assert gate.prompts == []
        assert len(stage.hub.sessions[session].state.answers) <= ANSWERS


class CountedClients(set[Any]):
    """Counts how often somebody looks at all of them."""

    walks = 0

    def __iter__(self) -> Iterator[Any]:
        self.walks += 1
        return super().__iter__()


async def test_the_end_of_a_turn_costs_the_same_with_any_number_of_clients() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        stage.hub.clients = counted = CountedClients(stage.hub.clients)
        assert await answered(client, [client.prompt(session, "hello")]) == ["end_turn"]
        assert counted.walks == 0


QUESTIONS = {
    "session/request_permission": {"outcome": {"outcome": "cancelled"}},
    "elicitation/create": {"action": "cancel"},
}


def ask_all(agent: RawAgent, session: str, name: str) -> None:
    tool_call, options = {"toolCallId": "t"}, [{"optionId": "a", "name": "A", "kind": "allow_once"}]
    agent.ask(f"{name}-1", "session/request_permission", session, toolCall=tool_call, options=options)
    agent.ask(f"{name}-2", "elicitation/create", session, mode="form", message="?", requestedSchema={})


def outcomes(agent: RawAgent, name: str) -> list[Any]:
    return [agent.answers.get(f"{name}-{number}", {}).get("result") for number in (1, 2)]


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_what_an_agent_asks_while_its_session_is_being_closed_is_cancelled_at_once(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_session, "CLOSE_SECONDS", 3600.0)  # nothing here waits for that
    async with raw_stage("curious", capabilities={"sessionCapabilities": {"close": {}}}) as (stage, client):
        agent = stage.agents["curious"]
        session = await client.new()
        child = {"sessionUpdate": "subagent_update", "sessionId": "child", "state": {"state": "running"}}
        prompt = client.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        agent.say(method="session/update", params={"sessionId": session, "update": child})
        await eventually(lambda: "child" in stage.hub.sessions)
        closing = client.ask(method, {"sessionId": session})
        await eventually(lambda: agent.notes)
        ask_all(agent, session, "turn")
        ask_all(agent, "child", "child")
        await eventually(lambda: {"turn-1", "turn-2", "child-1", "child-2"} <= agent.answers.keys())
        assert outcomes(agent, "turn") == outcomes(agent, "child") == list(QUESTIONS.values())
        agent.end_turn()
        await eventually(lambda: [call for call in agent.calls if call["method"] == "session/close"])
        ask_all(agent, session, "close")
        await eventually(lambda: {"close-1", "close-2"} <= agent.answers.keys())
        assert outcomes(agent, "close") == list(QUESTIONS.values())
        agent.say(id=agent.calls[-1]["id"], result={})
        assert (await client.answer(prompt))["result"]["stopReason"] == "end_turn"
        assert (await client.answer(closing))["result"] == {}
        assert [one["method"] for one in client.heard if one.get("method") in QUESTIONS] == []
