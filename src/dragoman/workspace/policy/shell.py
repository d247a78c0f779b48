"""Reads a command before it is run: what it is made of, or why that cannot be told.

Pure. A line is split at `;`, `&&`, `||`, `|` and line ends; `sh -c LINE` and a few programs that do no more
than run another one are looked through. `Script.commands` then are exactly the programs that would be
started, with exactly their arguments. What cannot be read for sure has an `objection` instead, and its
`commands` are a rough guess that holds too much: good for finding what is forbidden, never for permitting.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from dragoman.workspace.policy.programs import (
    BUILTINS,
    FIND_ACTIONS,
    POSIX_SHELLS,
    RESERVED,
    RUNNERS,
    SHELLS,
    is_harmless,
    is_interpreter,
    name_of,
)
from dragoman.workspace.policy.tokens import MOST_CHARACTERS, Unreadable, Word, tokens

Words: TypeAlias = tuple[str, ...]

DEEPEST: Final = 3
"""How many shells in shells are looked through."""

_LOOKED_THROUGH: Final = frozenset({"nohup", "time", "command", "timeout"})
_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")
_BREAKS = re.compile(r"[\s;&|()<>{}$`'\"\\=]+")
_GLUE = re.compile(r"['\"\\]+")
_SEPARATORS = re.compile(r"[\s;&|()<>{}$`=]+")


class Script(Struct, frozen=True, kw_only=True):
    """A command as it was given, and what was read in it."""

    text: str
    commands: tuple[Words, ...]
    objection: str | None = None
    """Why it cannot be read for sure; None if it was."""


def read_line(line: str) -> Script:
    """A line for a shell."""
    try:
        commands = tuple(_line(line, depth=0))
    except Unreadable as error:
        return Script(text=line, commands=_guesses(line), objection=str(error))
    return Script(text=line, commands=commands)


def read_arguments(arguments: Sequence[str]) -> Script:
    """A program and its arguments, which no shell will see unless the program is one."""
    text = shlex.join(arguments)
    try:
        commands = tuple(_command(tuple(arguments), piped=False, depth=0))
    except Unreadable as error:
        guesses = (tuple(arguments), *(guess for word in arguments for guess in _guesses(word)))
        return Script(text=text, commands=guesses, objection=str(error))
    return Script(text=text, commands=commands)


def unsaid(title: str) -> Script:
    """A command that nobody told us; its title is no more than a hint."""
    return Script(text=title, commands=_guesses(title), objection="the agent does not say what it would run")


def _line(line: str, *, depth: int) -> Iterable[Words]:
    if depth > DEEPEST:
        raise Unreadable("it is a shell in a shell in a shell")
    found: list[Words] = []
    words: list[Word] = []
    piped, wants = False, False  # whether we are behind a |, and whether something must still come
    for each in tokens(line):
        if isinstance(each, Word):
            words.append(each)
            continue
        if words:
            found += _simple(words, piped=piped, depth=depth)
            words, piped, wants = [], each == "|", each not in (";", "\n")
        elif each != "\n":
            raise Unreadable(f"nothing stands before {each}")
    if words:
        found += _simple(words, piped=piped, depth=depth)
    elif wants:
        raise Unreadable("it ends with an operator")
    if not found:
        raise Unreadable("it is empty")
    return found


def _simple(words: list[Word], *, piped: bool, depth: int) -> Iterable[Words]:
    if words[0].is_bare and words[0].text in RESERVED:
        raise Unreadable(f"it holds the word {words[0].text!r} of the shell's language")
    while words and (variable := words[0].assigns) is not None:
        if not is_harmless(variable):
            raise Unreadable(f"it sets the variable {variable}")
        words = words[1:]
    if not words:
        raise Unreadable("it sets variables and runs nothing")
    return _command(tuple(word.text for word in words), piped=piped, depth=depth)


def _command(words: Words, *, piped: bool, depth: int) -> Iterable[Words]:
    """What is really run by one command."""
    # A line that begins with a flag would be a flag of the shell that it is given to.
    if not words or not words[0] or words[0].startswith(("-", "+")):
        raise Unreadable("it names no program")
    if sum(map(len, words)) > MOST_CHARACTERS:
        raise Unreadable(f"it is longer than {MOST_CHARACTERS} characters")
    name = name_of(words[0])
    if name in SHELLS:
        return _shell(words, piped=piped, depth=depth)
    if name in RUNNERS or name in BUILTINS:
        how = "runs another command" if name in RUNNERS else "changes what the shell does"
        raise Unreadable(f"{name} {how}")
    if piped and is_interpreter(name):
        raise Unreadable(f"something is piped into {name}, which would run it")
    if name in _LOOKED_THROUGH:
        return _looked_through(words, piped=piped, depth=depth)
    _check_arguments(name, words)
    return [words]


def _check_arguments(name: str, words: Words) -> None:
    if name == "find" and not FIND_ACTIONS.isdisjoint(words):
        raise Unreadable("find runs or deletes what it finds")
    if name == "git" and any(w == "-c" or w.startswith(("--config-env", "--exec-path")) for w in words[1:3]):
        raise Unreadable("git is given settings, which may run anything")
    if name == "printf" and len(words) > 1 and words[1].startswith("-"):
        raise Unreadable("printf is given a flag, which may set a variable")


def _looked_through(words: Words, *, piped: bool, depth: int) -> Iterable[Words]:
    name, rest = name_of(words[0]), words[1:]
    if name == "timeout":
        if not rest or not _DURATION.fullmatch(rest[0]):
            raise Unreadable("timeout is not called with a plain number of seconds")
        rest = rest[1:]
    if not rest or rest[0].startswith("-"):
        raise Unreadable(f"{name} is called with flags, or with nothing")
    # `time` is a word of the shell's language for some shells and a program for others: what comes behind
    # it would be an assignment for the ones and a program's name for the others.
    if "=" in rest[0] or rest[0] in RESERVED:
        raise Unreadable(f"{name} runs something that is no plain command")
    return _command(rest, piped=piped, depth=depth)


def _shell(words: Words, *, piped: bool, depth: int) -> Iterable[Words]:
    name, rest = name_of(words[0]), list(words[1:])
    if piped:
        raise Unreadable(f"something is piped into {name}, which would run it")
    if rest[:1] == ["-l"]:
        rest.pop(0)
    if rest[:1] in (["-c"], ["-lc"]) and len(rest) == 2 and name in POSIX_SHELLS:
        return _line(rest[1], depth=depth + 1)
    if rest and not rest[0].startswith(("-", "+")) and rest[0]:
        return [words]  # a script in a file: a rule may name it
    raise Unreadable(f"{name} is called in a way that cannot be looked through")


def _guesses(line: str) -> tuple[Words, ...]:
    """What the line's words may be: with quotes taken for joints, and with quotes taken for breaks."""
    line = line[: 4 * MOST_CHARACTERS]
    joined = tuple(filter(None, _SEPARATORS.split(_GLUE.sub("", line))))
    broken = tuple(filter(None, _BREAKS.split(line)))
    return (joined, broken) if joined != broken else (joined,)
