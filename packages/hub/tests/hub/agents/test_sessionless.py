"""What an agent tells that names no session, or none that is open."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.raw_agents import eventually
from tests.hub.sessions.stage import Held, Stage, Talker, staged


async def test_what_an_agent_tells_beyond_any_session_reaches_whoever_follows_one_of_its(
    tmp_path: Path,
) -> None:
    def heard(client: Talker) -> list[str]:
        return [one["method"] for one in client.heard if one.get("params") == {"elicitationId": "e-1"}]

    async with staged({"one": obedient, "two": obedient}) as stage:
        first = await stage.client().begin()
        session = await first.new(str(tmp_path))
        second = await stage.client().begin()
        await second.call("session/resume", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        confined = await stage.client(Grant("narrow", roots=(str(tmp_path),))).begin()
        await confined.call("session/resume", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        nobody = await stage.client().begin()
        await nobody.new(str(tmp_path), agent="two")
        for method in ("elicitation/complete", "_one/news"):
            assert (await first.answer(first.prompt(session, f"tell {method}")))["result"]
        await second.until(lambda one: one.get("method") == "_one/news")
        assert heard(first) == heard(second) == ["elicitation/complete", "_one/news"]
        assert heard(confined) == ["elicitation/complete"], "what others have to do with it is not its own"
        assert heard(nobody) == []


async def test_a_request_that_the_agent_gives_up_is_nobody_s_to_answer_any_more() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client(events=True).begin()
        session = await client.new()
        prompt = client.prompt(session, "impatient")
        asked = await client.asked()
        withdrawn = await client.until(lambda one: one.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == asked["id"]
        assert client.events("settled")[0]["outcome"] == "cancelled"
        assert stage.hub.sessions[session].state.is_busy, "the turn goes on"
        assert not (await client.call("_dragoman/hub/inbox"))["requests"]
        gate.open.set()
        assert (await client.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert client.texts() == ["never mind"]


OPTIONS = [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]


def says(stage: Stage, **message: Any) -> None:
    """The agent says something out of any turn."""
    stage.kept["one"].feed(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


async def test_an_agent_is_heard_in_a_session_that_rests_and_that_it_knows_by_another_id() -> None:
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await stage.end_agent("one")
        await client.answer(client.prompt(session, "say 1"))
        own = stage.hub.sessions[session].state.agent_session
        assert own != session, "the next process has made another one for it"
        await stage.crash()
        await stage.start()
        assert session not in stage.hub.sessions
        late = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "late"}}
        says(stage, method="session/update", params={"sessionId": own, "update": late})
        call = {"toolCallId": "t", "title": "Go on", "kind": "read"}
        asks = {"sessionId": own, "toolCall": call, "options": OPTIONS}
        says(stage, id="r", method="session/request_permission", params=asks)
        await eventually(lambda: session in stage.hub.sessions and stage.hub.sessions[session].state.requests)
        again = await stage.client().begin()
        await again.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert again.texts() == ["0 ", "late"]
        again.allow(await again.asked())
        await eventually(lambda: not stage.hub.sessions[session].state.requests)


async def test_a_client_that_resumes_a_session_is_told_where_it_stands() -> None:
    """Cut off before it is told anything, it comes back there and not at the beginning."""
    async with staged({"one": obedient}) as stage:
        first = await stage.client().begin()
        session = await first.new()
        await first.answer(first.prompt(session, "say 2"))
        params = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        plain = await stage.client().begin()
        assert "_meta" not in await plain.call("session/resume", params)
        second = await stage.client(cursors=True).begin()
        cursor = (await second.call("session/resume", params))["_meta"]["dragoman"]["cursor"]
        third = await stage.client(cursors=True).begin()
        await third.call("session/resume", params, after=cursor, prompts=[])
        await first.answer(first.prompt(session, "say 1"))
        await third.until(lambda message: message.get("method") == "session/update")
        await eventually(lambda: third.texts() == ["0 "])


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_a_request_has_one_answer_though_its_session_ends_and_the_next_hub_hears_it_again(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is acknowledged: the hub is killed before the agent's host hears that its frames are safe."""
    monkeypatch.setattr(Held, "acknowledge", lambda channel, number: None)
    monkeypatch.setattr(Held, "forget", lambda channel, stream: None)
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        answers = written(stage, monkeypatch)
        asks = {"sessionId": session, "toolCall": {"toolCallId": "t", "title": "Go on"}, "options": OPTIONS}
        says(stage, id="open", method="session/request_permission", params=asks)
        await client.asked()
        await client.call(method, {"sessionId": session})
        says(stage, id="late", method="session/request_permission", params=asks)
        says(stage, id="nowhere", method="_one/ask", params={})
        says(stage, id="invalid", method="_one/ask", params=7)
        await eventually(lambda: len(answers) == 4)
        await stage.crash()
        await stage.start()
        says(stage, id="last", method="session/request_permission", params=asks)
        await eventually(lambda: "last" in answers)
        assert sorted(answers) == ["invalid", "last", "late", "nowhere", "open"]


def written(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of requests of the agent that it is given answers to."""
    kept = stage.kept["one"]
    answers: list[str] = []
    write = kept.write

    def watch(block: bytes, stream: str, last: int) -> None:
        is_new = not stream or last > kept.taken_numbers.get(stream, 0)
        messages = [json.loads(line) for line in block.splitlines() if is_new]
        answers.extend(message["id"] for message in messages if "method" not in message)
        write(block, stream, last)

    monkeypatch.setattr(kept, "write", watch)
    return answers


async def test_a_request_is_answered_though_the_journal_is_slower_than_the_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What cancels the request waits to be stored while the agent has closed the session already."""
    async with staged({"one": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        answers = written(stage, monkeypatch)
        asks = {"sessionId": session, "toolCall": {"toolCallId": "t", "title": "Go on"}, "options": OPTIONS}
        append, gate = stage.hub.journal.append, asyncio.Event()

        async def append_slowly(stream: str, entries: Any, **options: Any) -> Any:
            if any(b'"released"' in entry.frame for entry in entries):
                monkeypatch.setattr(stage.hub.journal, "append", append_when_open)
                says(stage, id="late", method="session/request_permission", params=asks)
            return await append(stream, entries, **options)

        async def append_when_open(stream: str, entries: Any, **options: Any) -> Any:
            await gate.wait()
            return await append(stream, entries, **options)

        monkeypatch.setattr(stage.hub.journal, "append", append_slowly)
        closing = asyncio.create_task(client.call("session/close", {"sessionId": session}))
        await eventually(lambda: answers == ["late"])
        gate.set()
        await closing
        assert answers == ["late"]
