"""The first screen: choose an agent and a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.drawing.status import short_path
from dragoman_app.tui.ports import AgentChoice, ChatBackend, ChatRequest
from dragoman_app.tui.text.lines import cut


class StartScreen(Screen[ChatRequest | None]):
    """Returns the choice; None to leave."""

    DEFAULT_CSS = """
    StartScreen {
        align: center middle;
        & > #start { width: 100%; max-width: 90; height: auto; max-height: 100%; padding: 1 2; }
        & #name { text-style: bold; color: $text-primary; }
        & .quiet { color: $text-muted; }
        & #agents { height: auto; max-height: 12; border: none; margin: 1 0; padding: 0; }
        & #folder { border: none; height: 1; padding: 0; }
        & #wrong { color: $text-error; height: auto; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,ctrl+q,ctrl+c", "leave", "Leave"),
        ("ctrl+o,ctrl+r", "app.sessions", "Sessions"),
        ("f1,question_mark", "app.help", "Help"),
    ]

    def __init__(self, backend: ChatBackend, *, cwd: str | None = None) -> None:
        super().__init__()
        self.backend = backend
        self._cwd = cwd or backend.cwd
        self._agents: Sequence[AgentChoice] = ()

    def compose(self) -> ComposeResult:
        with Vertical(id="start"):
            yield Static(Content("dragoman chat"), id="name")
            yield Static(Content("Which agent, and in which folder?"), classes="quiet")
            yield OptionList(id="agents", markup=False, compact=True)
            yield Static(Content("Folder"), classes="quiet")
            yield Input(short_path(self._cwd), id="folder", compact=True, select_on_focus=False)
            yield Static("", id="wrong", markup=False)
            keys = "enter starts · tab changes the folder · ctrl+o earlier sessions · esc leaves"
            yield Static(Content(keys), classes="quiet")

    def on_mount(self) -> None:
        self.query_one("#agents", OptionList).focus()
        self._load()

    @work
    async def _load(self) -> None:
        try:
            self._agents = await self.backend.agents()
        except DragomanError as error:
            self._complain(str(error))
        agents = self.query_one("#agents", OptionList)
        width = max(16, min(self.app.size.width, 90) - 6)
        agents.add_options(Option(_agent_line(agent, width)) for agent in self._agents)
        agents.highlighted = 0 if self._agents else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._start(event.option_index)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._start(self.query_one("#agents", OptionList).highlighted or 0)

    def _start(self, at: int) -> None:
        folder = os.path.abspath(os.path.expanduser(self.query_one("#folder", Input).value.strip() or "."))
        if not os.path.isdir(folder):
            self._complain(f"{folder} is not a folder")
            self.query_one("#folder").focus()
        elif at < len(self._agents):
            self.dismiss(ChatRequest(agent=self._agents[at].name, cwd=folder))

    def _complain(self, why: str) -> None:
        self.query_one("#wrong", Static).update(Content(sanitize_line(why)))

    def action_leave(self) -> None:
        self.dismiss(None)


def _agent_line(agent: AgentChoice, width: int) -> Content:
    name = sanitize_line(agent.name)
    about = cut(sanitize_line(agent.title or agent.detail), max(0, width - max(len(name), 12) - 2))
    return Content.assemble((f"{name:<12}", "bold"), (f"  {about}", "dim"))
