import sys
from pathlib import Path

import pytest

from dragoman.cli.chat.house import LocalHouse
from dragoman.cli.chat.rules import Rules
from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.tui.ports import Wanted
from tests.cli.chat.quiet import Quiet

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
    house = LocalHouse(str(tmp_path), Rules())
    quiet = Quiet()
    async with house.open(Wanted(agent=agent, cwd=str(tmp_path)), quiet, quiet) as talk:
        assert talk.agent == "keeper"
        await talk.look()
        assert (await talk.turn([v1.TextContent(text="plums")])).stop_reason == "end_turn"
        assert await talk.review() is not None
        session = talk.wanted.session
    (row,) = await house.sessions("")
    assert (row.agent, row.cwd, row.title) == ("keeper", str(tmp_path), "plums")
    assert row.wanted is not None
    assert row.wanted.session == session
    (found,) = await house.sessions("remembered")
    assert "plums" in found.excerpt
    assert await house.sessions("pears") == []

    again = Quiet()
    async with house.open(Wanted(agent=agent, cwd=str(tmp_path), session="last"), again, again) as talk:
        assert talk.wanted.session == session
        assert await talk.earlier() is None
    assert again.words == ["what was asked", "what was answered"]
    script.write_text(SCRIPT.replace("  can load\n", ""))
    async with house.open(row.wanted, Quiet(), Quiet()) as talk:
        page = await talk.earlier()
        assert page is not None
        assert page.prompts == ["what was asked"]  # as the agent itself told it the last time
    with pytest.raises(LocalMistake, match="no session of this agent"):
        async with house.open(Wanted(agent="echo", cwd=str(tmp_path), session="last"), again, again):
            pass
