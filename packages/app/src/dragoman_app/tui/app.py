"""The application of the terminal client: its screens, the keys of all screens, and its end.

Written with Textual against the public face alone. What it stands on (agents, files, history, permissions) is
passed in as a `ChatBackend` (see `ports`); `dragoman_app.apps.chat` builds one. Everything that comes from an
agent is hostile text: it is sanitized where it is drawn, and never read as markup.

Reading order: `ports`, `text` and `model` (pure), `drawing` (entries to lines), `conversation` (turns and
the queue, without a screen), `widgets`, `screens`, this module.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from inspect import isawaitable
from typing import ClassVar, Protocol

from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.theme import BUILTIN_THEMES, Theme

from dragoman_app.tui.keys import COMMANDS
from dragoman_app.tui.ports import ChatBackend, ChatRequest, EndRequest
from dragoman_app.tui.screens.board import BoardScreen
from dragoman_app.tui.screens.chat import ChatScreen
from dragoman_app.tui.screens.help import HelpScreen
from dragoman_app.tui.screens.palette import PaletteItem, PaletteScreen
from dragoman_app.tui.screens.sessions import SessionsScreen
from dragoman_app.tui.screens.settings import SettingChoice
from dragoman_app.tui.screens.start import StartScreen

CALM = Theme(
    name="dragoman",
    primary="#7aa2c8",
    secondary="#8fb3a5",
    accent="#b39ac9",
    warning="#d3b06c",
    error="#d07a74",
    success="#8fb573",
    foreground="#d5d8dc",
    background="#16181c",
    surface="#1d2025",
    panel="#1f2329",
    dark=True,
)
BRIGHT = Theme(
    name="dragoman-light",
    primary="#2f5f8f",
    secondary="#3d6e5d",
    accent="#6b4a8c",
    warning="#8a6100",
    error="#a8332c",
    success="#3d6b1f",
    foreground="#23272d",
    background="#fbfbf9",
    surface="#f1f1ee",
    panel="#e9e9e5",
    dark=False,
)
PLAIN = "ansi-dark"
"""The terminal's own colours; without colours, only its attributes."""


def theme_names() -> Sequence[str]:
    """Return our themes first, then those of Textual."""
    return (CALM.name, BRIGHT.name, *sorted(BUILTIN_THEMES))


class ChatApp(App[int]):
    """`dragoman chat`. Without a request it first asks which conversation to open."""

    TITLE = "dragoman chat"
    ENABLE_COMMAND_PALETTE = False  # ours knows sessions and agents, and reads no markup
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Leave", show=False, priority=True),
        Binding("ctrl+p", "palette", "Palette", show=False, priority=True),
        Binding("f1", "help", "Help", show=False),
        Binding("ctrl+o,ctrl+r", "sessions", "Sessions", show=False, priority=True),
        Binding("f4", "board", "Board", show=False),
        Binding("ctrl+n", "new", "New session", show=False, priority=True),
    ]

    def __init__(
        self,
        backend: ChatBackend,
        request: ChatRequest | None = None,
        *,
        colours: bool = True,
        theme: str = CALM.name,
        with_board: bool = False,
        end_request: EndRequest | None = None,
    ) -> None:
        if not colours:
            os.environ["NO_COLOR"] = "1"  # Textual takes it from there, and out of there
        with_colours = "NO_COLOR" not in os.environ
        super().__init__(driver_class=_driver_class(), ansi_color=None if with_colours else True)
        self.backend = backend
        self.request = request
        self._with_board = with_board
        self._end_request = end_request
        self.failure: BaseException | None = None
        """What went wrong in a way that nobody foresaw."""
        self.register_theme(CALM)
        self.register_theme(BRIGHT)
        self.theme = theme if with_colours else PLAIN

    def on_mount(self) -> None:
        if self._end_request is not None:
            self.run_worker(self._leave_when_asked(self._end_request))
        if self.request is not None:
            self.push_screen(ChatScreen(self.backend, self.request))
        else:
            self._ask_what()
        if self._with_board:
            self.call_after_refresh(self.action_board)

    async def _leave_when_asked(self, end_request: EndRequest) -> None:
        """Whoever ends us, or hangs up, gets the terminal back as it was, and no process is left."""
        end_request.listen()
        await end_request.end_event.wait()
        await self.action_leave()

    def on_hangup(self) -> None:
        """Handle the end of the terminal. Called in a thread of the driver."""
        if self._end_request is not None:
            self._end_request.hang_up()

    def give_terminal_back(self) -> None:
        """Reset the terminal at once, for a process that can't end in an orderly way. Any
        thread may call it.
        """
        if (give_back := getattr(self._driver, "give_back", None)) is not None:
            give_back()

    # The methods of `ChatHost`. The garbage collector stops everything while it looks at all objects: tens of
    # milliseconds for an application like this, and more with a long history. Objects that exist when a
    # conversation is open, or a turn is over, stay; so they are frozen. While a history is read, it is off.

    def before_opening(self) -> None:
        if not self.is_headless:  # else the process is not ours alone
            gc.disable()

    def after_opening(self) -> None:
        if not self.is_headless:
            gc.freeze()
            gc.enable()

    def after_turn(self) -> None:
        if not self.is_headless:
            gc.collect()
            gc.freeze()

    def _ask_what(self) -> None:
        self.push_screen(StartScreen(self.backend), self._begin)

    @property
    def _is_free(self) -> bool:
        """Whether no dialog is open: a question is not to be covered by something else."""
        return isinstance(self.screen, ChatScreen | StartScreen)

    @property
    def chat(self) -> ChatScreen | None:
        return next((screen for screen in self.screen_stack if isinstance(screen, ChatScreen)), None)

    async def _begin(self, request: ChatRequest | None) -> None:
        if request is None:
            if self.chat is None:
                self.exit(0)
        elif self.chat is not None:
            await self.chat.open(request)
        else:
            await self.push_screen(ChatScreen(self.backend, request))

    def fail(self, error: BaseException) -> None:
        self.failure = error
        self.exit(1)

    async def action_leave(self) -> None:
        if self.chat is not None:
            await self.chat.close()
        self.exit(0)

    async def action_quit(self) -> None:
        await self.action_leave()

    def action_help(self) -> None:
        if self._is_free:
            self.push_screen(HelpScreen())

    def action_sessions(self) -> None:
        if self._is_free:
            self.push_screen(SessionsScreen(self.backend), self._go_on)

    def action_board(self) -> None:
        if self._is_free:
            self.push_screen(BoardScreen(self.backend), self._go_on)

    async def _go_on(self, request: ChatRequest | None) -> None:
        if request is None:
            return
        while isinstance(self.screen, StartScreen):
            await self.pop_screen()
        await self._begin(request)

    def action_new(self) -> None:
        if isinstance(self.screen, ChatScreen):
            self._ask_what()

    # The palette; the methods of `PaletteHost`.

    def action_palette(self) -> None:
        if self._is_free:
            palette = PaletteScreen(
                "Everything",
                palette_items(self),
                last_items=[
                    PaletteItem(f"Theme: {name}", "colours of this client", partial(self.set_theme, name))
                    for name in theme_names()
                ],
                fetch=partial(fetch_items, self),
                otherwise=search_item(self),
            )
            self.push_screen(palette, self._act)

    async def _act(self, item: PaletteItem | None) -> None:
        result = None if item is None else item.act()
        if isawaitable(result):
            await result

    def set_theme(self, name: str) -> None:
        self.theme = name

    def run_command(self, action: str) -> Awaitable[object]:
        return self.run_action(action, default_namespace=self.chat or self)

    async def go_on(self, request: ChatRequest) -> None:
        await self._go_on(request)

    def search_all(self, words: str) -> None:
        self.push_screen(SessionsScreen(self.backend, words=words), self._go_on)


def _driver_class() -> type[Driver] | None:
    """The one that survives its terminal, where there is one; else Textual's own choice."""
    if os.name == "nt" or "TEXTUAL_DRIVER" in os.environ:
        return None
    from dragoman_app.tui.terminal import TerminalDriver

    return TerminalDriver


# What the palette offers: commands, modes, the agent's own commands, sessions, agents and themes.


class PaletteHost(Protocol):
    """The parts of the application that the palette needs."""

    @property
    def backend(self) -> ChatBackend: ...
    @property
    def chat(self) -> ChatScreen | None: ...
    def run_command(self, action: str) -> Awaitable[object]: ...
    async def go_on(self, request: ChatRequest) -> None: ...
    def search_all(self, words: str) -> None: ...


def palette_items(host: PaletteHost) -> list[PaletteItem]:
    """Return the items that need no request."""
    chat = host.chat
    items = [
        PaletteItem(command.title, command.detail, partial(host.run_command, command.action), command.key)
        for command in COMMANDS
        if chat is not None or not command.needs_chat
    ]
    items += [] if chat is None else _session_items(chat)
    return items


def _session_items(chat: ChatScreen) -> Iterator[PaletteItem]:
    facts = chat.transcript.facts
    for mode in facts.modes:
        setting = SettingChoice("mode", mode.id, mode.id)
        yield PaletteItem(f"Mode: {mode.name}", mode.description or "", partial(chat.change_setting, setting))
    for command in facts.commands:
        text = f"/{command.name} "
        yield PaletteItem(f"/{command.name}", command.description, partial(chat.write_prompt, text))


async def fetch_items(host: PaletteHost) -> list[PaletteItem]:
    """Request agents and sessions from the backend. Raises `DragomanError`."""
    chat, items = host.chat, []
    for agent in await host.backend.agents():
        detail = agent.title or agent.detail
        request = ChatRequest(agent=agent.name, cwd=host.backend.cwd)
        items.append(PaletteItem(f"New session with {agent.name}", detail, partial(host.go_on, request)))
        if chat is not None:
            hand_over = partial(chat.slash_commands.hand_over, agent.name)
            items.append(
                PaletteItem(f"Hand over to {agent.name}", "the agent gets a brief of this session", hand_over)
            )
    for row in await host.backend.sessions(""):
        if row.request is not None:
            detail = f"session · {row.agent} · {row.when}"
            items.append(PaletteItem(row.title, detail, partial(host.go_on, row.request)))
    return items


def search_item(host: PaletteHost) -> Callable[[str], PaletteItem]:
    """Return the item for words that match no name."""

    def make_item(words: str) -> PaletteItem:
        title = f"Search all sessions for “{words}”"
        return PaletteItem(title, "", partial(host.search_all, words))

    return make_item
