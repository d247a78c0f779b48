"""Slash commands: a decorator declares them, every session announces them, and the first word of a prompt
selects one.

A command is a prompt whose text begins with `/name`; what follows is its argument, and other blocks may
accompany it. A prompt that begins like a command which nobody declared is a prompt like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET

from dragoman.schema import v1
from dragoman.sdk.handlers import Handler

NAME = re.compile(r"[^\s/][^\s]*")


class SlashCommand(NamedTuple):
    """A declared command. Its handler gets the turn and the argument."""

    name: str
    description: str
    hint: str | None
    function: Callable[..., Any]

    def as_updates(self) -> v1.AvailableCommand:
        asks = UNSET if self.hint is None else v1.UnstructuredCommandInput(hint=self.hint)
        return v1.AvailableCommand(name=self.name, description=self.description, input=asks)

    def handler(self, argument: str) -> Handler:
        """The handler that runs a turn with this command."""
        function = self.function
        is_async = Handler(function).is_async

        async def run_async(turn: object) -> Any:
            return await function(turn, argument)

        def run_plain(turn: object) -> Any:
            return function(turn, argument)

        return Handler(run_async if is_async else run_plain)


class Commands:
    """All commands of an agent, in the order of their declaration."""

    def __init__(self) -> None:
        self._commands: dict[str, SlashCommand] = {}

    def __bool__(self) -> bool:
        return bool(self._commands)

    def add(self, command: SlashCommand) -> None:
        if not NAME.fullmatch(command.name):
            raise ValueError(
                f"{command.name!r} cannot be the name of a command: one word, no slash before it"
            )
        if command.name in self._commands:
            raise ValueError(f"the command {command.name!r} is already declared")
        self._commands[command.name] = command

    def as_updates(self) -> list[v1.AvailableCommand]:
        return [command.as_updates() for command in self._commands.values()]

    def find(self, text: str) -> tuple[SlashCommand, str] | None:
        """The command at the start of a prompt's text, and its argument."""
        if not text.startswith("/"):
            return None
        words = text[1:].split(maxsplit=1)
        command = self._commands.get(words[0]) if words and not text[1:2].isspace() else None
        return None if command is None else (command, words[1].strip() if len(words) > 1 else "")
