"""Reads a command before it is run: the programs that it starts, or why that cannot be told.

Pure. `line_reader` takes a line apart; here `sh -c LINE` and a few programs that do no more than run another
one are looked through. `CommandScript.commands` then are exactly the programs that the shell would start,
with exactly their arguments; what those do with them, `program_calls` says. What cannot be read for sure has
an `objection` instead; then `commands` are a rough guess that holds too much, and `possible` is what
`possible_commands` finds: good for finding what is forbidden, never for permitting.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from dragoman_local.workspace.policy.line_reader import ASSIGNS, MOST_CHARACTERS, LineReader, Words
from dragoman_local.workspace.policy.partial_words import ANY
from dragoman_local.workspace.policy.possible_commands import possible_commands, possible_in_arguments
from dragoman_local.workspace.policy.program_calls import read_call
from dragoman_local.workspace.policy.programs import (
    BUILTINS,
    LOOKED_THROUGH,
    POSIX_SHELLS,
    RESERVED,
    SHELLS,
    is_harmless,
    name_of,
)


class UnreadableCommand(Exception):
    """What a command does cannot be told from its text."""


MOST_COMMANDS: Final = 30
MOST_WORDS: Final = 300
"""In a line. Nobody would read more before allowing it, and nobody should wait for it."""

DEEPEST: Final = 3
"""How many shells in shells are looked through."""

_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")
_BREAKS = re.compile(r"[\s;&|()<>{}$!`'\"\\=]+")
_GLUE = re.compile(r"['\"\\]+")
_SEPARATORS = re.compile(r"[\s;&|()<>{}$!`=]+")


class CommandScript(Struct, frozen=True, kw_only=True):
    """A command as it was given, and what was read in it."""

    text: str
    commands: tuple[Words, ...]
    objection: str | None = None
    """Why it cannot be read for sure; None if it was."""
    possible: tuple[Words, ...] = ()
    """If it cannot: every command that it might run, with marks (`unknown`) for what is not known yet."""


def read_line(line: str) -> CommandScript:
    """A line for a shell."""
    reading = LineReader(line)
    try:
        return CommandScript(text=line, commands=tuple(_certain(reading, depth=0)))
    except UnreadableCommand as error:
        possible = possible_commands(reading)
        return CommandScript(text=line, commands=guess_words(line), objection=str(error), possible=possible)


def read_arguments(arguments: Sequence[str]) -> CommandScript:
    """A program and its arguments, which no shell will see unless the program is one."""
    text = shlex.join(arguments)
    try:
        if len(arguments) > MOST_WORDS or sum(map(len, arguments)) > MOST_CHARACTERS:
            raise UnreadableCommand(f"it has more than {MOST_WORDS} words or {MOST_CHARACTERS} characters")
        commands = tuple(_command(tuple(arguments), is_piped=False, depth=0))
        return CommandScript(text=text, commands=commands)
    except UnreadableCommand as error:
        guesses = (tuple(arguments[:MOST_WORDS]), *guess_words(text))
        possible = possible_in_arguments(tuple(arguments))
        return CommandScript(text=text, commands=guesses, objection=str(error), possible=possible)


UNTOLD: Final = "the agent does not say what it would run"


def unknown_command(title: str) -> CommandScript:
    """A command that nobody told us; its title is no more than a hint."""
    return CommandScript(text=title, commands=guess_words(title), objection=UNTOLD, possible=((ANY,),))


def _certain(reading: LineReader, *, depth: int) -> Iterable[Words]:
    """What a line is made of, if that is certain."""
    if depth > DEEPEST:
        raise UnreadableCommand("it is a shell in a shell in a shell")
    if reading.objection is not None:
        raise UnreadableCommand(reading.objection)
    if not reading.commands:
        raise UnreadableCommand("it is empty")
    if len(reading.commands) > MOST_COMMANDS:
        raise UnreadableCommand(f"it is made of more than {MOST_COMMANDS} commands")
    if sum(len(command.words) for command in reading.commands) > MOST_WORDS:
        raise UnreadableCommand(f"it has more than {MOST_WORDS} words")
    return [
        words
        for command in reading.commands
        for words in _simple(command.words, is_piped=command.is_piped, depth=depth)
    ]


def _simple(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    if words[0] in RESERVED:
        raise UnreadableCommand(f"it holds the word {words[0]!r} of the shell's language")
    while words and (assignment := ASSIGNS.match(words[0])):
        if not is_harmless(assignment[1]):
            raise UnreadableCommand(f"it sets the variable {assignment[1]}")
        words = words[1:]
    if not words:
        raise UnreadableCommand("it sets variables and runs nothing")
    return _command(words, is_piped=is_piped, depth=depth)


def _command(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    """What is really run by one command."""
    # A line that begins with a flag would be a flag of the shell that it is given to.
    if not words or not words[0] or words[0].startswith(("-", "+", "%")):
        raise UnreadableCommand("it names no program")
    name = name_of(words[0])
    if name in SHELLS:
        return _shell(words, is_piped=is_piped, depth=depth)
    if name in BUILTINS:
        raise UnreadableCommand(f"{name} changes what the shell does")
    if name in LOOKED_THROUGH:
        return _looked_through(words, is_piped=is_piped, depth=depth)
    if is_piped and read_call(words).doubt is not None:
        raise UnreadableCommand(f"something is piped into {name}, which may run it")
    return [words]


def _looked_through(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    name, rest = name_of(words[0]), words[1:]
    if name == "timeout":
        if not rest or not _DURATION.fullmatch(rest[0]):
            raise UnreadableCommand("timeout is not called with a plain number of seconds")
        rest = rest[1:]
    if not rest or rest[0].startswith("-"):
        raise UnreadableCommand(f"{name} is called with flags, or with nothing")
    # `time` is a word of the shell's language for some shells and a program for others: what comes behind
    # it would be an assignment for the ones and a program's name for the others.
    if "=" in rest[0] or rest[0] in RESERVED:
        raise UnreadableCommand(f"{name} runs something that is no plain command")
    return _command(rest, is_piped=is_piped, depth=depth)


def _shell(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    name, rest = name_of(words[0]), list(words[1:])
    if is_piped:
        raise UnreadableCommand(f"something is piped into {name}, which would run it")
    if rest[:1] == ["-l"]:
        rest.pop(0)
    if rest[:1] in (["-c"], ["-lc"]) and len(rest) == 2 and name in POSIX_SHELLS:
        return _certain(LineReader(rest[1]), depth=depth + 1)
    if rest and not rest[0].startswith(("-", "+")) and rest[0]:
        return [words]  # a script in a file: a rule may name it
    raise UnreadableCommand(f"{name} is called in a way that cannot be looked through")


def guess_words(line: str) -> tuple[Words, ...]:
    """What the line's words may be: with quotes taken for joints, and with quotes taken for breaks."""
    line = line[:MOST_CHARACTERS]
    joined_words = tuple(filter(None, _SEPARATORS.split(_GLUE.sub("", line), MOST_WORDS)))[:MOST_WORDS]
    broken_words = tuple(filter(None, _BREAKS.split(line, MOST_WORDS)))[:MOST_WORDS]
    return (joined_words, broken_words) if joined_words != broken_words else (joined_words,)
