"""Asks for permission in a terminal: shows everything, takes a number, and nothing by default.

    asker = TerminalAsker(TerminalLines(0), write=sys.stderr.write)

One question at a time; the others wait. A question that is taken back (its turn was cancelled) says so and
makes room for the next. An empty line is no answer; the end of the input chooses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from dragoman.schema import v1
from dragoman.text.sanitize import sanitize_line
from dragoman.workspace.policy.options import option_name
from dragoman.workspace.policy.permission_prompt import PermissionPrompt
from dragoman.workspace.policy.terminal_lines import TerminalLines, clock_time

Write: TypeAlias = Callable[[str], object]

_KINDS: Final = {
    "allow_once": "allow once",
    "allow_always": "always allow",
    "reject_once": "reject",
    "reject_always": "always reject",
}


class TerminalAsker:
    """An `Asker`. `lock` is shared with others that use the same terminal."""

    def __init__(self, lines: TerminalLines, *, write: Write, lock: asyncio.Lock | None = None) -> None:
        self._lines = lines
        self._write = write
        self._lock = lock or asyncio.Lock()

    async def ask(self, question: PermissionPrompt) -> str | None:
        async with self._lock:
            try:
                return await self._ask(question)
            except asyncio.CancelledError:
                self._write("\n(This is no longer asked.)\n")
                raise

    async def _ask(self, question: PermissionPrompt) -> str | None:
        self._write(f"\n{question.text}\n\n{_menu(question.options)}")
        asked_at = clock_time()
        while True:
            self._write(f"Asked at {asked_at}. Choose 1-{len(question.options)}, or q to choose nothing: ")
            answer = await self._lines.read()
            if answer is None:
                self._write("\n")
                return None
            reply = answer.strip().casefold()
            if reply == "q":
                return None
            if reply.isdecimal() and len(reply) < 7 and 1 <= int(reply) <= len(question.options):
                return question.options[int(reply) - 1].option_id
            self._write("That is none of them. ")


def _menu(options: tuple[v1.PermissionOption, ...]) -> str:
    return "".join(
        f"  {number}) [{_KINDS.get(option.kind, sanitize_line(option.kind))}] {option_name(option.name)}\n"
        for number, option in enumerate(options, 1)
    )
