"""Finds the program for a command that an agent requests, and decides whether a shell has to run it.

The protocol's `command` is a program and `args` are its arguments. They are passed on as text, whatever they
hold. Some agents put a whole line into `command` and leave `args` empty. If there is no program of that name,
the line is taken apart as a shell would, as long as it is nothing but words; a line that needs a shell is
refused, unless the settings say that shells may be used.

Nothing here starts anything.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence

from msgspec import Struct

from dragoman.errors import ErrorAnswer
from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS, NOT_FOUND, refusal

SHELL = "/bin/sh"

MOST_BYTES = 128 * 1024
"""The most bytes of an argument or a line on Linux."""

MOST_WORDS = 10_000

_ANYWHERE = frozenset("|&;<>()$`*?[]{}\n\r!")
_IN_QUOTES = frozenset("$`!\n")
_AT_START = frozenset("~#")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class PlannedCommand(Struct, frozen=True, kw_only=True):
    """The command to start, for a guard."""

    words: tuple[str, ...]
    """The program as requested, and its arguments."""
    program: str
    """The file that will be executed."""
    shell_line: str | None = None
    """The line, if a shell will parse it."""
    cwd: str
    """The real start folder, with links resolved."""
    env_names: tuple[str, ...] = ()
    """Variables that the agent sets."""
    assignments: tuple[str, ...] = ()
    """The same with their values, `NAME=value`: for people who are asked."""
    wall: str = ""
    """The profile of its sandbox, or `no sandbox` with the reason."""


def plan_command(
    command: str,
    args: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    set_by_agent: Sequence[tuple[str, str]] = (),
    shell_lines: bool,
    wall: str = "",
) -> PlannedCommand:
    """Plan a command; raises an `ErrorAnswer` if it can't be started."""
    _check([command, *args])
    line: str | None = None
    words = [command, *args]
    program = find_program(command, cwd=cwd, env=env)
    if program is None and not args and needs_splitting(command):
        if needs_shell(command):
            if not shell_lines:
                raise _shell_line()
            line, words = command, [SHELL, "-c", command]
        else:
            words = _split(command)
        program = find_program(words[0], cwd=cwd, env=env)
    if program is None:
        raise _no_program(words[0])
    return PlannedCommand(
        words=tuple(words),
        program=program,
        shell_line=line,
        cwd=cwd,
        env_names=tuple(sorted({name for name, _ in set_by_agent})),
        assignments=tuple(f"{name}={value}" for name, value in set_by_agent),
        wall=wall,
    )


def find_program(name: str, *, cwd: str, env: Mapping[str, str]) -> str | None:
    """Return the file of a program name. Relative entries of PATH are skipped: otherwise a folder that the
    agent can write to would decide what `ls` is.
    """
    if os.path.dirname(name):
        path = os.path.join(cwd, name)
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else None
    entries = env.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(entry for entry in entries if os.path.isabs(entry)))


def needs_splitting(line: str) -> bool:
    """Whether this may be more than the name of a program."""
    return any(character.isspace() for character in line.strip()) or needs_shell(line)


def needs_shell(line: str) -> bool:
    """Whether a line needs a shell. If in doubt, it does."""
    quote = ""
    at_start, is_escaped = True, False
    if _ASSIGNMENT.match(line.lstrip()):
        return True
    for character in line:
        if is_escaped:
            is_escaped = at_start = False
            # In quotes, what splits words here keeps the backslash before a sign of the shell.
            if character == "\n" or (quote and character in "$`"):
                return True
        elif quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            is_escaped = True
        elif quote:
            if character in _IN_QUOTES:
                return True
            quote = "" if character == quote else quote
        elif character in _ANYWHERE or (at_start and character in _AT_START):
            return True
        else:
            quote = character if character in "'\"" else ""
            at_start = character in " \t"
    return bool(quote) or is_escaped


def _split(line: str) -> list[str]:
    words = shlex.split(line)
    if not words or not words[0]:
        raise _bad("the command is empty")
    return words


def _check(words: Sequence[str]) -> None:
    if not words[0].strip():
        raise _bad("the command is empty")
    if len(words) > MOST_WORDS:
        raise _bad("there are too many arguments")
    for word in words:
        if "\0" in word:
            raise _bad("the command, or an argument, contains NUL")
        try:
            too_long = len(word.encode()) >= MOST_BYTES
        except UnicodeEncodeError:
            raise _bad("the command, or an argument, contains half a character") from None
        if too_long:
            raise _bad("the command, or an argument, is too long")


def _bad(why: str) -> ErrorAnswer:
    return refusal(INVALID_PARAMS, "bad_command", f"Invalid params: {why}")


def _shell_line() -> ErrorAnswer:
    why = "the command is a line for a shell, and none is used here; name a program, and give `args`"
    return refusal(FORBIDDEN, "shell_line", why)


def _no_program(name: str) -> ErrorAnswer:
    where = "no such file, or it is not executable" if os.path.dirname(name) else "no such program on PATH"
    return refusal(NOT_FOUND, "no_program", f"cannot start {name!r}: {where}")
