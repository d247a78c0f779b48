"""Bytes between the parts of a hub are bounded, and nobody waits for another's: the table of docs/hub.md."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman_hub.agents.sessionless import WITHDRAWALS
from dragoman_hub.engine import bounds
from dragoman_hub.engine.bounds import ANSWERS, MIB, TrafficLimits
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.raw_agents import RawAgent, eventually, raw_stage
from tests.hub.sessions.stage import Talker

KIB = 1024


async def prompted(client: Talker, agent: RawAgent, folder: Path, words: str = "go") -> tuple[str, int]:
    """A session in the folder, whose prompt is with the agent."""
    session = await client.new(str(folder), agent=agent.name)
    before = len(agent.prompts)
    request = client.prompt(session, words)
    await eventually(lambda: len(agent.prompts) > before)
    return session, request


def large_file(folder: Path, size: int = MIB) -> str:
    path = folder / "large"
    path.write_text("x" * size)
    return str(path)


async def test_files_are_not_read_for_an_agent_that_does_not_take_the_answers(tmp_path: Path) -> None:
    async with raw_stage("greedy", "other") as (stage, client):
        greedy, other = stage.agents["greedy"], stage.agents["other"]
        session, _ = await prompted(client, greedy, tmp_path)
        greedy.transport.pause()
        for number in range(20):
            greedy.ask(f"r{number}", "fs/read_text_file", session, path=large_file(tmp_path))
        await eventually(lambda: greedy.hub_end.pending > 2 * MIB)
        _, request = await prompted(client, other, tmp_path)
        other.end_turn()
        assert (await client.answer(request))["result"]["stopReason"] == "end_turn"
        assert greedy.hub_end.pending <= ANSWERS.session + 64 * KIB
        assert stage.hub.bounds.answers.held_bytes <= ANSWERS.session + 64 * KIB
        greedy.transport.resume()
        await eventually(lambda: len(greedy.answers) == 20)
        assert all(len(answer["result"]["content"]) == MIB for answer in greedy.answers.values())
        await eventually(lambda: stage.hub.bounds.answers.held_bytes == 0)
        assert stage.hub.bounds.lent.held_bytes == stage.hub.bounds.requests.held_bytes == 0


async def test_an_agent_whose_answers_wait_is_heard_and_can_be_cancelled(tmp_path: Path) -> None:
    async with raw_stage("greedy") as (stage, client):
        greedy = stage.agents["greedy"]
        session, request = await prompted(client, greedy, tmp_path)
        greedy.transport.pause()
        for number in range(20):
            greedy.ask(f"r{number}", "fs/read_text_file", session, path=large_file(tmp_path))
        await eventually(lambda: greedy.hub_end.pending > 2 * MIB)
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
        greedy.tell(session, "still here")
        greedy.end_turn()
        assert (await client.answer(request))["result"]["stopReason"] == "end_turn"
        assert client.texts() == ["still here"]
        greedy.transport.resume()
        await eventually(lambda: greedy.notes)
        assert greedy.notes[0]["method"] == "session/cancel"
        await eventually(lambda: stage.hub.bounds.answers.held_bytes == stage.hub.bounds.lent.held_bytes == 0)


async def test_answers_that_an_agent_never_took_are_free_when_it_ends(tmp_path: Path) -> None:
    async with raw_stage("greedy") as (stage, client):
        greedy = stage.agents["greedy"]
        session, request = await prompted(client, greedy, tmp_path)
        greedy.transport.pause()
        for number in range(20):
            greedy.ask(f"r{number}", "fs/read_text_file", session, path=large_file(tmp_path))
        await eventually(lambda: greedy.hub_end.pending > 2 * MIB)
        await greedy.transport.aclose()
        assert "error" in await client.answer(request)
        await eventually(lambda: stage.hub.bounds.answers.held_bytes == stage.hub.bounds.lent.held_bytes == 0)
        assert stage.hub.bounds.requests.held_bytes == 0


async def test_an_agent_that_writes_faster_than_the_disk_is_not_read_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "LENT", TrafficLimits(MIB, MIB, 4 * MIB))
    monkeypatch.setattr(bounds, "REQUESTS", TrafficLimits(4 * MIB, 4 * MIB, 8 * MIB))
    async with raw_stage("writer", policy=str(allowing(tmp_path))) as (stage, client):
        writer = stage.agents["writer"]
        session, _ = await prompted(client, writer, tmp_path)
        for number in range(24):
            path = str(tmp_path / f"f{number}")
            writer.ask(f"w{number}", "fs/write_text_file", session, path=path, content="x" * 256 * KIB)
        highest = 0
        while len(writer.answers) < 24:
            await asyncio.sleep(0)
            highest = max(highest, stage.hub.bounds.requests.held_bytes)
        assert not [answer for answer in writer.answers.values() if "error" in answer]
        assert highest <= 3 * MIB


def allowing(folder: Path) -> Path:
    policy = folder / "policy.toml"
    policy.write_text('default = "allow"\n')
    return policy


async def test_requests_that_people_do_not_answer_are_refused_above_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "REQUESTS", TrafficLimits(MIB, MIB, MIB))
    async with raw_stage("asking") as (stage, client):
        agent = stage.agents["asking"]
        session, request = await prompted(client, agent, tmp_path)
        for number in range(6):
            call = {"toolCallId": f"c{number}", "title": "x" * 300 * KIB}
            options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
            agent.ask(f"p{number}", "session/request_permission", session, toolCall=call, options=options)
            await eventually(lambda: stage.hub.bounds.entries.held_bytes == 0)
        await eventually(lambda: len(agent.answers) == 3)
        assert all("too many requests" in answer["error"]["message"] for answer in agent.answers.values())
        assert stage.hub.bounds.requests.held_bytes <= MIB
        agent.end_turn()
        await client.answer(request)
        await eventually(lambda: stage.hub.bounds.requests.held_bytes == 0)


class StuckJournal(MemoryJournal):
    """Stores nothing while `free` is not set."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.free.set()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        await self.free.wait()
        return await super().append(stream, entries, after=after)


async def test_an_agent_is_not_read_while_the_journal_is_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "UNSTORED", TrafficLimits(MIB, MIB, MIB))
    journal = StuckJournal()
    async with raw_stage("talker", journal=journal) as (stage, client):
        agent = stage.agents["talker"]
        session, request = await prompted(client, agent, tmp_path)
        client.transport.pause()
        journal.free.clear()
        for _ in range(64):
            agent.tell(session, "x" * 64 * KIB)
        await eventually(lambda: stage.hub.bounds.entries.is_full)
        assert agent.transport.pending > 2 * MIB
        assert stage.hub.bounds.entries.held_bytes <= MIB + 256 * KIB
        journal.free.set()
        await eventually(lambda: agent.transport.pending == 0)
        client.transport.resume()
        agent.end_turn()
        await client.answer(request)
        assert [len(text) for text in client.texts()] == [64 * KIB] * 64
        await eventually(lambda: stage.hub.bounds.entries.held_bytes == 0)  # notes follow the turn


async def test_a_session_that_only_waited_for_others_of_its_agent_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "UNSTORED", TrafficLimits(MIB, MIB, 4 * MIB))
    journal = StuckJournal()
    async with raw_stage("talker", journal=journal) as (stage, client):
        agent = stage.agents["talker"]
        first, _ = await prompted(client, agent, tmp_path)
        second, request = await prompted(client, agent, tmp_path)
        journal.free.clear()
        for _ in range(12):
            agent.tell(first, "x" * 128 * KIB)
        agent.tell(second, "a word")
        await eventually(lambda: stage.hub.bounds.entries.held_bytes > MIB)
        journal.free.set()
        agent.end_turn()
        await client.answer(request)
        assert client.texts(session=second) == ["a word"]


async def test_a_prompt_is_refused_when_those_that_wait_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "PROMPTS", TrafficLimits(MIB, MIB, MIB))
    async with raw_stage("slow") as (stage, client):
        agent = stage.agents["slow"]
        session, running = await prompted(client, agent, tmp_path)
        queued = client.prompt(session, "x" * 700 * KIB)
        refused = await client.answer(client.prompt(session, "x" * 700 * KIB))
        assert "too large" in refused["error"]["message"]
        small = client.prompt(session, "small")
        agent.end_turn()
        await client.answer(running)
        for request in (queued, small):
            await eventually(lambda: len(agent.prompts) > len(agent.turns_ended))
            agent.end_turn()
            assert "result" in await client.answer(request)
        await eventually(lambda: stage.hub.bounds.prompts.held_bytes == 0)


async def test_requests_of_a_client_are_refused_when_those_without_an_answer_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "CLIENT", (MIB, 4 * MIB))
    async with raw_stage("silent") as (stage, client):
        agent = stage.agents["silent"]
        session = await client.new(str(tmp_path))
        params: dict[str, Any] = {"sessionId": session, "text": "x" * 700 * KIB}
        first = client.ask("_other/method", params)
        await eventually(lambda: agent.calls)
        assert "too many requests" in (await client.refusal("_other/method", params))["message"]
        another = await stage.client().begin()
        assert await another.new(str(tmp_path))  # its own bytes are counted, and not its neighbour's
        agent.say(id=agent.calls[0]["id"], result={})
        await client.answer(first)
        await eventually(lambda: stage.hub.bounds.clients.held_bytes == 0)


async def test_a_client_that_reads_no_answers_is_cut_off(tmp_path: Path) -> None:
    async with raw_stage("quiet", unread=256 * KIB) as (stage, client):
        session = await client.new(str(tmp_path))
        reading = await stage.client().begin()
        client.transport.pause()
        for _ in range(4):
            client.ask("_none/such", {"sessionId": session, "text": "x"})
        agent = stage.agents["quiet"]
        await eventually(lambda: len(agent.calls) == 4)
        for call in agent.calls:
            agent.say(id=call["id"], result={"text": "x" * 200 * KIB})
        await eventually(lambda: len(stage.hub.clients) == 1)
        assert await reading.new(str(tmp_path))


async def test_a_client_that_lends_files_is_asked_for_a_few_at_a_time(tmp_path: Path) -> None:
    async with raw_stage("reader") as (stage, _):
        lender = await stage.client().begin(fs={"readTextFile": True})
        agent = stage.agents["reader"]
        session, _ = await prompted(lender, agent, tmp_path)
        for number in range(40):
            agent.ask(f"r{number}", "fs/read_text_file", session, path=str(tmp_path / f"f{number}"))
        at_once = ANSWERS.session // bounds.WORK_BYTES

        def asked() -> list[dict[str, Any]]:
            return [one for one in lender.heard if one.get("method") == "fs/read_text_file"]

        await eventually(lambda: stage.hub.bounds.lent.held_bytes == 0 and len(asked()) >= at_once)
        await eventually(lambda: len(stage.hub.sessions[session].state.requests) == 40)
        assert len(asked()) == at_once
        given: list[int] = []
        while len(given) < 40:
            await eventually(lambda: len(asked()) > len(given))
            given.append(asked()[len(given)]["id"])
            lender.say({"id": given[-1], "result": {"content": "some text"}})
        await eventually(lambda: len(agent.answers) == 40)
        await eventually(lambda: stage.hub.bounds.answers.held_bytes == 0)


async def test_prompts_and_notifications_do_not_pile_up_before_an_agent_that_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "ANSWERS", TrafficLimits(512 * KIB, MIB, 4 * MIB))
    async with raw_stage("deaf") as (stage, client):
        agent = stage.agents["deaf"]
        sessions = [await client.new(str(tmp_path)) for _ in range(6)]
        agent.transport.pause()
        requests = [client.prompt(session, "x" * 384 * KIB) for session in sessions]
        await eventually(lambda: agent.hub_end.pending > 700 * KIB)
        for _ in range(20):
            note = {"sessionId": sessions[0], "text": "y" * 128 * KIB}
            client.say({"method": "_some/note", "params": note})
        assert (await client.call("session/list"))["sessions"]  # all of that was heard
        assert agent.hub_end.pending <= MIB + 128 * KIB
        assert stage.hub.bounds.answers.held_bytes <= MIB + 128 * KIB
        agent.transport.resume()
        for place in range(len(requests)):
            await eventually(lambda: len(agent.prompts) > len(agent.turns_ended))
            agent.end_turn(place)
        for request in requests:
            assert "result" in await client.answer(request)
        await eventually(lambda: stage.hub.bounds.answers.held_bytes == 0)


async def test_an_agent_that_gives_up_what_it_never_asked_costs_a_bounded_number_of_tasks(
    tmp_path: Path,
) -> None:
    async with raw_stage("confused") as (stage, client):
        agent = stage.agents["confused"]
        session, request = await prompted(client, agent, tmp_path)
        for number in range(2000):
            agent.say(method="$/cancel_request", params={"requestId": f"none{number}"})
        agent.tell(session, "done")
        await client.until(lambda message: message.get("method") == "session/update")
        assert len(stage.hub.owner) <= WITHDRAWALS + 16
        agent.end_turn()
        assert "result" in await client.answer(request)
