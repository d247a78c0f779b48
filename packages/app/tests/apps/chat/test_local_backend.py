import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman_app.apps.chat.local_backend import LocalBackend
from dragoman_app.tui.model.entries import NoteEntry
from dragoman_app.tui.ports import ChatRequest
from dragoman_local.sandbox.wall import can_hold
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.quiet import Quiet
from tests.forks import DRAGOMAN
from tests.sandbox import walled_agent

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


async def check_board(house: LocalBackend, request: ChatRequest) -> None:
    """The board has the session with its last line, and names it."""
    moved = asyncio.Event()
    async with house.board(moved.set) as board:
        await moved.wait()
        (card,) = board.sessions
        assert (card.title, card.state, card.line) == ("plums", "idle", "remembered plums")
        assert card.request == request
        moved.clear()
        await board.set_title(card.id, "fruit")
        await moved.wait()
        assert [each.title for each in board.sessions] == ["fruit"]
        with pytest.raises(LocalMistake, match="can't be archived"):
            await board.archive(card.id, on=True)


@pytest.mark.bound(60)
async def test_a_conversation_is_recorded_found_and_gone_on_with(tmp_path: Path) -> None:
    script = tmp_path / "keeper.script"
    script.write_text(SCRIPT)
    agent = " ".join([*DRAGOMAN, "agent", "script", str(script)])
    house = LocalBackend(str(tmp_path), LocalRules())
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

    await check_board(house, row.request)
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
    with pytest.raises(LocalMistake, match="this agent has no session"):
        async with house.open(ChatRequest(agent="echo", cwd=str(tmp_path), session="last"), again, again):
            pass


@pytest.mark.bound(60)
async def test_another_agent_goes_on_with_a_conversation_and_is_told_of_it_once(tmp_path: Path) -> None:
    script = tmp_path / "keeper.script"
    script.write_text('agent keeper\non prompt\n  say "remembered " "$text"\n')
    agent = " ".join([*DRAGOMAN, "agent", "script", str(script)])
    backend = LocalBackend(str(tmp_path), LocalRules())
    quiet = Quiet()
    async with backend.open(ChatRequest(agent=agent, cwd=str(tmp_path)), quiet, quiet) as chat:
        await chat.turn([v1.TextContent(text="plums")])
        request = await backend.hand_over(chat.request, "echo")
        with pytest.raises(LocalMistake):
            await backend.hand_over(chat.request, "nobody-has-this-agent")
    other = Quiet()
    async with backend.open(request, other, other) as chat:
        assert chat.agent == "echo"
        page = await chat.earlier()
        assert page is not None
        assert page.prompts == ["plums"], "what was said before is on the screen"
        await chat.turn([v1.TextContent(text="go on")])
        await chat.turn([v1.TextContent(text="further")])
    first, second = "".join(other.words).split("You said: ")[1:]
    assert '{"agent":"remembered plums"}' in first
    assert first.endswith("go on")
    assert second == "further"
    unrecorded = LocalBackend(str(tmp_path), LocalRules(), record=False)
    with pytest.raises(LocalMistake, match="not recorded"):
        await unrecorded.hand_over(ChatRequest(agent="keeper", cwd=str(tmp_path), session="s"), "echo")


async def test_agents_of_the_user_come_before_ours_and_the_echo_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "dragoman").mkdir()
    text = 'default_agent = "zulu"\n[agents.other]\ncommand = ["x"]\n[agents.zulu]\ncommand = ["x"]\n'
    (tmp_path / "dragoman/config.toml").write_text(text)
    choices = await LocalBackend(str(tmp_path), LocalRules()).agents()
    assert [choice.name for choice in choices] == ["zulu", "other", "code", "review", "echo"]


@pytest.mark.bound(30)
async def test_the_agent_of_a_conversation_is_behind_the_wall_that_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := can_hold("workspace"):
        pytest.skip(f"no sandbox can be held here: {reason}")
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(walled_agent.__file__, folder / "agent.py")
    request = ChatRequest(agent=f"{sys.executable} {folder / 'agent.py'}", cwd=str(folder))
    prompt = f"write inside\nwrite {tmp_path / 'outside'}"
    for profile, expected in (("workspace", []), ("off", ["outside"])):
        quiet = Quiet()
        house = LocalBackend(str(folder), LocalRules(sandbox=profile), record=False)
        async with house.open(request, quiet, quiet) as chat:
            assert chat.sandbox == profile
            assert (await chat.turn([v1.TextContent(text=prompt)])).stop_reason == "end_turn"
        assert (folder / "inside").exists()
        assert [name.name for name in tmp_path.glob("outside")] == expected
    quiet = Quiet()
    house = LocalBackend(str(folder), LocalRules(sandbox="workspace+net"), record=False)
    ask = "import urllib.request as u; u.urlopen('http://not.example/')"
    async with house.open(request, quiet, quiet) as chat:
        await chat.turn([v1.TextContent(text=f'run python3 -c "{ask}"')])
    notes = [entry.text for entry in quiet.transcript.entries if isinstance(entry, NoteEntry)]
    assert any("the sandbox refuses not.example:80" in note for note in notes), notes
