from __future__ import annotations

from pathlib import Path

from dragoman_check.agent.driver import AgentDriver, initialize_params
from dragoman_check.agent.editor import EVERYTHING, Editor
from tests.check.agent.agents import raw


def talking(tmp_path: Path, fault: str = "", patience: float = 40.0) -> AgentDriver:
    return AgentDriver(raw(fault), Editor(tmp_path), cwd=tmp_path, patience=patience)


async def test_a_turn_that_takes_too_long_is_cancelled_and_the_scene_goes_on(tmp_path: Path) -> None:
    async with talking(tmp_path, "lazy", patience=4.0) as talk:
        await talk.open()
        session = await talk.new(tmp_path)
        talk.patience = 0.2
        ended = await talk.prompt(session, "hello", name="hello")
    assert ended.message["result"] == {"stopReason": "cancelled"}
    (stretch,) = talk.recording.stretches("hello")
    assert [frame.method for frame in stretch] == ["session/prompt", "session/cancel", ""]


async def test_in_the_second_version_a_turn_ends_when_the_session_is_idle(tmp_path: Path) -> None:
    async with talking(tmp_path, "second") as talk:
        talk.version = 2
        await talk.open(EVERYTHING)
        session = await talk.new(tmp_path)
        ended = await talk.prompt(session, "hello", name="hello")
    assert ended.params["update"]["state"] == "idle"
    assert talk.recording.stretches("hello")[0][-1] is ended


async def test_a_turn_is_under_way_once_it_says_something_and_not_when_it_is_over(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.open()
        session = await talk.new(tmp_path)
        first = talk.position
        running = talk.begin_prompt(session, "hello")
        await talk.answer(running, since=first)
        assert not await talk.under_way(running, session, since=first)
        assert talk.is_over(running, session, since=first)


def test_a_client_of_the_second_version_offers_what_that_has() -> None:
    assert initialize_params(1, EVERYTHING)["clientCapabilities"] == EVERYTHING
    assert initialize_params(2, EVERYTHING)["capabilities"] == {"elicitation": {"form": {}, "url": {}}}
