"""A question exists for nobody before it is judged, and judging holds up nobody else."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import Agent, Turn
from dragoman.system.files import open_regular
from dragoman.testing.pace import patience
from dragoman_hub.gate.admission import Grant
from dragoman_hub.judge import hub_judge
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from dragoman_local.workspace.policy import policy_files
from dragoman_local.workspace.policy.audit import AuditEntry, AuditLog
from tests.hub.sessions.agents import OPTIONS, obedient
from tests.hub.sessions.stage import Stage, Talker, staged

DENY = '[[rule]]\ndecision = "deny"\nname = "nothing is deleted"\nkind = "delete"\n'
POLLER = Grant("poller", frozenset({"approve"}))
YES = {"outcome": {"outcome": "selected", "optionId": "allow"}}


@pytest.fixture(autouse=True)
def nobodys_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def lines_of(audit: Path) -> list[tuple[str, str, str]]:
    """What was decided about acts of agents."""
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    return [
        (line["outcome"], line["by"], line.get("person", ""))
        for line in lines
        if line["method"] == "permission"
    ]


class HeldJournal(MemoryJournal):
    """Stores questions when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()
        self.is_open = asyncio.Event()

    def try_queue_append(self, *_: Any, **__: Any) -> bool:
        return False

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if any(b"session/request_permission" in entry.frame for entry in entries):
            self.is_asked.set()
            await self.is_open.wait()
        return await super().append(stream, entries, after=after)


class SlowDisk:
    """Files that take their time to be opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, slow: Callable[[str], bool]) -> None:
        self.is_asked, self.is_open = threading.Event(), threading.Event()
        self.threads: set[int] = set()

        def open_late(path: Any) -> Any:
            self.threads.add(threading.get_ident())
            if slow(str(path)) and not self.is_open.is_set():
                self.is_asked.set()
                self.is_open.wait(patience(5))
            return open_regular(path)

        monkeypatch.setattr(policy_files, "open_regular", open_late)

    async def wait_until_asked(self) -> None:
        assert await asyncio.to_thread(self.is_asked.wait, patience(5))


@pytest.fixture
def slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    (tmp_path / "slow/.dragoman").mkdir(parents=True)
    (tmp_path / "slow/.dragoman/policy.toml").write_text(DENY)
    disk = SlowDisk(monkeypatch, slow=lambda path: "/slow/" in path)
    yield disk
    disk.is_open.set()


async def see_nothing(poller: Talker, onlooker: Talker, session: str) -> None:
    """Through no door is anything known of a question, and nobody can answer it."""
    assert (await poller.call("_dragoman/hub/inbox"))["requests"] == []
    for number in range(1, 40):
        params = {"sessionId": session, "request": str(number), "result": YES}
        assert await poller.call("_dragoman/hub/answer", params) == {"settled": False}
    attached = await onlooker.call("_dragoman/hub/attach", {"sessionId": session})
    assert attached["snapshot"]["requests"] == []
    assert (attached["session"]["asking"], attached["session"]["state"]) == (0, "running")
    for place in ({}, {"after": "0"}):
        history = await onlooker.call("_dragoman/hub/history", {"sessionId": session, **place})
        assert not [told for told in history["messages"] if "request_permission" in json.dumps(told)]
    for client in (poller, onlooker):
        assert not [told for told in client.heard if "request_permission" in json.dumps(told)]


async def test_nobody_answers_a_question_that_is_not_stored(tmp_path: Path) -> None:
    policy, audit = tmp_path / "policy.toml", tmp_path / "audit.jsonl"
    policy.write_text(DENY)
    journal = HeldJournal()
    async with staged({"one": obedient}, journal=journal, policy=str(policy), audit=str(audit)) as stage:
        client, poller, onlooker = await everybody(stage)
        session = await client.new(str(tmp_path))
        asked = client.prompt(session, "ask")
        await journal.is_asked.wait()
        await see_nothing(poller, onlooker, session)
        journal.is_open.set()
        assert (await client.answer(asked))["result"]["stopReason"] == "end_turn"
        assert client.texts() == ["no"]
        assert not [told for told in client.heard if told.get("method") == "session/request_permission"]
    assert lines_of(audit) == [("deny", "policy", "")]


async def test_nobody_knows_of_a_question_while_it_is_judged_and_others_go_on(
    tmp_path: Path, slow_disk: SlowDisk
) -> None:
    audit = tmp_path / "audit.jsonl"
    async with staged({"one": obedient}, audit=str(audit)) as stage:
        client, poller, onlooker = await everybody(stage)
        other = await client.new(str(tmp_path))
        session = await client.new(str(tmp_path / "slow"))
        asked = client.prompt(session, "ask")
        await slow_disk.wait_until_asked()
        await see_nothing(poller, onlooker, session)
        spoken = client.prompt(other, "say 2")
        assert (await client.answer(spoken))["result"]["stopReason"] == "end_turn"
        question = client.prompt(other, "ask")  # no rule covers it
        client.allow(await client.asked())
        await client.answer(question)
        slow_disk.is_open.set()
        await client.answer(asked)
        assert client.texts(session=session) == ["no"]
        assert threading.get_ident() not in slow_disk.threads  # the event loop opens no policy
    assert lines_of(audit) == [("ask", "policy", ""), ("allow", "person", "owner"), ("deny", "policy", "")]


async def everybody(stage: Stage) -> tuple[Talker, Talker, Talker]:
    client = await stage.client(cursors=True, events=True).begin()
    poller = await stage.client(POLLER).begin()
    onlooker = await stage.client(Grant("ann")).begin()
    await poller.call("_dragoman/hub/watch")
    return client, poller, onlooker


async def test_a_question_is_told_in_its_place_once_it_is_judged(tmp_path: Path, slow_disk: SlowDisk) -> None:
    (tmp_path / "slow/.dragoman/policy.toml").write_text("")
    async with staged({"one": obedient}) as stage:
        client, poller, onlooker = await everybody(stage)
        session = await client.new(str(tmp_path / "slow"))
        asked = client.prompt(session, "ask")
        await slow_disk.wait_until_asked()
        await onlooker.call("_dragoman/hub/attach", {"sessionId": session})
        slow_disk.is_open.set()
        await poller.until(lambda told: told.get("method") == "_dragoman/hub/asked")
        await onlooker.asked()
        question = await client.asked()
        (event,) = client.events("asked")
        assert event["request"] == question["params"]["_meta"]["dragoman"]["request"]
        client.allow(question)
        await client.answer(asked)
        assert client.texts() == ["yes"]


async def test_questions_of_a_session_are_judged_in_their_order(tmp_path: Path, slow_disk: SlowDisk) -> None:
    (tmp_path / "slow/.dragoman/policy.toml").write_text("")
    agent = Agent("eager")

    @agent.prompt
    async def ask_both(turn: Turn) -> None:
        async def ask(title: str) -> None:
            async with turn.tool(title, kind="delete") as call:
                await call.ask(OPTIONS)

        await asyncio.gather(ask("first"), ask("second"))

    async with staged({"one": lambda: agent}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "slow"))
        prompt = client.prompt(session, "go")
        await slow_disk.wait_until_asked()
        slow_disk.is_open.set()
        first = await client.asked()
        second = await client.asked(after=client.heard.index(first) + 1)
        for question in (first, second):
            client.allow(question)
        await client.answer(prompt)
        titles = [question["params"]["toolCall"]["title"] for question in (first, second)]
        assert titles == ["first", "second"]


async def test_a_turn_that_is_cancelled_does_not_wait_for_the_judge(
    tmp_path: Path, slow_disk: SlowDisk
) -> None:
    async with staged({"one": obedient}, audit=str(tmp_path / "audit.jsonl")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "slow"))
        asked = client.prompt(session, "ask")
        await slow_disk.wait_until_asked()
        client.say({"method": "session/cancel", "params": {"sessionId": session}})
        assert (await client.answer(asked))["result"]["stopReason"] == "cancelled"
        slow_disk.is_open.set()


async def test_after_a_crash_a_question_is_judged_again_before_anybody_sees_it(
    tmp_path: Path, slow_disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_judge, "CLOSE_SECONDS", 0.01)
    audit = tmp_path / "audit.jsonl"
    async with staged({"one": obedient}, audit=str(audit)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "slow"))
        client.prompt(session, "ask", key="k")
        await slow_disk.wait_until_asked()
        await stage.crash()
        slow_disk.is_asked.clear()
        await stage.start()
        client, poller, onlooker = await everybody(stage)
        await slow_disk.wait_until_asked()
        await see_nothing(poller, onlooker, session)
        answer = client.ask("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        assert "result" in await client.answer(answer)  # nor does a client wait for the judge that comes back
        assert not [told for told in client.heard if told.get("method") == "session/request_permission"]
        slow_disk.is_open.set()
        assert (await client.answer(client.prompt(session, "ask", key="k")))["result"]
        assert client.texts(session=session) == ["no"]
    assert set(lines_of(audit)) == {("deny", "policy", "")}


async def test_the_first_of_two_answers_counts_while_it_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = tmp_path / "audit.jsonl"
    is_asked, is_open, threads = threading.Event(), threading.Event(), set()
    append = AuditLog.append

    def append_late(self: AuditLog, line: AuditEntry) -> None:
        threads.add(threading.get_ident())
        if line.by == "person":
            is_asked.set()
            is_open.wait(patience(5))
        append(self, line)

    monkeypatch.setattr(AuditLog, "append", append_late)
    async with staged({"one": obedient}, audit=str(audit)) as stage:
        client = await stage.client().begin()
        poller = await stage.client(POLLER).begin()
        session = await client.new(str(tmp_path))
        asked = client.prompt(session, "ask")
        question = await client.asked()
        client.allow(question)
        assert await asyncio.to_thread(is_asked.wait, patience(5))
        (found,) = (await poller.call("_dragoman/hub/inbox"))["requests"]
        no = {"outcome": {"outcome": "selected", "optionId": "reject"}}
        params = {"sessionId": session, "request": found["request"], "result": no}
        assert await poller.call("_dragoman/hub/answer", params) == {"settled": False}
        is_open.set()
        await client.answer(asked)
        assert client.texts() == ["yes"]
        assert threading.get_ident() not in threads  # the event loop writes no line
    assert lines_of(audit) == [("ask", "policy", ""), ("allow", "person", "owner")]


async def test_what_a_client_lends_is_judged_beside_the_loop_and_given_in_order(
    tmp_path: Path, slow_disk: SlowDisk
) -> None:
    rule = '[[rule]]\ndecision = "deny"\npath = "**/secret.txt"\n'
    (tmp_path / "slow/.dragoman/policy.toml").write_text(rule)
    async with staged({"one": obedient}, files="client") as stage:
        client = await stage.client().begin(fs={"readTextFile": True})
        session = await client.new(str(tmp_path / "slow"))
        for name in ("open.txt", "secret.txt"):
            asked = client.prompt(session, f"read {tmp_path}/slow/{name}")
            slow_disk.is_open.set()
            if name == "open.txt":
                request = await client.asked("fs/read_text_file")
                client.say({"id": request["id"], "result": {"content": "words"}})
            await client.answer(asked)
        assert client.texts() == ["words"]
        assert threading.get_ident() not in slow_disk.threads


async def test_files_of_an_agent_that_is_elsewhere_are_not_the_hubs_to_lend(tmp_path: Path) -> None:
    async with staged({"one": obedient}) as stage:
        seat = stage.hub.pool.seats["one"]
        seat.spec = replace(seat.spec, place="ssh:there")
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.answer(client.prompt(session, f"write {tmp_path}/a.txt words"))
        why = "Method not found: the files and terminals of this agent are on ssh:there"
        assert client.texts() == [f"failed: {why}"]
    assert list(tmp_path.iterdir()) == []


async def test_a_mistake_of_ours_costs_one_question_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = hub_judge.HubJudge.decide
    failures = [RuntimeError("a mistake")]

    def fail_once(judge: Any, *words: Any) -> Any:
        if failures:
            raise failures.pop()
        return decide(judge, *words)

    monkeypatch.setattr(hub_judge.HubJudge, "decide", fail_once)
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        await client.answer(client.prompt(session, "ask"))
        assert client.texts() == ["no"]
        turn = client.prompt(session, "ask")
        client.allow(await client.asked())
        await client.answer(turn)
        assert client.texts() == ["no", "yes"]
