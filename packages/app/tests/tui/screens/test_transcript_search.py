"""Finding one's way: the palette, search in a session, and files that are named in it."""

from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.schema import v1
from dragoman_app.tui.ports import ChatRequest, SessionRow
from tests.tui.stage import Eyes, StageBackend, on_stage

pytestmark = pytest.mark.bound(60)


def teller(project: Path) -> Agent:
    agent = Agent("teller")

    @agent.prompt
    async def tell(turn: Turn) -> None:
        await turn.say("A needle at the beginning.\n\n")
        await turn.say("\n\n".join(f"hay {number}" for number in range(60)))
        place = v1.ToolCallLocation(path=str(project / "src/a.py"), line=7)
        async with turn.tool("Look at it", kind="read", locations=[place]):
            pass
        await turn.say("Another Needle; see src/a.py:3 or src/gone.py:1")

    return agent


async def begin(eyes: Eyes) -> None:
    await eyes.see("● ready")
    await eyes.say("go")
    await eyes.see("Another Needle", "● ready")


async def check_search(eyes: Eyes) -> None:
    await eyes.press("ctrl+f")
    await eyes.paste("needle")  # a part of it, which is typed before the rest, is found there too
    await eyes.see("2 of 2", "Another Needle")
    await eyes.press("enter")
    await eyes.see("1 of 2", "A needle at the beginning")
    await eyes.press("enter")
    await eyes.see("1 of 2")
    await eyes.press("down")
    await eyes.see("2 of 2")
    await eyes.press(*"x")
    await eyes.see("nothing")
    await eyes.press("escape")
    await eyes.lose("nothing")
    assert eyes.chat.box.has_focus


async def check_file(eyes: Eyes) -> None:
    await eyes.press("tab", "k", "f")  # the last answer
    await eyes.see("Files that it names", "src/a.py:3", "src/gone.py:1")
    await eyes.press("enter")
    await eyes.see("▶ 3 line [3] = 3", "src/a.py", "read only")
    assert "\x1b" not in eyes.screen
    view: Any = eyes.app.screen
    await eyes.until(lambda: any(line.spans for line in view._lines), "colours")
    await eyes.press("slash")
    await eyes.paste("line [4")
    await eyes.press("enter")
    await eyes.see("▶ 4 line [4]")
    await eyes.press("n")
    await eyes.see("▶40 line [40]")
    await eyes.press("N")
    await eyes.see("▶ 4 line [4]")
    await eyes.press("escape", "escape")
    await eyes.lose("read only")
    await eyes.press("k", "f")  # the tool call: one place, so nothing is asked
    await eyes.see("▶ 7 line [7]")
    await eyes.press("q", "escape")
    await eyes.press("ctrl+e", *"apy")
    await eyes.see("Open a file", "src/a.py")
    await eyes.press("enter")
    await eyes.see("read only")
    await eyes.press("escape")


async def test_words_are_found_and_files_open_at_their_line(project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text(
        "".join(f"line [{number}] = {number}\n" for number in range(1, 50)) + "\x1b[31m evil\n"
    )
    backend = StageBackend(project, teller=teller(project))
    async with on_stage(backend, ChatRequest(agent="teller", cwd=str(project))) as eyes:
        await begin(eyes)
        await check_search(eyes)
        await check_file(eyes)


async def test_the_palette_has_everything_by_a_few_letters(project: Path) -> None:
    backend = StageBackend(project, teller=teller(project), other=teller(project))
    row = SessionRow(
        request=ChatRequest(agent="other", cwd=str(project)),
        title="An older [b]session",
        agent="other",
        cwd=str(project),
        when="2026-01-02",
    )
    backend.rows = [row]
    async with on_stage(backend, ChatRequest(agent="teller", cwd=str(project))) as eyes:
        await begin(eyes)
        await eyes.press("ctrl+p")
        await eyes.see("Everything", "Board", "F4")
        await eyes.press(*"revch")
        await eyes.see("Review changes", "Search all sessions for “revch”")
        await eyes.press("escape", "ctrl+p")
        await eyes.paste("dragomanlight")
        await eyes.press("enter")
        await eyes.until(lambda: eyes.app.theme == "dragoman-light", "the light theme")
        await eyes.press("ctrl+p")
        await eyes.paste("handoverother")
        await eyes.see("Hand over to other")
        await eyes.press("enter")
        await eyes.see("other ·", "other takes over")
        await eyes.press("ctrl+p")
        await eyes.paste("older")
        await eyes.see("An older [b]session")
        await eyes.press("ctrl+u")
        await eyes.paste("zebra")
        await eyes.press("enter")
        await eyes.see("Sessions", "zebra", "No results")
        assert backend.asked[-1] == "zebra"


async def test_a_title_is_set_where_somebody_keeps_it_and_refused_where_nobody_does(project: Path) -> None:
    agent = teller(project)
    titles: list[str] = []

    @agent.set_session_title
    async def set_title(request: v1.SetSessionTitleRequest) -> v1.SetSessionTitleResponse:
        titles.append(request.title)
        return v1.SetSessionTitleResponse(title=request.title)

    backend = StageBackend(project, named=agent, other=teller(project))
    for name in ("named", "other"):
        async with on_stage(backend, ChatRequest(agent=name, cwd=str(project))) as eyes:
            await eyes.see("● ready")
            await eyes.press("ctrl+p")
            await eyes.paste("settit")
            await eyes.press("enter")
            await eyes.see("enter sets the title")
            await eyes.paste("Plums")
            await eyes.press("enter")
            await eyes.see(
                "· Plums" if name == "named" else "neither the agent nor your history can store a title"
            )
    assert titles == ["Plums"]
