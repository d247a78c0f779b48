"""A line of shell that the person runs: theirs, with their environment, beside the conversation.

Its tree is owned: whatever it starts ends when the conversation does.
"""

from __future__ import annotations

import os

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman_local.workspace.commands import SHELL, PlannedCommand
from dragoman_local.workspace.terminal import TerminalProcess

OUTPUT = 1024 * 1024


class TerminalOutput:
    """An `Output`: what a command has written, and how it ended."""

    def __init__(self, terminal: TerminalProcess) -> None:
        self.terminal = terminal

    @property
    def text(self) -> str:
        return self.terminal.tail.text

    @property
    def exit_text(self) -> str | None:
        process_exit = self.terminal.exit
        if process_exit is None:
            return None
        return process_exit.signal or str(0 if process_exit.code is None else process_exit.code)


class UserCommand(TerminalOutput):
    """A `Shell`."""

    async def wait(self) -> None:
        await self.terminal.wait()

    async def kill(self) -> None:
        await self.terminal.kill()


def start(line: str, cwd: str) -> UserCommand:
    """Raises `LocalMistake` if nothing could be started. Needs a running loop."""
    if not line:
        raise LocalMistake("write the shell command after the exclamation mark")
    shell = os.environ.get("SHELL") or SHELL
    command = PlannedCommand(words=(shell, "-c", line), program=shell, shell_line=line, cwd=cwd)
    try:
        return UserCommand(
            TerminalProcess(command, cwd=cwd, env=dict(os.environ), output_bytes=OUTPUT, grace=1.0)
        )
    except ErrorAnswer as error:
        raise LocalMistake(error.message) from error
