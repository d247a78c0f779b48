"""One client of a hub: what it hears when a message of its own cannot be read, and what its answers do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import Elsewhere, ErrorAnswer, JournalError
from dragoman_hub.engine import bounds
from dragoman_hub.gate.admission import Grant
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
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


async def test_nothing_is_done_before_an_introduction_and_there_is_one() -> None:
    async with staged({"one": obedient}) as stage:
        client = stage.client()
        early = await client.refusal("session/list")
        assert (early["code"], "initialize comes first" in early["message"]) == (-32600, True)
        await client.begin()
        again = await client.refusal("initialize", {"protocolVersion": 1})
        assert (again["code"], "initialize comes once" in again["message"]) == (-32600, True)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (RuntimeError("a secret"), "Internal error"),
        (JournalError("the disk is full\nat a secret place"), "Internal error: the disk is full"),
        (TimeoutError("a secret"), "Internal error: the agent did not answer in time"),
        (Elsewhere("s", "b"), "Internal error: "),
        (ErrorAnswer(-32002, "not there", {"a": 1}), "not there"),
    ],
    ids=lambda case: type(case).__name__,
)
async def test_a_client_hears_as_much_of_what_went_wrong_as_is_its_to_know(
    problem: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()

        async def fail(*_: object) -> None:
            raise problem

        monkeypatch.setattr(stage.hub.methods, "call", fail)
        refused = await client.refusal("session/list")
        assert refused["code"] == (-32002 if isinstance(problem, ErrorAnswer) else -32603)
        assert refused["message"].startswith(said)
        assert "secret" not in refused["message"]


class HeldJournal(MemoryJournal):
    """Stores at once, and says that a question is settled when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_free, self.held = asyncio.Event(), asyncio.Event()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        last = await super().append(stream, entries, after=after)
        if any(b'"settled"' in entry.frame for entry in entries):
            self.held.set()
            await self.is_free.wait()
        return last


async def test_a_late_answer_decides_nothing_and_is_written_down_unless_it_is_none(tmp_path: Path) -> None:
    audit, journal = tmp_path / "audit.jsonl", HeldJournal()
    async with staged({"one": obedient}, audit=str(audit), journal=journal) as stage:
        first, late, silent = [
            await stage.client(Grant(name)).begin() for name in ("first", "late", "silent")
        ]
        session = await first.new(str(tmp_path))
        for other in (late, silent):
            await other.call("_dragoman/hub/attach", {"sessionId": session})
        turn = first.prompt(session, "ask")
        questions = [await client.asked() for client in (first, late, silent)]
        first.allow(questions[0], "reject")
        await journal.held.wait()  # it is settled, and nobody knows
        late.allow(questions[1])
        silent.say({"id": questions[2]["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        for client in (late, silent):
            await client.call("session/list")
        journal.is_free.set()
        await first.answer(turn)
        assert first.texts() == ["no"]
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    told = [(line["person"], line["outcome"]) for line in lines if line.get("person")]
    assert told == [("first", "deny"), ("late", "deny")]
    assert (lines[-1]["why"], lines[-1]["session"]) == ("the question was already answered", session)


async def test_who_takes_back_a_prompt_of_its_own_decides_nothing_of_anothers_turn() -> None:
    async with staged({"one": obedient}) as stage:
        first, other = await stage.client(Grant("first")).begin(), await stage.client(Grant("other")).begin()
        session = await first.new()
        await other.call("_dragoman/hub/attach", {"sessionId": session})
        turn = first.prompt(session, "ask")
        question = await other.asked()
        waiting = other.prompt(session, "say 1")
        await other.call("session/list")
        other.say({"method": "session/cancel", "params": {"sessionId": session}})
        assert (await other.answer(waiting))["result"]["stopReason"] == "cancelled"
        other.say({"id": question["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        again = await other.until(
            lambda one: one.get("method") == "session/request_permission" and one["id"] != question["id"]
        )
        other.allow(again)
        assert (await first.answer(turn))["result"]["stopReason"] == "end_turn"
        assert first.texts() == ["yes"]


async def test_a_client_that_comes_back_takes_the_place_of_the_one_it_was() -> None:
    async with staged({"one": obedient}) as stage:
        ours = {"client": "the-client"}
        before = await stage.client(Grant("ann"), **ours).begin()
        others = [
            await stage.client(Grant("bob"), **ours).begin(),
            await stage.client(Grant("ann"), client="another-one").begin(),
            await stage.client(Grant("ann")).begin(),
        ]
        assert len(stage.hub.clients) == 4
        await stage.client(Grant("ann"), **ours).begin()
        await before.until_ended()
        assert len(stage.hub.clients) == 4
        for other in others:
            await other.call("session/list")


async def test_a_client_that_left_with_what_it_lends_is_waited_for_and_then_given_up() -> None:
    async with staged({"one": obedient}, lender_grace=0.01) as stage:
        lender = await stage.client().begin(fs={"readTextFile": True, "writeTextFile": True})
        session = await lender.new()
        lender.prompt(session, "write /tmp/none/a.txt words")
        await lender.asked("fs/write_text_file")
        await lender.transport.aclose()
        other = await stage.client().begin()
        await other.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        why = "failed: Internal error: the client that provides this has disconnected"
        await other.until(lambda one: why in str(one))


async def test_what_a_client_that_left_was_asked_to_read_is_read_by_the_hub_in_its_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that has room for one answer: what was held for the client's is free for the hub's."""
    monkeypatch.setattr(bounds, "ANSWERS", bounds.ANSWERS._replace(session=bounds.WORK_BYTES))
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "policy.toml").write_text('default = "allow"\n')
    options: dict[str, Any] = {"lender_grace": 0.01, "policy": str(tmp_path / "policy.toml")}
    async with staged({"one": obedient}, **options) as stage:
        lender = await stage.client().begin(fs={"readTextFile": True})
        session = await lender.new(str(tmp_path))
        lender.prompt(session, f"read {tmp_path}/a.txt")
        await lender.asked("fs/read_text_file")
        await lender.transport.aclose()
        other = await stage.client().begin()
        await other.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        await other.until(lambda one: '"words"' in json.dumps(one))
