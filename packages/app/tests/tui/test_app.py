from pathlib import Path

import pytest

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman_app.tui.ports import ChatRequest, SessionRow
from tests.tui.stage import StageBackend, on_stage

pytestmark = pytest.mark.bound(60)


def tuned() -> Agent:
    agent = Agent("tuned")
    values = [
        v1.SessionConfigSelectOption(value="small", name="Small [b]"),
        v1.SessionConfigSelectOption(value="large", name="Large", description="slow"),
    ]

    def options(current: str) -> list[v1.SessionConfigOption]:
        return [v1.SessionConfigSelect(id="model", name="Model", current_value=current, options=values)]

    @agent.new_session
    async def begin(request: v1.NewSessionRequest) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id="s", config_options=options("small"))

    @agent.set_config_option
    async def set_option(request: v1.SetSessionConfigOptionRequest) -> v1.SetSessionConfigOptionResponse:
        return v1.SetSessionConfigOptionResponse(config_options=options("large"))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("hello from tuned")

    return agent


async def test_from_the_first_screen_to_another_session(shop: Path) -> None:
    backend = StageBackend(shop, quiet=tuned(), tuned=tuned())
    row = {"agent": "quiet", "cwd": str(shop), "when": "2026-01-02 03:04"}
    backend.rows = [
        SessionRow(request=ChatRequest(agent="quiet", cwd=str(shop)), title="An older [b]one", **row),
        SessionRow(request=None, title="One that is gone", **row),
    ]
    async with on_stage(backend) as eyes:
        await eyes.see("quiet", "the agent tuned", "Folder", str(shop))
        await eyes.like("start")
        await eyes.press("tab", "end", "x", "enter")
        await eyes.see("is not a folder")
        await eyes.press("backspace", "shift+tab", "down", "enter")
        await eyes.see("● ready", "tuned ·")

        await eyes.press("?")
        await eyes.see("Saying something", "Ctrl+S")
        await eyes.like("help")
        await eyes.press("escape", "f2")
        await eyes.see("Modes and options", "● Small [b]", "○ Large  slow")
        await eyes.like("settings")
        await eyes.press("down", "enter")
        await eyes.lose("Modes and options")
        await eyes.press("f2")
        await eyes.see("● Large  slow")
        await eyes.press("escape")

        await eyes.press("ctrl+o")
        await eyes.see("An older [b]one", "One that is gone")
        await eyes.like("sessions")
        await eyes.press(*"older")
        await eyes.lose("One that is gone")
        await eyes.press("enter")
        await eyes.see("quiet ·", "● ready")
        await eyes.press("ctrl+n")
        await eyes.see("Which agent, and in which folder")
        await eyes.press("escape")
        await eyes.see("● ready")
        await eyes.press("ctrl+q")
        await eyes.until(lambda: eyes.app.return_code is not None, "the end")


async def test_a_session_is_handed_over_by_a_word_and_a_wrong_name_loses_nothing(shop: Path) -> None:
    backend = StageBackend(shop, quiet=tuned(), tuned=tuned())
    async with on_stage(backend, ChatRequest(agent="quiet", cwd=str(shop))) as eyes:
        await eyes.see("● ready", "quiet ·")
        await eyes.press(*"/handover nobody", "enter")
        await eyes.see("Not handed over: there is no agent nobody", "quiet ·")
        await eyes.press(*"/handover", "enter")
        await eyes.see("Choose the next agent")
        await eyes.press(*"/handover tuned", "enter")
        await eyes.see("tuned ·", "● ready", "tuned takes over")
