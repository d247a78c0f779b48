"""The terminal client on a stage: a backend of agents that live in this process, and eyes for its screen."""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from textual import events
from textual.app import App
from textual.pilot import Pilot

from dragoman.errors import LocalMistake
from dragoman.sdk.supervision.agent_start import Startable
from dragoman.testing.pace import patience
from dragoman_app.apps.chat.local_chat import ChatAgent, LocalChat
from dragoman_app.tui.app import ChatApp
from dragoman_app.tui.ports import (
    AgentChoice,
    ChatListener,
    ChatRequest,
    ChatSession,
    ChatUser,
    SessionBoard,
    SessionRow,
)
from dragoman_local.workspace.settings import LocalRules

SNAPSHOTS = Path(__file__).parent / "snapshots"
PICTURES = Path(__file__).parents[4] / "docs" / "pictures"
PATIENCE = 20.0
BEAT = 0.02
SLOWEST_BEAT = 0.2
"""Seconds between two looks at the screen: few at first, more when it takes long."""


class StageBackend:
    """A `House` with in-process agents by name."""

    def __init__(self, folder: Path, **agents: Startable) -> None:
        self.cwd = str(folder)
        self._agents = agents
        self.rows: Sequence[SessionRow] = ()
        self.asked: list[str] = []

    async def agents(self) -> Sequence[AgentChoice]:
        return [AgentChoice(name=name, title=f"the agent {name}") for name in self._agents]

    def open(
        self, wanted: ChatRequest, person: ChatUser, listener: ChatListener
    ) -> AbstractAsyncContextManager[ChatSession]:
        source = ChatAgent(name=wanted.agent, target=self._agents[wanted.agent])
        return LocalChat(source, wanted, person, listener, LocalRules()).opened()

    async def hand_over(self, request: ChatRequest, agent: str) -> ChatRequest:
        if agent not in self._agents:
            raise LocalMistake(f"there is no agent {agent}")
        return ChatRequest(agent=agent, cwd=request.cwd, source=request.session)

    def board(self, on_change: Callable[[], None]) -> AbstractAsyncContextManager[SessionBoard]:
        raise LocalMistake("this stage has no board")

    async def sessions(self, query: str) -> Sequence[SessionRow]:
        self.asked.append(query)
        return [row for row in self.rows if query in row.title]


class Eyes:
    """Looks at the screen, and presses keys."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot
        self.app: App[Any] = pilot.app

    @property
    def screen(self) -> str:
        """What a person sees, line by line."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)

    async def see(self, *texts: str) -> None:
        """Until all of these are on the screen."""

        def are_seen() -> bool:
            screen = self.screen
            return all(text in screen for text in texts)

        await self.until(are_seen, f"{texts} to be seen")

    async def lose(self, text: str) -> None:
        await self.until(lambda: text not in self.screen, f"{text!r} to be gone")

    async def until(self, holds: Callable[[], bool], what: str = "something") -> None:
        until = time.monotonic() + patience(PATIENCE)
        beat = BEAT
        while time.monotonic() < until:
            if holds():
                return
            await self.pilot.pause(beat)
            beat = min(1.5 * beat, SLOWEST_BEAT)  # a look draws the whole screen
        raise AssertionError(f"waited for {what} in vain:\n{self.screen}")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def paste(self, text: str) -> None:
        """Into the field that has the focus, all at once: each key would draw the screen anew."""
        assert self.app.focused is not None
        self.app.focused.post_message(events.Paste(text))
        await self.pilot.pause()

    async def say(self, text: str) -> None:
        """Write it into the box and send it, as a paste and Enter do."""
        chat = self.chat
        chat.box.insert(text)
        await self.pilot.pause()
        chat.completions.offer(())
        await self.pilot.press("enter")

    @property
    def chat(self) -> Any:
        assert isinstance(self.app, ChatApp)
        assert self.app.chat is not None
        return self.app.chat

    async def like(self, name: str) -> None:
        """Until the screen is as the one that is kept, but for what differs from run to run."""
        path = SNAPSHOTS / f"{name}.txt"
        if os.environ.get("DRAGOMAN_SNAPSHOTS") == "write":
            await self.pilot.pause(1.0)
            path.write_text(self._steady, "utf-8")
        kept = path.read_text("utf-8")
        await self.until(lambda: self._steady == kept, f"the screen to be like {path.name}")
        if sheet := os.environ.get("DRAGOMAN_SHEET"):  # see packages/hub/tests/web/contact_sheet.py
            self._draw(Path(sheet) / f"terminal-{name}.svg")

    def picture(self, name: str) -> None:
        """For docs/chat.md, when the screens are written anew: what is on the screen now."""
        if os.environ.get("DRAGOMAN_SNAPSHOTS") == "write":
            self._draw(PICTURES / f"chat-{name}.svg")

    def _draw(self, path: Path) -> None:
        svg = re.sub(r"/tmp/dc\d{7}", "~/project/shop", self.app.export_screenshot())
        svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # nothing is fetched from anywhere
        svg = re.sub(r"terminal-\d+-", "t-", svg)
        lines = (line.rstrip() for line in svg.replace("Fira Code", "monospace").split("\n"))
        path.write_text("\n".join(line for line in lines if line) + "\n", "utf-8")

    @property
    def _steady(self) -> str:
        shown = re.sub(r"/tmp/dc\d{7}", "/tmp/dc0000000", self.screen)
        return re.sub(r"(working|stopping) \d+ s", r"\1 0 s", shown) + "\n"


@asynccontextmanager
async def on_stage(
    backend: Any, wanted: ChatRequest | None = None, *, size: tuple[int, int] = (80, 24), colours: bool = True
) -> AsyncIterator[Eyes]:
    app = ChatApp(backend, wanted, colours=colours)
    async with app.run_test(size=size) as pilot:
        yield Eyes(pilot)
        if app.chat is not None:
            await app.chat.close()
    assert app.failure is None
