"""An agent that brings a session back may ask something meanwhile. It gets one answer, also if the hub is
killed, and the load goes on: it is neither sent again nor given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent
from dragoman.errors import CallFailed, JournalFull
from dragoman.schema import v1
from dragoman.testing.pace import patience
from dragoman.wire.codes import NOT_FOUND, session_not_found
from dragoman_hub.agents.process import AgentProcess
from dragoman_hub.engine.lifecycle import lose
from dragoman_hub.session import state
from dragoman_local.journal import Entry, Journal
from dragoman_local.journal.memory import MemoryJournal
from tests.conversations.slow_people import in_leaps, think
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.raw_agents import eventually
from tests.hub.sessions.stage import Stage, Talker, read_late, staged

OPTIONS = [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]
ASKS: dict[str, dict[str, Any]] = {
    "session/request_permission": {
        "toolCall": {"toolCallId": "t", "title": "Read the old session", "kind": "read"},
        "options": OPTIONS,
    },
    "fs/read_text_file": {"path": "FILE"},
}


class LoadingAgent:
    """Asks something before it has loaded a session, and then tells what was said in it."""

    def __init__(self, method: str, folder: Path) -> None:
        self.gate = Gate()
        self.asks = False
        self.loads = 0
        self.is_asking = asyncio.Event()
        self.answers: list[Any] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._method = method
        self._params = ASKS[method] if method != "fs/read_text_file" else {"path": str(folder / "notes")}

    def agent(self) -> Agent:
        agent = obedient(self.gate)

        @agent.load_session
        async def load(request: v1.LoadSessionRequest, client: Any) -> None:
            self.loads += 1
            past = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "0 "}}
            update = {"sessionId": request.session_id, "update": past}
            await client.notify("session/update", update)
            if self.asks:
                await self._ask(request.session_id, client)
            await client.notify("session/update", update)
            await self.may_answer.wait()

        @agent.close_session
        async def close(_: v1.CloseSessionRequest) -> None:
            pass

        return agent

    async def _ask(self, session: str, client: Any) -> None:
        self.is_asking.set()
        try:
            answer = await client.call(self._method, {"sessionId": session, **self._params})
        except CallFailed as error:
            answer = error.message
        self.answers.append(answer)


@asynccontextmanager
async def asked_while_loading(
    agent: LoadingAgent, folder: Path, journal: Journal | None = None
) -> AsyncIterator[tuple[Stage, Talker, str]]:
    """A session that its agent has closed, and is loading for a prompt with the key `k`."""
    (folder / "notes").write_text("what was noted")
    async with staged({"one": agent.agent}, release_after=0.05, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new(str(folder))
        await client.answer(client.prompt(session, "say 1"))
        await client.transport.aclose()
        await eventually(lambda: session not in stage.hub.sessions)
        agent.asks = True
        client = await stage.client().begin()
        await client.call("session/load", {"sessionId": session, "cwd": str(folder), "mcpServers": []})
        client.prompt(session, "say 2", key="k")
        await agent.is_asking.wait()
        yield stage, client, session


async def come_back(stage: Stage, session: str, folder: Path) -> Talker:
    client = await stage.client().begin()
    await client.call("session/load", {"sessionId": session, "cwd": str(folder), "mcpServers": []})
    return client


async def test_a_person_answers_the_next_hub_what_an_agent_asked_while_it_loaded(tmp_path: Path) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with asked_while_loading(agent, tmp_path) as (stage, client, session):
        await client.asked()
        await stage.crash()
        await stage.start()
        again = await come_back(stage, session, tmp_path)
        prompt = again.prompt(session, "say 2", key="k")
        again.allow(await again.asked())
        assert (await again.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert agent.answers == [{"outcome": {"outcome": "selected", "optionId": "allow"}}]
        assert agent.loads == 1, "the load went on"
        assert agent.gate.prompts == ["say 1", "say 2"]
        assert again.texts() == ["0 ", "0 ", "1 "], "what the agent told of the past is not said anew"


async def test_a_file_that_an_agent_reads_while_it_loads_is_read_by_the_next_hub(tmp_path: Path) -> None:
    agent = LoadingAgent("fs/read_text_file", tmp_path)
    async with asked_while_loading(agent, tmp_path) as (stage, _, session):
        await eventually(lambda: stage.hub.sessions[session].state.requests or agent.answers)
        await stage.crash()
        await stage.start()
        again = await come_back(stage, session, tmp_path)
        answer = await again.answer(again.prompt(session, "say 2", key="k"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert [answer["content"] for answer in agent.answers] == ["what was noted"]
        assert agent.loads == 1
        assert again.texts() == ["0 ", "0 ", "1 "]


async def test_a_load_that_ends_while_no_hub_is_there_is_taken_up_by_the_next(tmp_path: Path) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    agent.may_answer.clear()
    async with asked_while_loading(agent, tmp_path) as (stage, client, session):
        client.allow(await client.asked())
        await eventually(lambda: agent.answers)
        await stage.crash()
        agent.may_answer.set()
        await asyncio.sleep(0)
        await stage.start()
        again = await come_back(stage, session, tmp_path)
        answer = await again.answer(again.prompt(session, "say 2", key="k"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert (len(agent.answers), agent.loads) == (1, 1)
        assert again.texts() == ["0 ", "0 ", "1 "]


async def test_a_load_that_ends_while_its_session_is_opened_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing is behind, so that the session is not opened at the start of the next hub."""
    agent = LoadingAgent("session/request_permission", tmp_path)
    agent.may_answer.clear()
    async with asked_while_loading(agent, tmp_path) as (stage, client, session):
        client.allow(await client.asked())
        await eventually(lambda: agent.answers)
        await stage.crash()
        await stage.journal.describe(session, state="closed")
        await stage.start()
        read_late(stage.journal, monkeypatch, agent.may_answer.set)
        again = await come_back(stage, session, tmp_path)
        answer = await again.answer(again.prompt(session, "say 2", key="k"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert (len(agent.answers), agent.loads) == (1, 1)


def test_a_load_is_not_given_up_while_its_agent_waits_for_a_person(tmp_path: Path) -> None:
    async def play() -> None:
        agent = LoadingAgent("session/request_permission", tmp_path)
        async with asked_while_loading(agent, tmp_path) as (_, client, _):
            asked = await client.asked()
            await think()
            client.allow(asked)
            answer = await client.until(lambda one: "result" in one and "stopReason" in one["result"])
            assert answer["result"] == {"stopReason": "end_turn"}
            assert agent.loads == 1

    in_leaps(play())


def test_an_agent_that_asks_while_it_loads_is_answered_when_the_load_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "is_for_person", lambda method: False)  # or nobody would give it up

    async def play() -> None:
        agent = LoadingAgent("session/request_permission", tmp_path)
        async with asked_while_loading(agent, tmp_path) as (stage, client, session):
            await client.asked()
            await think()
            await eventually(lambda: agent.answers)
            assert agent.answers == ["Request cancelled: the session was not loaded"]
            await eventually(lambda: not stage.hub.sessions[session].state.requests)
            agent.asks = False
            answer = await client.answer(client.prompt(session, "say 3"))
            assert answer["result"] == {"stopReason": "end_turn"}

    in_leaps(play())


class FullJournal(MemoryJournal):
    """Takes nothing while it is full."""

    is_full = False

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if self.is_full:
            raise JournalFull("no room is left")
        return await super().append(stream, entries, after=after)


def test_an_agent_hears_that_a_load_is_given_up_when_that_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next hub, which finds the request open, would answer it a second time."""
    monkeypatch.setattr(state, "is_for_person", lambda method: False)  # or nobody would give it up
    monkeypatch.setattr("dragoman_hub.engine.log.AGAIN_SECONDS", 0.0)

    async def play() -> None:
        journal = FullJournal()
        agent = LoadingAgent("session/request_permission", tmp_path)
        async with asked_while_loading(agent, tmp_path, journal) as (stage, client, session):
            await client.asked()
            journal.is_full = True
            await think()
            await eventually(lambda: not stage.hub.sessions[session].state.requests)
            assert agent.answers == []
            assert stage.hub.sessions[session].process is not None, (
                "it is bound until its host has the answer"
            )
            journal.is_full = False
            await eventually(lambda: agent.answers)
            assert agent.answers == ["Request cancelled: the session was not loaded"]

    in_leaps(play())


async def test_a_load_goes_on_when_its_hub_is_told_to_stop(tmp_path: Path) -> None:
    """As it does when its hub is killed: the agent waits for the answer of whoever comes."""
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with asked_while_loading(agent, tmp_path) as (stage, client, session):
        await client.asked()
        await stage.hub.aclose(keep_agents=True)
        await stage.start()
        again = await come_back(stage, session, tmp_path)
        prompt = again.prompt(session, "say 2", key="k")
        again.allow(await again.asked())
        assert (await again.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert agent.answers == [{"outcome": {"outcome": "selected", "optionId": "allow"}}]
        assert agent.loads == 1, "the load went on"


async def test_a_session_that_is_closed_while_its_agent_is_started_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with staged({"one": agent.agent}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.answer(client.prompt(session, "say 1"))
        await stage.end_agent("one")
        agent.asks = True
        is_started, may_go_on = asyncio.Event(), asyncio.Event()
        ensure_process = stage.hub.pool.ensure_process

        async def start_late(name: str) -> Any:
            process = await ensure_process(name)
            is_started.set()
            await may_go_on.wait()
            return process

        monkeypatch.setattr(stage.hub.pool, "ensure_process", start_late)
        client.prompt(session, "say 2")
        await is_started.wait()
        opened = stage.hub.sessions[session]
        await client.call("session/close", {"sessionId": session})
        may_go_on.set()
        await eventually(lambda: not opened.binding.in_use)
        assert agent.loads == 0, "nobody would answer what the agent asks while it loads"


async def test_an_agent_s_request_is_refused_when_another_node_takes_its_session(tmp_path: Path) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with asked_while_loading(agent, tmp_path) as (stage, client, session):
        await client.asked()
        await lose(stage.hub, stage.hub.sessions[session])
        await eventually(lambda: agent.answers)
        assert agent.answers == ["Request cancelled: another node has the session"]


def foreign(session: str, folder: Path) -> dict[str, Any]:
    return {"sessionId": session, "cwd": str(folder), "mcpServers": []}


@asynccontextmanager
async def asked_in_first_load(agent: LoadingAgent, folder: Path) -> AsyncIterator[tuple[Stage, Talker, int]]:
    """A session that its agent alone knows, and asks in while it loads it; and the request for it."""
    async with staged({"one": agent.agent}) as stage:
        client = await stage.client().begin()
        agent.asks = True
        load = client.ask("session/load", foreign("theirs", folder))
        await eventually(
            lambda: "theirs" in stage.hub.sessions and stage.hub.sessions["theirs"].state.questions
        )
        yield stage, client, load


async def answer_inbox(client: Talker) -> None:
    while not (questions := (await client.call("_dragoman/hub/inbox"))["requests"]):
        pass  # a hub that has just started judges them again
    (asked,) = questions
    chosen = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    await client.call(
        "_dragoman/hub/answer",
        {"sessionId": asked["sessionId"], "request": asked["request"], "result": chosen},
    )


async def test_what_an_agent_asks_in_a_first_load_is_answered_from_the_inbox(tmp_path: Path) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with asked_in_first_load(agent, tmp_path) as (stage, client, load):
        await answer_inbox(await stage.client().begin())
        assert "result" in await client.answer(load)
        assert agent.answers == [{"outcome": {"outcome": "selected", "optionId": "allow"}}]


async def test_an_answer_is_for_the_question_that_was_seen_and_not_for_one_of_its_name(
    tmp_path: Path,
) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with asked_in_first_load(agent, tmp_path) as (stage, client, load):
        person = await stage.client().begin()
        (old_question,) = (await person.call("_dragoman/hub/inbox"))["requests"]
        await answer_inbox(person)
        await client.answer(load)
        await client.call("session/delete", {"sessionId": "theirs"})
        load = client.ask("session/load", foreign("theirs", tmp_path))
        await eventually(
            lambda: "theirs" in stage.hub.sessions and stage.hub.sessions["theirs"].state.questions
        )
        (question,) = (await person.call("_dragoman/hub/inbox"))["requests"]
        assert question["request"] == old_question["request"], (
            "a new life of the session uses its names again"
        )
        chosen = {"outcome": {"outcome": "selected", "optionId": "allow"}}
        for seen, is_settled in ((old_question, False), (question, True)):
            members = {name: seen[name] for name in ("sessionId", "request", "askedAt")}
            answer = await person.call("_dragoman/hub/answer", {**members, "result": chosen})
            assert answer == {"settled": is_settled}
        await client.answer(load)
        assert len(agent.answers) == 2


async def test_a_first_load_goes_on_though_its_client_leaves(tmp_path: Path) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with asked_in_first_load(agent, tmp_path) as (stage, client, _):
        await client.transport.aclose()
        other = await stage.client().begin()
        await answer_inbox(other)
        await other.call("session/load", foreign("theirs", tmp_path))
        assert other.texts() == ["0 ", "0 "]
        assert (len(agent.answers), agent.loads) == (1, 1)


async def test_a_first_load_goes_on_at_the_next_hub(tmp_path: Path) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with asked_in_first_load(agent, tmp_path) as (stage, _, _):
        await eventually(lambda: stage.hub.sessions["theirs"].log.is_idle)
        await stage.crash()
        await stage.start()
        other = await stage.client().begin()
        await answer_inbox(other)
        await other.call("session/load", foreign("theirs", tmp_path))
        assert other.texts() == ["0 ", "0 "]
        assert agent.answers == [{"outcome": {"outcome": "selected", "optionId": "allow"}}]
        assert agent.loads == 1


@pytest.mark.parametrize("is_first", [False, True])
async def test_a_load_that_a_killed_hub_did_not_send_is_asked_for_again_at_once(
    is_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = LoadingAgent("session/request_permission", tmp_path)
    async with staged({"one": agent.agent}, release_after=0.05) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.answer(client.prompt(session, "say 1"))
        is_stored = asyncio.Event()
        with monkeypatch.context() as patch:
            patch.setattr(AgentProcess, "request_load", lambda *_: is_stored.set())
            if is_first:
                client.ask("session/load", foreign("theirs", tmp_path))
            else:
                await client.transport.aclose()
                await eventually(lambda: session not in stage.hub.sessions)
                client = await come_back(stage, session, tmp_path)
                client.prompt(session, "say 2", key="k")
            await is_stored.wait()
            await stage.crash()
        await stage.start()
        async with asyncio.timeout(patience(30)):  # the load itself may take 300 seconds
            again = await come_back(stage, "theirs" if is_first else session, tmp_path)
            if not is_first:
                answer = await again.answer(again.prompt(session, "say 2", key="k"))
                assert answer["result"] == {"stopReason": "end_turn"}
        assert agent.loads == 1


@pytest.mark.parametrize("method", list(ASKS))
async def test_what_an_agent_asked_while_it_loaded_ends_with_its_process(method: str, tmp_path: Path) -> None:
    agent = LoadingAgent(method, tmp_path)
    async with asked_while_loading(agent, tmp_path) as (stage, _, session):
        await stage.crash()
        await stage.end_agent("one")
        agent.asks = False
        await stage.start()
        again = await come_back(stage, session, tmp_path)
        answer = await again.answer(again.prompt(session, "say 2", key="k"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert stage.hub.sessions[session].state.requests == {}
        assert agent.loads == 2


FOREIGN = {"sessionId": "made-elsewhere", "cwd": "/tmp", "mcpServers": []}


def reluctant(is_loading: asyncio.Event, may_answer: asyncio.Event, *, refuses: bool) -> Agent:
    """Takes its time to load a session that was made elsewhere."""
    agent = obedient()

    @agent.load_session
    async def load(request: v1.LoadSessionRequest) -> None:
        is_loading.set()
        await may_answer.wait()
        if refuses:
            raise session_not_found(request.session_id)

    return agent


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_prompt_waits_until_its_session_is_loaded_from_the_agent(refuses: bool) -> None:
    is_loading, may_answer = asyncio.Event(), asyncio.Event()
    async with staged({"one": lambda: reluctant(is_loading, may_answer, refuses=refuses)}) as stage:
        first, second = await stage.client().begin(), await stage.client().begin()
        load = first.ask("session/load", FOREIGN)
        await is_loading.wait()
        prompt = second.prompt("made-elsewhere", "say 1")
        may_answer.set()
        answer = await second.answer(prompt)
        if refuses:
            assert answer["error"]["code"] == NOT_FOUND
            assert "error" in await first.answer(load)
            assert await stage.journal.info("made-elsewhere") is None
        else:
            assert answer["result"]["stopReason"] == "end_turn"
            assert "result" in await first.answer(load)


async def test_a_session_whose_first_load_a_crash_has_cut_off_is_none() -> None:
    is_loading, may_answer = asyncio.Event(), asyncio.Event()
    async with staged({"one": lambda: reluctant(is_loading, may_answer, refuses=True)}) as stage:
        first = await stage.client().begin()
        first.ask("session/load", FOREIGN)
        await is_loading.wait()
        await eventually(lambda: stage.hub.sessions["made-elsewhere"].log.last)
        await stage.crash()
        may_answer.set()
        await stage.start()
        second = await stage.client().begin()
        answer = await second.answer(second.prompt("made-elsewhere", "say 1"))
        assert answer["error"]["code"] == NOT_FOUND
        assert await stage.journal.info("made-elsewhere") is None
