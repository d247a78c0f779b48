import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman_app.tui import screen_user
from dragoman_app.tui.ports import Caution, ChatRequest, FormPrompt, PermissionQuestion, Value
from dragoman_app.tui.screen_user import ScreenUser
from dragoman_app.tui.screens import dialog, permission
from tests.tui.stage import Eyes, StageBackend, on_stage

pytestmark = pytest.mark.bound(60)

OPTIONS = (
    v1.PermissionOption(option_id="yes", name="[b]Yes\x07", kind="allow_once"),
    v1.PermissionOption(option_id="ever", name="For ever", kind="allow_always"),
    v1.PermissionOption(option_id="no", name="No", kind="reject_once"),
)


def quiet() -> Agent:
    agent = Agent("quiet")

    @agent.prompt
    async def nothing(turn: Turn) -> None:
        return None

    return agent


async def rules_are_late(eyes: Eyes, person: ScreenUser, question: PermissionQuestion) -> None:
    """What rules find comes when it comes, on top of what is asked."""
    judged: asyncio.Future[list[Caution]] = asyncio.get_running_loop().create_future()
    answer = asyncio.create_task(person.ask(replace(question, cautions=lambda: judged)))
    await eyes.see("Permission", "line 0")
    judged.set_result(
        [Caution(severity="high", text="It deletes\x1b [b]all"), Caution(severity="", text="n/a")]
    )
    await eyes.see("high risk: It deletes␛ [b]all", "n/a", "line 0")
    await eyes.press("n")
    assert await answer == "no"
    await eyes.lose("Permission")


async def test_every_key_says_what_it_says_and_nothing_is_chosen_by_default(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "somebody wants to run:\nCommand:\n" + "\n".join(f"  line {n}" for n in range(50)) + "\n  [red]end"
    question = PermissionQuestion(text=text, why="no rule covers it", options=OPTIONS)
    backend = StageBackend(project, quiet=quiet())
    async with on_stage(backend, ChatRequest(agent="quiet", cwd=str(project))) as eyes:
        await eyes.see("● ready")
        typed = [0.0]
        person = ScreenUser(eyes.app, lambda: typed[0])

        async def asked(*keys: str) -> str | None:
            answer = asyncio.create_task(person.ask(question))
            await eyes.see("Permission", "line 0", "1 [b]Yes␇", "no rule covers")
            await eyes.press(*keys)
            chosen = await answer
            await eyes.lose("Permission")
            return chosen

        assert await asked("y") == "yes"
        assert await asked("a") == "ever"
        assert await asked("n") == "no"
        assert await asked("x", "9", "3") == "no"
        assert await asked("enter", "escape") is None
        assert await asked("down", "down", "enter") == "ever"

        answer = asyncio.create_task(person.ask(question))
        await eyes.see("line 0")
        for _ in range(6):
            await eyes.press("pagedown")
        await eyes.see("[red]end")
        answer.cancel()
        await asyncio.wait([answer])
        await eyes.lose("Permission")

        await rules_are_late(eyes, person, question)

        # What was typed for the prompt is no answer: not before the keyboard was still for a while.
        monkeypatch.setattr(permission, "STILL", 1000.0)
        import time

        typed[0] = time.monotonic()
        answer = asyncio.create_task(person.ask(question))
        await eyes.see("Permission")
        await eyes.press("y", "1", "enter", "escape")
        await eyes.see("Permission")
        assert not answer.done()
        monkeypatch.setattr(permission, "STILL", -1.0)
        await eyes.press("n")
        assert await answer == "no"


async def test_a_question_says_since_when_it_stands(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000.0]
    for module in (dialog, screen_user):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock[0]))
    monkeypatch.setattr(dialog, "AGE_SECONDS", 0.01)
    question = PermissionQuestion(text="somebody wants to run: x", why="", options=OPTIONS)
    form = FormPrompt(agent="quiet", message="Which?", check=_take)
    backend = StageBackend(project, quiet=quiet())
    async with on_stage(backend, ChatRequest(agent="quiet", cwd=str(project))) as eyes:
        await eyes.see("● ready")
        person = ScreenUser(eyes.app, lambda: 0.0)
        first = asyncio.create_task(person.ask(question))
        await eyes.see("Permission")
        behind = asyncio.create_task(person.fill(form))  # it waits until the first is answered
        await eyes.lose("asked")
        clock[0] += 200
        await eyes.see("Permission · asked 3 min ago")
        clock[0] += 7200
        await eyes.see("Permission · asked 2 h ago")
        await eyes.press("n")
        assert await first == "no"
        await eyes.see("Question · asked 2 h ago")
        await eyes.press("escape")
        await behind


async def _take(name: str, value: Value) -> Value:
    return value
