"""How a conversation ends: in the middle of something, or before it began."""

from pathlib import Path

import pytest

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman_app.tui.ports import ChatRequest
from tests.tui.stage import StageBackend, on_stage

pytestmark = pytest.mark.bound(60)


async def test_one_can_leave_while_a_question_is_open(project: Path) -> None:
    agent = Agent("asker")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool("Do it", kind="execute") as call:
            await call.ask()

    async with on_stage(
        StageBackend(project, asker=agent), ChatRequest(agent="asker", cwd=str(project))
    ) as eyes:
        await eyes.see("● ready")
        await eyes.say("go")
        await eyes.see("Permission")
        await eyes.press("ctrl+o")
        await eyes.see("Permission")
        await eyes.press("ctrl+q")
        await eyes.until(lambda: eyes.app.return_code is not None, "the end")


async def test_an_agent_that_did_not_open_a_session_is_tried_again_with_one_key(project: Path) -> None:
    agent = Agent("moody")
    tries: list[str] = []

    @agent.new_session
    async def begin(request: v1.NewSessionRequest) -> v1.NewSessionResponse:
        tries.append(request.cwd)
        if len(tries) == 1:
            raise RuntimeError("not yet")
        return v1.NewSessionResponse(session_id="s")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("now")

    async with on_stage(
        StageBackend(project, moody=agent), ChatRequest(agent="moody", cwd=str(project))
    ) as eyes:
        await eyes.see("✗ not started", "F5 tries again")
        await eyes.say("hello")
        assert eyes.chat.box.text == "hello"  # kept: there is nobody to say it to
        await eyes.press("f5")
        await eyes.see("● ready")
        await eyes.press("enter")
        await eyes.see("now")
