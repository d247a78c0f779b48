"""Which folders go along to the agent that a session is handed to, and what is said of those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import Agent, Turn
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged


def narrow() -> Agent:
    """An agent that takes no folder besides the working folder."""
    agent = Agent("narrow")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("here")

    return agent


@pytest.mark.parametrize("agent", ["wide", "narrow"])
@pytest.mark.parametrize("count", [0, 2])
async def test_further_folders_go_to_an_agent_that_takes_them(agent: str, count: int, tmp_path: Path) -> None:
    folders = [str(tmp_path / str(number)) for number in range(count)]
    async with staged({"one": obedient, "wide": obedient, "narrow": narrow}) as stage:
        client = await stage.client().begin()
        params = {"cwd": str(tmp_path), "mcpServers": [], "additionalDirectories": folders}
        session = (await client.call("session/new", params))["sessionId"]
        made = await client.call("_dragoman/hub/handover", {"sessionId": session, "agent": agent})
        takes_all = agent == "wide" or not count
        assert list(stage.hub.sessions[made["sessionId"]].state.folders) == (folders if takes_all else [])
        why = "2 folders besides the working folder: narrow takes no others"
        assert (why in made["lost"]) is not takes_all
