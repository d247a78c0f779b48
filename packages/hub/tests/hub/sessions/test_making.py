"""What an agent says of a session that is being made is told in its place, whatever else is being made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman_hub.agents import process
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.raw_agents import RawAgent, eventually, raw_stage
from tests.hub.sessions.stage import Talker

NEW = {"cwd": "/tmp", "mcpServers": []}


def hold_new_sessions(agent: RawAgent) -> list[dict[str, Any]]:
    """From here on the agent does not answer `session/new`: its requests are kept here."""
    held: list[dict[str, Any]] = []
    feed = agent.feed

    def hear(block: bytes) -> None:
        for line in block.splitlines():
            message = json.loads(line)
            if message.get("method") in ("session/new", "session/fork"):
                held.append(message)
            else:
                feed(line)

    agent.feed = hear  # type: ignore[method-assign]
    return held


async def begin_session(client: Talker, agent: RawAgent, held: list[dict[str, Any]], name: str) -> str:
    """The agent says something of it before it has answered."""
    request = client.ask("session/new", NEW)
    await eventually(lambda: held)
    agent.tell(name, "early")
    agent.say(id=held.pop()["id"], result={"sessionId": name})
    return str((await client.answer(request))["result"]["sessionId"])


async def test_updates_of_a_session_do_not_wait_until_another_session_is_made() -> None:
    async with raw_stage("one") as (stage, client):
        agent = stage.agents["one"]
        await client.new()  # the agent runs
        held = hold_new_sessions(agent)
        slow = client.ask("session/new", NEW)
        await eventually(lambda: held)
        waiting = held.pop()
        session = await begin_session(client, agent, held, "quick")
        prompt = client.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        agent.tell("quick", "one")
        agent.tell("quick", "two")
        agent.end_turn()
        assert (await client.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert client.texts() == ["early", "one", "two"], "before the answer, in order"
        agent.say(id=waiting["id"], result={"sessionId": "slow"})
        assert (await client.answer(slow))["result"]["sessionId"] == "slow"


class CopyingJournal(MemoryJournal):
    """Takes its time to store the past of a fork."""

    def __init__(self) -> None:
        super().__init__()
        self.may_copy = asyncio.Event()
        self.copies = 0

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        self.copies += stream == "fork"
        if stream == "fork" and self.copies == 2:
            await self.may_copy.wait()
        return await super().append(stream, entries, after=after)


async def test_what_an_agent_says_of_a_fork_while_its_past_is_copied_comes_behind_the_past() -> None:
    journal = CopyingJournal()
    async with raw_stage("one", journal=journal) as (stage, client):
        agent = stage.agents["one"]
        session = await client.new()
        process = stage.hub.pool.seats["one"].process
        assert process is not None
        process.initialize_result["agentCapabilities"] = {"sessionCapabilities": {"fork": {}}}
        prompt = client.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        agent.tell(session, "past")
        agent.end_turn()
        await client.answer(prompt)
        held = hold_new_sessions(agent)
        fork = client.ask("session/fork", {"sessionId": session, **NEW})
        await eventually(lambda: held)
        agent.say(id=held.pop()["id"], result={"sessionId": "fork"})
        await eventually(lambda: journal.copies == 2)
        agent.tell("fork", "present")
        await client.call("session/list", {})  # the hub has had time to read it
        journal.may_copy.set()
        assert (await client.answer(fork))["result"]["sessionId"] == "fork"
        late = await stage.client().begin()
        await late.call("session/load", {"sessionId": "fork", **NEW})
        await late.until(lambda one: "present" in str(one))
        assert late.texts() == ["past", "present"]
        prompt = late.prompt("fork", "go on")
        await eventually(lambda: len(agent.prompts) == 2)
        agent.end_turn()
        assert (await late.answer(prompt))["result"] == {"stopReason": "end_turn"}


async def test_an_agent_that_waits_for_an_answer_before_its_session_is_there_is_told_no(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "EARLY_SECONDS", 0.05)
    async with raw_stage("one") as (stage, client):
        agent = stage.agents["one"]
        held = hold_new_sessions(agent)
        request = client.ask("session/new", NEW)
        await eventually(lambda: held)
        agent.tell("new", "early")
        agent.ask("q", "fs/read_text_file", "new", path="/tmp/x")
        await eventually(lambda: "q" in agent.answers)
        assert agent.answers.pop("q")["error"]["code"] == -32600
        agent.say(id=held.pop()["id"], result={"sessionId": "new"})
        session = (await client.answer(request))["result"]["sessionId"]
        client.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        agent.end_turn()
        await client.until(lambda message: "stopReason" in str(message))
        assert client.texts() == ["early"]
        assert not agent.answers


async def test_agents_that_choose_the_same_id_at_the_same_moment_have_two_sessions() -> None:
    async with raw_stage("one", "two") as (stage, client):
        helds = []
        for name in ("one", "two"):
            await client.new(agent=name)  # the agent runs
            helds.append(hold_new_sessions(stage.agents[name]))
        requests = [
            client.ask("session/new", {**NEW, "_meta": {"dragoman": {"agent": name}}})
            for name in ("one", "two")
        ]
        await eventually(lambda: all(helds))
        for name, held in zip(("one", "two"), helds, strict=True):
            stage.agents[name].say(id=held.pop()["id"], result={"sessionId": "1"})
        sessions = [(await client.answer(request))["result"]["sessionId"] for request in requests]
        assert len(set(sessions)) == 2
        for name, session in zip(("one", "two"), sessions, strict=True):
            prompt = client.prompt(session, "go")
            await eventually(lambda name=name: stage.agents[name].prompts)  # type: ignore[misc]
            stage.agents[name].end_turn()
            assert (await client.answer(prompt))["result"]["stopReason"] == "end_turn"
