"""The declaration: what a kit takes over, and where it keeps things when nobody says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Kit, KitTurn, connect
from dragoman.blocking import serve as serve_without_a_loop
from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman_local.journal import MemoryJournal
from tests.kit.kit_agents import handled_by, listening


async def test_a_plain_function_answers_prompts_and_is_kept() -> None:
    agent = Agent("plain")
    kit = Kit(agent, journal=MemoryJournal(), titles="none")

    @kit.prompt
    def reply(turn: Any) -> str:
        turn.say(f"You said: {turn.text}")
        return "max_tokens"

    async with listening(agent) as (handle, heard):
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt("hi")
        assert (result.text, result.stop_reason) == ("You said: hi", "max_tokens")
        heard.notes.clear()
        await handle.load_session(session.id, cwd="/tmp")
        assert [text for _, text in heard.told(session.id)] == ["hi", "You said: hi"]


async def test_a_prompt_response_is_passed_on_as_it_is() -> None:
    async def reply(turn: KitTurn[None]) -> v1.PromptResponse:
        await turn.spend(input_tokens=1)
        usage = v1.Usage(total_tokens=9, input_tokens=5, output_tokens=4)
        return v1.PromptResponse(stop_reason="end_turn", usage=usage)

    async with connect(handled_by(reply)) as handle:
        result = await (await handle.new_session(cwd="/tmp")).prompt("hi")
        assert result.usage
        assert result.usage.total_tokens == 9


async def test_sessions_are_kept_in_the_users_data_folder_and_for_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    agent = Agent("usual")
    Kit(agent)
    async with connect(agent) as handle:
        await handle.new_session(cwd="/tmp")
    path = tmp_path / "dragoman" / "sessions.db"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_nothing_is_opened_before_a_session_is_asked_for(tmp_path: Path) -> None:
    agent = Agent("lazy")
    Kit(agent, journal=tmp_path / "s.db")
    async with connect(agent):
        pass
    assert list(tmp_path.iterdir()) == []


async def test_a_title_is_the_beginning_of_the_first_prompt() -> None:
    agent = Agent("titled")
    kit = Kit(agent, journal=MemoryJournal())

    @kit.prompt
    async def nothing(turn: KitTurn[None]) -> None:
        return None

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("  ")
        assert not any([info.title async for info in handle.list_sessions()])
        await session.prompt("Please look\n at " + "x" * 100)
        await session.prompt("Another")
        (title,) = [info.title async for info in handle.list_sessions()]
        assert isinstance(title, str)
        assert title.startswith("Please look at xxx")
        assert title.endswith("…")
        assert len(title) == 80


def test_an_agent_that_handles_sessions_itself_cannot_have_a_kit() -> None:
    agent = Agent("own")

    @agent.new_session
    async def new_session(request: v1.NewSessionRequest) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id="x")

    with pytest.raises(ValueError, match="session/new already has a handler"):
        Kit(agent)


def test_an_agent_with_a_kit_needs_a_loop_and_is_told_so() -> None:
    agent = Agent("waiting")
    Kit(agent, journal=MemoryJournal())
    with pytest.raises(LocalMistake, match=r"use dragoman\.serve"):
        serve_without_a_loop(agent)
