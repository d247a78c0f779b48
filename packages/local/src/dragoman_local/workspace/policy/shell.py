"""Reads a shell command before it runs: finds the programs that it starts, or reports why it can't.

Pure. `line_reader` takes a line apart; here `sh -c LINE` and a few programs that do no more than run another
one are looked through. `CommandScript.commands` then are exactly the programs that the shell would start,
with exactly their arguments; what those do with them, `program_calls` says. What cannot be read for sure has
an `objection` instead; then `commands` are a rough guess that holds too much, and `possible` is what
`_possible` finds: good for finding what is forbidden, never for permitting. There a command counts
with every other that it may carry: in its words, in texts that it is given, in what is fed to it. What nobody
knows yet is a mark in a word, as `globs` says; `(ANY,)` is a command that nobody knows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final

from msgspec import Struct

from dragoman_local.workspace.policy.globs import ANY, has_unknown_part, is_known, without_marks
from dragoman_local.workspace.policy.line_reader import (
    ASSIGNS,
    MOST_CHARACTERS,
    LineCommand,
    LineReader,
    Words,
)
from dragoman_local.workspace.policy.program_calls import (
    BUILTINS,
    LOOKED_THROUGH,
    POSIX_SHELLS,
    RESERVED,
    RUNNERS,
    SHELLS,
    is_harmless,
    is_interpreter,
    is_of_system,
    name_of,
    read_call,
)


class UnreadableCommand(Exception):
    """The effect of a command can't be read from its text."""


MOST_COMMANDS: Final = 30
MOST_WORDS: Final = 300
"""The most words in a line: nobody would read more before allowing it, or should wait for it."""

DEEPEST: Final = 3
"""The most nested shells to read."""

_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")
_BREAKS = re.compile(r"[\s;&|()<>{}$!`'\"\\=]+")
_GLUE = re.compile(r"['\"\\]+")
_SEPARATORS = re.compile(r"[\s;&|()<>{}$!`=]+")


class CommandScript(Struct, frozen=True, kw_only=True):
    """A command as written, and the commands read from it."""

    text: str
    commands: tuple[Words, ...]
    objection: str | None = None
    """The reason why it can't be read for sure; None if it can."""
    possible: tuple[Words, ...] = ()
    """If it can't be read: every command that it might run, with marks (`globs`) for unknown parts."""


@lru_cache(maxsize=64)  # each yes and each use asks for it
def whole_line(script: CommandScript) -> str:
    """Return a command as a line, without the shells around it: the same for the same words, and for lines
    with more than words (`&&`, `timeout 5`, `CI=1`) only for the same line.
    """
    line = script.text
    with suppress(ValueError):
        # A shell of the system, and the line that it reads.
        while (words := shlex.split(line))[1:-1] in (["-c"], ["-lc"], ["-l", "-c"]) and (
            is_of_system(words[0]) and name_of(words[0]) in POSIX_SHELLS
        ):
            line = words[-1]
        if script.objection is None and script.commands == (tuple(words),):
            return shlex.join(words)
    return line


@lru_cache(maxsize=64)  # an agent announces a command, and then asks for it
def read_line(line: str) -> CommandScript:
    """Read a line for a shell."""
    reading = LineReader(line)
    try:
        return CommandScript(text=line, commands=tuple(_certain(reading, depth=0)))
    except UnreadableCommand as error:
        possible = _possible(_in_line(reading, 0))
        return CommandScript(text=line, commands=guess_words(line), objection=str(error), possible=possible)


def read_arguments(arguments: Sequence[str]) -> CommandScript:
    """Read a program and its arguments, which no shell parses unless the program is one."""
    text = shlex.join(arguments)
    try:
        is_short = len(arguments) <= MOST_WORDS and sum(map(len, arguments)) <= MOST_CHARACTERS
        _demand(is_short, f"the command has more than {MOST_WORDS} words or {MOST_CHARACTERS} characters")
        return CommandScript(text=text, commands=(tuple(_command(tuple(arguments), is_piped=False, depth=0))))
    except UnreadableCommand as error:
        guesses = (tuple(arguments[:MOST_WORDS]), *guess_words(text))
        possible = possible_in_arguments(tuple(arguments))
        return CommandScript(text=text, commands=guesses, objection=str(error), possible=possible)


UNTOLD: Final = "the agent does not say what it would run"


def unknown_command(title: str) -> CommandScript:
    """Return a command that the agent did not report; its title is only a hint."""
    return CommandScript(text=title, commands=guess_words(title), objection=UNTOLD, possible=((ANY,),))


def _demand(is_good: bool, why: str) -> None:
    if not is_good:
        raise UnreadableCommand(why)


def _certain(reading: LineReader, *, depth: int) -> Iterator[Words]:
    """The parts of a line, if they are certain."""
    word_count = sum(len(command.words) for command in reading.commands)
    _demand(depth <= DEEPEST, "the command starts a shell in a shell in a shell")
    _demand(reading.objection is None, reading.objection or "")
    _demand(bool(reading.commands), "the command is empty")
    _demand(len(reading.commands) <= MOST_COMMANDS, f"the line has more than {MOST_COMMANDS} commands")
    _demand(word_count <= MOST_WORDS, f"the command has more than {MOST_WORDS} words")
    for words, is_piped, _ in reading.commands:
        _demand(words[0] not in RESERVED, f"the command is a shell construct ({words[0]!r})")
        while words and (assignment := ASSIGNS.match(words[0])):
            _demand(is_harmless(words[0]), f"the command sets the variable {assignment[1]}")
            words = words[1:]
        _demand(bool(words), "the command only sets variables")
        yield from _command(words, is_piped=is_piped, depth=depth)


def _command(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    """The command that really runs."""
    # A line that begins with a flag would be a flag of the shell that it is given to.
    _demand(bool(words) and words[0][:1] not in ("", *"-+%"), "the command names no program")
    name, is_runner = name_of(words[0]), is_of_system(words[0])
    if is_runner and name in SHELLS:
        return _shell(words, is_piped=is_piped, depth=depth)
    _demand(name not in BUILTINS, f"{name} changes what the shell does")
    if is_runner and name in LOOKED_THROUGH:
        return _looked_through(words, is_piped=is_piped, depth=depth)
    _demand(not (is_piped and read_call(words).doubt), f"something is piped into {name}, which may run it")
    return [words]


def _looked_through(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    name, rest = name_of(words[0]), words[1:]
    if name == "timeout":
        is_plain = bool(rest) and _DURATION.fullmatch(rest[0]) is not None
        _demand(is_plain, "timeout is not called with a plain number of seconds")
        rest = rest[1:]
    _demand(bool(rest) and not rest[0].startswith("-"), f"{name} is called with flags, or with nothing")
    # `time` is a word of the shell's language for some shells and a program for others: what comes behind
    # it would be an assignment for the ones and a program's name for the others.
    is_plain = "=" not in rest[0] and rest[0] not in RESERVED
    _demand(is_plain, f"{name} runs something that is not a plain command")
    return _command(rest, is_piped=is_piped, depth=depth)


def _shell(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    name, rest = name_of(words[0]), words[2:] if words[1:2] == ("-l",) else words[1:]
    _demand(not is_piped, f"something is piped into {name}, which would run it")
    if rest[:1] in (("-c",), ("-lc",)) and len(rest) == 2 and name in POSIX_SHELLS:
        return _certain(LineReader(rest[1]), depth=depth + 1)
    if rest and not rest[0].startswith(("-", "+")) and rest[0]:
        return [words]  # a script in a file: a rule may name it
    raise UnreadableCommand(f"{name} is called in a way that cannot be looked through")


def guess_words(line: str) -> tuple[Words, ...]:
    """Return the possible words of the line: with quotes as joints, and with quotes as breaks."""
    line = line[:MOST_CHARACTERS]
    splits = (_SEPARATORS.split(_GLUE.sub("", line), MOST_WORDS), _BREAKS.split(line, MOST_WORDS))
    guesses = dict.fromkeys(tuple(filter(None, words))[:MOST_WORDS] for words in splits)
    return tuple(filter(None, guesses))


# What might run besides.

MOST_POSSIBLE: Final = 100
MOST_POSSIBLE_WORDS: Final = 1000
"""The most words in all commands together. A longer line may run anything."""

_DEEPEST: Final = 5
_MOST_STARTS: Final = 48

# They run words that come from elsewhere behind those that are given.
_ADDERS: Final = frozenset({"xargs", "parallel", "find", "fd", "entr"})
# They change what words mean later in the line.
_CHANGERS: Final = frozenset(
    {
        *("alias", "enable", "hash", "shopt", "bind", "complete", "setopt", "unsetopt", "zmodload"),
        *("autoload", "emulate", "function", "fc", "history"),
    }
)
_BEFORE_COMMANDS: Final = RESERVED - {"for", "case", "select", "foreach", "repeat", "[[", "(("}
"""Words of the shell's language behind which a command stands."""


_ANYTHING: Final = LineCommand((ANY,))


@lru_cache(maxsize=64)
def possible_in_arguments(words: Words) -> tuple[Words, ...]:
    """Return the commands that a program may run when it is started with these words, without a shell."""
    return _possible([LineCommand(tuple(map(without_marks, words)))])


def _possible(commands: Iterable[LineCommand]) -> tuple[Words, ...]:
    """These commands and whatever they might run besides, each once."""
    found: dict[Words, None] = {}
    words_left = MOST_POSSIBLE_WORDS
    walk = [iter(commands)]  # then what the command carries, what that carries, …
    while walk:
        depth, command = len(walk) - 1, next(walk[-1], None)
        if command is None:
            walk.pop()
            continue
        words_left -= 0 if command is _ANYTHING else len(command.words)
        if depth > _DEEPEST or words_left <= 0 or len(found) >= MOST_POSSIBLE:
            command = _ANYTHING
        # What is known already need not be looked into again.
        if command.words not in found or command.is_piped or command.bodies:
            found[command.words] = None
            walk.append(_carried(command, depth))
    if len(found) >= MOST_POSSIBLE:
        found[_ANYTHING.words] = None
    return tuple(found)


def _in_line(reading: LineReader, depth: int) -> Iterator[LineCommand]:
    if reading.is_open or depth > _DEEPEST:
        yield _ANYTHING
    for command in reading.commands:
        yield from _in_words(command)


def _in_words(command: LineCommand) -> Iterator[LineCommand]:
    """A command without the assignments and words of the shell's language before it."""
    for at, word in enumerate(command.words):
        if ASSIGNS.match(word):
            if not is_harmless(word):
                yield _ANYTHING
        elif word not in _BEFORE_COMMANDS:
            yield command._replace(words=command.words[at:])
            return


def _in_texts(texts: Iterable[str], depth: int) -> Iterator[LineCommand]:
    for text in texts:
        if text == ANY:
            yield _ANYTHING
        elif any(character in text for character in " \t\n;&|()`$<>"):
            yield from _in_line(LineReader(text, depth=depth), depth + 1)


def _carried(command: LineCommand, depth: int) -> Iterator[LineCommand]:
    """Whatever a command might run besides."""
    words, is_piped, bodies = command
    name = name_of(words[0])
    if has_unknown_part(words[0]):
        yield from _in_words(LineCommand(words[1:]))  # it may turn out to be nothing
    if not is_known(name):
        return
    call = read_call(words)
    is_shell = name in SHELLS
    if is_shell or is_interpreter(name):
        flags = [word.startswith(("-", "+")) for word in words[1:]]
        runs_unknown = (
            all(flags) or any(map(has_unknown_part, words)) if is_shell else any(flags) and call.doubt
        )
        if is_piped or bodies or runs_unknown:
            yield _ANYTHING
        yield from _in_texts(bodies, depth)
    if call.carried is not None:
        yield from _in_words(LineCommand(call.operands))
    if name in BUILTINS | LOOKED_THROUGH | SHELLS or (name in RUNNERS and call.doubt is not None):
        # Any of its words may be the beginning of a command, or a whole line.
        whole = (*words, ANY) if name in _ADDERS else words
        for at in range(1, min(len(whole), _MOST_STARTS)):
            yield from _in_words(LineCommand(whole[at:]))
        yield from _in_texts((*bodies, *words[1:], " ".join(words[1:]) if name == "eval" else ""), depth)
        if len(whole) > _MOST_STARTS or any(word.startswith("-") and " " in word for word in words[1:]):
            yield _ANYTHING  # it is too long, or a line is attached to a flag
    if name.startswith("git-"):
        yield from _in_words(LineCommand(("git", name[4:], *words[1:])))
    # An option that nobody knows may run anything; so may a word that changes what others mean.
    if name in _CHANGERS or (call.is_known and call.doubt is not None and not is_shell):
        yield _ANYTHING
