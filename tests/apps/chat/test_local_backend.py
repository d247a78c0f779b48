import sys
from pathlib import Path

import pytest

from dragoman.apps.chat.local_backend import LocalBackend
from dragoman.apps.chat.rules import ChatRules
from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.tui.ports import ChatRequest
from tests.apps.chat.quiet import Quiet

DRAGOMAN = [sys.executable, "-m", "dragoman"]


SCRIPT = """
agent keeper
  can load
on prompt
  say "remembered " "$text"
on load
  user "what was asked"
  say "what was answered"
  answer {}
"""


@pytest.mark.bound(60)
async def test_a_conversation_is_recorded_found_and_gone_on_with(tmp_path: Path) -> None:
    script = tmp_path / "keeper.script"
    script.write_text(SCRIPT)
    agent = " ".join([*DRAGOMAN, "agent", "script", str(script)])
    house = LocalBackend(str(tmp_path), ChatRules())
    quiet = Quiet()
    async with house.open(ChatRequest(agent=agent, cwd=str(tmp_path)), quiet, quiet) as chat:
        assert chat.agent == "keeper"
        await chat.look()
        assert (await chat.turn([v1.TextContent(text="plums")])).stop_reason == "end_turn"
        assert await chat.review() is not None
        session = chat.request.session
    (row,) = await house.sessions("")
    assert (row.agent, row.cwd, row.title) == ("keeper", str(tmp_path), "plums")
    assert row.request is not None
    assert row.request.session == session
    (found,) = await house.sessions("remembered")
    assert "plums" in found.excerpt
    assert await house.sessions("pears") == []

    again = Quiet()
    async with house.open(ChatRequest(agent=agent, cwd=str(tmp_path), session="last"), again, again) as chat:
        assert chat.request.session == session
        assert await chat.earlier() is None
    assert again.words == ["what was asked", "what was answered"]
    script.write_text(SCRIPT.replace("  can load\n", ""))
    async with house.open(row.request, Quiet(), Quiet()) as chat:
        page = await chat.earlier()
        assert page is not None
        assert page.prompts == ["what was asked"]  # as the agent itself told it the last time
    with pytest.raises(LocalMistake, match="no session of this agent"):
        async with house.open(ChatRequest(agent="echo", cwd=str(tmp_path), session="last"), again, again):
            pass
