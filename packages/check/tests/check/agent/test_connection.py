from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_check.agent import connection
from dragoman_check.agent.connection import AgentConnection, AgentGone, Silence
from dragoman_check.agent.editor import Editor
from tests.check.agent.agents import raw

INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {}}
PROMPT = {"sessionId": "session-0", "prompt": []}


def opened(tmp_path: Path, fault: str = "", patience: float = 20.0) -> AgentConnection:
    return AgentConnection(raw(fault), Editor(tmp_path), cwd=tmp_path, patience=patience)


async def test_every_line_of_both_directions_is_kept_in_order(tmp_path: Path) -> None:
    async with opened(tmp_path) as agent:
        await agent.call("initialize", INITIALIZE, name="initialize")
        first = agent.position
        agent.send(b"{\n42\r\n")
        await agent.quiet()
        agent.mark("nonsense", first)
    frames = agent.recording.frames
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
    assert [frame.direction for frame in frames[:2]] == ["to_agent", "to_client"]
    (nonsense,) = agent.recording.stretches("nonsense")
    assert [frame.raw for frame in nonsense[:2]] == [b"{", b"42"]
    assert [frame.message.get("id") for frame in agent.recording.stretches("initialize")[0]] == [1001, 1001]


async def test_it_tells_how_the_agent_ended_and_what_it_complained_about(tmp_path: Path) -> None:
    async with opened(tmp_path, "exits") as agent:
        with pytest.raises(AgentGone):
            await agent.call("initialize", INITIALIZE)
    assert agent.recording.stderr == b"there is no model\n"
    assert agent.facts["exit"] == 1


async def test_an_agent_that_says_nothing_costs_no_more_than_the_patience(tmp_path: Path) -> None:
    async with opened(tmp_path, "mute", patience=0.2) as agent:
        with pytest.raises(Silence):
            await agent.call("initialize", INITIALIZE, name="tried")
    (tried,) = agent.recording.stretches("tried")
    assert [frame.method for frame in tried] == ["initialize"]


async def test_an_agent_that_never_stops_to_talk_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_FRAMES", 300)
    async with opened(tmp_path, "floods") as agent:
        await agent.call("initialize", INITIALIZE)
        await agent.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        with pytest.raises(AgentGone):
            await agent.call("session/prompt", PROMPT)
    assert agent.facts["flood"] > 0


async def test_who_ignores_unknown_requests_is_waited_for_once(tmp_path: Path) -> None:
    async with opened(tmp_path, "deaf", patience=4.0) as agent:
        await agent.call("initialize", INITIALIZE)
        agent.brief = 0.2
        for _ in range(3):
            await agent.quiet()
        assert (await agent.call("initialize", INITIALIZE)).is_answer


async def test_the_end_of_its_input_ends_an_agent(tmp_path: Path) -> None:
    async with opened(tmp_path) as agent:
        await agent.call("initialize", INITIALIZE)
        assert await agent.close_input() == 0


async def test_who_lives_on_without_input_has_no_exit_status(tmp_path: Path) -> None:
    async with opened(tmp_path, "stubborn") as agent:
        await agent.call("initialize", INITIALIZE)
        agent.brief = 0.1
        agent.facts["exit"] = await agent.close_input()
        agent.child.tree.kill()
    assert agent.facts["exit"] is None
