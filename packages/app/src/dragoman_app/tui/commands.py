"""What the palette offers: commands, modes, the agent's own commands, sessions, agents and themes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from dragoman_app.tui.keys import COMMANDS
from dragoman_app.tui.ports import ChatBackend, ChatRequest
from dragoman_app.tui.screens.chat import ChatScreen
from dragoman_app.tui.screens.palette import PaletteItem
from dragoman_app.tui.screens.settings import SettingChoice


class PaletteHost(Protocol):
    """The application, as far as the palette needs it."""

    @property
    def backend(self) -> ChatBackend: ...
    @property
    def chat(self) -> ChatScreen | None: ...
    def run_command(self, action: str) -> Awaitable[object]: ...
    def set_theme(self, name: str) -> None: ...
    async def go_on(self, request: ChatRequest) -> None: ...
    def search_all(self, words: str) -> None: ...


def palette_items(host: PaletteHost) -> list[PaletteItem]:
    """What is there without asking anybody."""
    chat = host.chat
    items = [
        PaletteItem(command.title, command.detail, partial(host.run_command, command.action), command.key)
        for command in COMMANDS
        if chat is not None or not command.needs_chat
    ]
    items += [] if chat is None else _session_items(chat)
    return items


def theme_items(host: PaletteHost, names: Sequence[str]) -> list[PaletteItem]:
    """What is chosen seldom."""
    return [
        PaletteItem(f"Theme: {name}", "colours of this client", partial(host.set_theme, name))
        for name in names
    ]


def _session_items(chat: ChatScreen) -> Iterator[PaletteItem]:
    facts = chat.transcript.facts
    for mode in facts.modes:
        setting = SettingChoice("mode", mode.id, mode.id)
        yield PaletteItem(f"Mode: {mode.name}", mode.description or "", partial(chat.change_setting, setting))
    for command in facts.commands:
        text = f"/{command.name} "
        yield PaletteItem(f"/{command.name}", command.description, partial(chat.write_prompt, text))


async def fetch_items(host: PaletteHost) -> list[PaletteItem]:
    """Agents and sessions, which a backend is asked for. Raises `DragomanError`."""
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
    """For words that no name has."""

    def make_item(words: str) -> PaletteItem:
        title = f"Search all sessions for “{words}”"
        return PaletteItem(title, "", partial(host.search_all, words))

    return make_item
