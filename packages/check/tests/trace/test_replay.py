"""A recording played again: what it says is what it said, to a client like the recorded one and to others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import connect
from dragoman.transport.memory import memory_pair
from dragoman_check.trace.compare.meaning import compare
from dragoman_check.trace.replay.agent import ReplayedAgent
from dragoman_check.trace.replay.cassette import Cassette, Match
from dragoman_check.trace.replay.client import AgentSilent, ReplayedClient
from dragoman_local.journal.contract import Direction, Entry, StreamInfo
from dragoman_local.journal.transcript import header, line
from tests.forks import DRAGOMAN
from tests.interop.recordings import ELSEWHERE, Party, conversations

CWD = "/srv/recorded"


def entry(direction: Direction, at: float, **message: Any) -> Entry:
    return Entry(direction, json.dumps({"jsonrpc": "2.0", **message}).encode(), at)


def update(at: float, **fields: Any) -> Entry:
    return entry("to_client", at, method="session/update", params={"sessionId": "s-1", "update": fields})


def prompt(request_id: int | str, at: float, text: str) -> Entry:
    params = {"sessionId": "s-1", "prompt": [{"type": "text", "text": text}]}
    return entry("to_agent", at, id=request_id, method="session/prompt", params=params)


def said(at: float, text: str) -> Entry:
    return update(at, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


ASK = {
    "sessionId": "s-1",
    "toolCall": {"toolCallId": "c", "title": f"Write {CWD}/a.py"},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}

TALK = [
    entry("to_agent", 0.0, id=0, method="initialize", params={"protocolVersion": 1}),
    entry("to_client", 0.1, id=0, result={"protocolVersion": 1, "agentCapabilities": {}}),
    entry("to_agent", 0.2, id=1, method="session/new", params={"cwd": CWD, "mcpServers": []}),
    entry("to_client", 0.3, id=1, result={"sessionId": "s-1"}),
    prompt(2, 0.4, "write it"),
    said(0.5, "I "),
    said(0.6, f"write {CWD}/a.py"),
    entry("to_client", 0.7, id=1, method="session/request_permission", params=ASK),
    entry("to_agent", 0.8, id=1, result={"outcome": {"outcome": "selected", "optionId": "yes"}}),
    entry("to_client", 0.9, id=2, result={"stopReason": "end_turn"}),
    prompt(3, 1.0, "wait"),
    said(1.1, "waiting"),
    entry("to_agent", 1.2, method="session/cancel", params={"sessionId": "s-1"}),
    entry("to_client", 1.3, id=3, result={"stopReason": "cancelled"}),
    prompt(4, 1.4, "fail"),
    entry("to_client", 1.5, id=4, error={"code": -32603, "message": "no"}),
]


async def replayed(entries: list[Entry], *, match: Match = "shape", cwd: str = "/home/me/p") -> list[Entry]:
    """Its client talks to its agent, each made of the same recording."""
    ours, theirs = memory_pair()
    agent = ReplayedAgent(Cassette(entries), theirs, match=match)
    agent.start()
    client = ReplayedClient(entries, ours, cwd=cwd, patience=4)
    try:
        await client.play()
    finally:
        await agent.aclose()
        await ours.aclose()
    return client.entries


@pytest.mark.parametrize("match", ["shape", "order"])
async def test_its_own_client_hears_what_it_heard(match: Match) -> None:
    again = await replayed(TALK, match=match)
    assert compare(TALK, again) == []
    assert CWD.encode() not in b"".join(one.frame for one in again)


async def spoken(agent_talk: list[Entry], *requests: Entry, match: Match) -> list[Any]:
    """What the replayed agent says to these, up to as many answers as there are requests."""
    ours, theirs = memory_pair()
    agent = ReplayedAgent(Cassette(agent_talk), theirs, match=match)
    agent.start()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    ours.start(_Hearing(heard))
    found = []
    try:
        for one in requests:
            ours.write(one.frame + b"\n")
            while "method" in (message := await heard.get()):
                found.append(message)
            found.append(message)
    finally:
        await agent.aclose()
        await ours.aclose()
    return found


class _Hearing:
    def __init__(self, queue: asyncio.Queue[Any]) -> None:
        self._queue = queue

    def feed(self, block: bytes) -> None:
        for text in block.splitlines():
            self._queue.put_nowait(json.loads(text))

    def on_oversized(self, size: int) -> None:
        raise AssertionError

    def on_end(self, reason: BaseException | None) -> None:
        pass


async def test_a_recording_that_begins_within_a_session_is_given_a_beginning() -> None:
    ours, theirs = memory_pair()
    agent = ReplayedAgent(Cassette([prompt(2, 0.4, "hi"), said(0.5, "hello"), TALK[9]]), theirs)
    agent.start()
    try:
        async with connect(ours) as handle:
            session = await handle.new_session(cwd="/home/me/p")
            assert (await session.prompt("hi")).text == "hello"
    finally:
        await agent.aclose()
    assert agent.unknown == []


async def test_an_exact_match_takes_nothing_else() -> None:
    (answer,) = await spoken(TALK, prompt(9, 0.0, "other words"), match="exact")
    assert answer["id"] == 9
    assert "has no such request: session/prompt" in answer["error"]["message"]
    (unknown,) = await spoken(TALK, entry("to_agent", 0.0, id=1, method="session/fork"), match="order")
    assert unknown["error"]["code"] == -32601


async def test_the_same_words_are_found_whatever_the_order() -> None:
    (answer,) = await spoken(TALK, prompt(70, 0.0, "fail"), match="shape")
    assert answer == {"jsonrpc": "2.0", "id": 70, "error": {"code": -32603, "message": "no"}}


async def test_other_words_get_the_next_turn() -> None:
    ours, theirs = memory_pair()
    agent = ReplayedAgent(Cassette(TALK), theirs)
    agent.start()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    ours.start(_Hearing(heard))
    ours.write(prompt("text id", 0.0, "something else").frame + b"\n")
    messages = [await heard.get() for _ in range(3)]
    assert messages[-1]["method"] == "session/request_permission"
    ours.write(json.dumps({"id": messages[-1]["id"], "result": {}}).encode() + b"\n")
    assert (await heard.get())["id"] == "text id"
    await agent.aclose()
    await ours.aclose()


async def test_a_live_agent_that_does_not_answer_is_said_to_be_silent() -> None:
    ours, theirs = memory_pair()
    theirs.start(_Hearing(asyncio.Queue()))
    client = ReplayedClient(TALK, ours, cwd="/", patience=0.05)
    with pytest.raises(AgentSilent, match=r"did not answer within .* s: initialize"):
        await client.play()
    await ours.aclose()
    await theirs.aclose()


@pytest.mark.bound(20)
async def test_as_commands(tmp_path: Path) -> None:
    """The client's command against the agent's command, both made of one file."""
    file = tmp_path / "talk.ndjson"
    file.write_bytes(header(StreamInfo(stream="t")) + b"".join(map(line, TALK)))
    replay = [*DRAGOMAN, "replay", str(file)]
    both = [*replay, "--as", "client", "--", *replay]
    process = await asyncio.create_subprocess_exec(*both, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"")


RECORDED = sorted(ELSEWHERE.glob("agents-v1/*.ndjson"))


@pytest.mark.skipif(not RECORDED, reason="there are no recordings of others beside the repository")
async def test_recorded_agents_say_again_what_they_said() -> None:
    ways: dict[Party, Direction] = {"agent": "to_agent", "client": "to_client"}
    compared = 0
    for path in RECORDED:
        for talk in conversations(path):
            entries = [Entry(ways[frame.to], frame.raw, 0.0) for frame in talk.frames if not frame.verbatim]
            again = await replayed(entries, match="order")
            # What was sent on purpose as no message is not sent again, and a question that was open when
            # its turn was cancelled may be answered before or after it.
            if len(entries) == len(talk.frames) and not any(
                b"session/cancel" in one.frame for one in entries
            ):
                assert compare(entries, again) == [], path.name
                compared += 1
    assert compared >= 10
