"""Reads a command line before it is run: the programs that it starts, or why that cannot be told.

Pure. A line is split at `;`, `&&`, `||`, `|` and line ends; `sh -c LINE` and a few programs that do no more
than run another one are looked through. `CommandScript.commands` then are exactly the programs that the shell
would start, with exactly their arguments; what those do with them, `program_calls` says. What cannot be read
for sure has an `objection` instead; then `commands` are a rough guess that holds too much, and `possible` is
what `possible_commands` finds: good for finding what is forbidden, never for permitting.

Only what every shell understands in the same way, and what means the same before and after it is run, becomes
tokens. Everything else (substitutions, patterns, redirections to files, comments, control characters) raises
`UnreadableCommand`, which says why.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

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

MOST_CHARACTERS: Final = 16_384
"""Longer lines are not read: nobody would check them, and nobody should wait for it."""


_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_REDIRECTION = re.compile(r"<<<|<<-?|<>|<&|<|>>|>&|>\||>")
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;&|\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\+?=")
# A run without quotes; one in quotes; one character behind a backslash, which also joins two lines.
_PIECE = re.compile(
    r"""([^\s'"\\$`(){}*?\[;&|<>]+)|'([^']*)'|"((?:[^"\\$`]|\\[\s\S])*)"|\\([\s\S])""",
)
_ESCAPE = re.compile(r'\\(?:([$`"\\])|\n)')

_FORBIDDEN: Final = {
    "$": "it holds a substitution ($)",
    "`": "it holds a substitution (`)",
    "(": "it holds a subshell or a function",
    ")": "it holds a subshell or a function",
    "{": "it holds braces, which some shells expand",
    "}": "it holds braces, which some shells expand",
    "*": "it holds a pattern (*), which becomes the names of files",
    "?": "it holds a pattern (?), which becomes the names of files",
    "[": "it holds a pattern ([), which becomes the names of files",
}


class UnreadableCommand(Exception):
    """What a command does cannot be told from its text."""


class ShellWord(NamedTuple):
    """One word, quotes removed."""

    text: str
    bare: int
    """How many characters at its beginning were not quoted."""

    @property
    def is_bare(self) -> bool:
        return self.bare == len(self.text)

    @property
    def assigns(self) -> str | None:
        """The variable's name, if this is an assignment where one may stand."""
        match = _ASSIGNMENT.match(self.text)
        return self.text[: match.end()].rstrip("+=") if match and match.end() <= self.bare else None


Token: TypeAlias = ShellWord | str
"""A string is an operator."""


def tokens(line: str) -> Iterator[Token]:
    """The words and operators of a line; redirections that lead nowhere are left out."""
    if len(line) > MOST_CHARACTERS:
        raise UnreadableCommand(f"it is longer than {MOST_CHARACTERS} characters")
    _check_characters(line)
    at = _skip(line, 0)
    while at < len(line):
        if match := _OPERATOR.match(line, at):
            if match[0] in (";;", "|&"):
                raise UnreadableCommand(f"it holds {match[0]}")
            if match[0] == "&":
                raise UnreadableCommand("it runs something in the background (&)")
            yield match[0]
            at = match.end()
        elif line[at] in "<>":
            at = _redirection(line, at)
        else:
            word, at = _word(line, at)
            # Digits that touch a redirection are its descriptor.
            if word.text.isdecimal() and word.is_bare and line[at : at + 1] in ("<", ">"):
                at = _redirection(line, at)
            else:
                yield word
        at = _skip(line, at)


def _skip(line: str, at: int) -> int:
    match = _BLANKS.match(line, at)
    return at if match is None else match.end()


def _check_characters(line: str) -> None:
    for character in set(line):
        # Of categories that cannot be seen, or that make text look like something else.
        if character not in " \t\n" and unicodedata.category(character)[0] in "CZ":
            raise UnreadableCommand(f"it holds the character U+{ord(character):04X}, which cannot be seen")


def _redirection(line: str, at: int) -> int:
    """Where a redirection ends that leads nowhere."""
    match = _REDIRECTION.match(line, at)
    assert match is not None
    if match[0].startswith("<<"):
        raise UnreadableCommand("it holds text for a program's input (<<)")
    at = _skip(line, match.end())
    if line[at : at + 1] in ("", *";&|\n<>"):
        raise UnreadableCommand("a redirection leads nowhere")
    target, at = _word(line, at)
    if match[0] in (">&", "<&"):
        if target.text not in ("0", "1", "2"):
            raise UnreadableCommand("it redirects to something else than a standard stream")
    elif target.text != "/dev/null" or match[0] not in (">", ">>", "<"):
        raise UnreadableCommand(f"it redirects {'from' if '<' in match[0] else 'to'} a file ({match[0]})")
    return at


def _word(line: str, at: int) -> tuple[ShellWord, int]:
    """The word that starts at a character which is no blank, operator or redirection, and where it ends."""
    if line[at] in "#=":
        why = {"#": "it holds a comment (#)", "=": "a word begins with =, which some shells expand"}
        raise UnreadableCommand(why[line[at]])
    if re.compile(r"~[^/ \t\n;&|<>]").match(line, at):
        raise UnreadableCommand("it names somebody's home folder (~)")
    text, bare = "", None
    while at < len(line) and line[at] not in " \t\n;&|<>":
        match = _PIECE.match(line, at)
        if match is None:
            raise UnreadableCommand(_objection(line, at))
        plain, single, double, escaped = match.groups()
        if plain is None and escaped != "\n" and bare is None:
            bare = len(text)
        double = double and _ESCAPE.sub(r"\1", double)
        text += plain or single or double or (escaped or "").replace("\n", "")
        at = match.end()
    return ShellWord(text, len(text) if bare is None else bare), at


def _objection(line: str, at: int) -> str:
    """Why a word cannot be read on from here."""
    if line[at] == "\\":
        return "it ends with a backslash"
    inside = re.compile(r'"(?:[^"\\$`]|\\[\s\S])*([$`])').match(line, at)
    return _FORBIDDEN.get(inside[1] if inside else line[at], f"a quote ({line[at]}) is not closed")


Words: TypeAlias = tuple[str, ...]

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
    try:
        return CommandScript(text=line, commands=tuple(_line(line, depth=0)))
    except UnreadableCommand as error:
        possible = possible_commands(line)
        return CommandScript(text=line, commands=guess_words(line), objection=str(error), possible=possible)


def read_arguments(arguments: Sequence[str]) -> CommandScript:
    """A program and its arguments, which no shell will see unless the program is one."""
    text = shlex.join(arguments)
    try:
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


def _line(line: str, *, depth: int) -> Iterable[Words]:
    if depth > DEEPEST:
        raise UnreadableCommand("it is a shell in a shell in a shell")
    commands: list[Words] = []
    words: list[ShellWord] = []
    is_piped, wants = False, False  # whether we are behind a |, and whether something must still come
    for count, part in enumerate(tokens(line)):
        if count > MOST_WORDS:
            raise UnreadableCommand(f"it has more than {MOST_WORDS} words")
        if isinstance(part, ShellWord):
            words.append(part)
            continue
        if words:
            commands += _simple(words, is_piped=is_piped, depth=depth)
            if len(commands) > MOST_COMMANDS:
                raise UnreadableCommand(f"it is made of more than {MOST_COMMANDS} commands")
            words, is_piped, wants = [], part == "|", part not in (";", "\n")
        elif part != "\n":
            raise UnreadableCommand(f"nothing stands before {part}")
    if words:
        commands += _simple(words, is_piped=is_piped, depth=depth)
    elif wants:
        raise UnreadableCommand("it ends with an operator")
    if not commands:
        raise UnreadableCommand("it is empty")
    return commands


def _simple(words: list[ShellWord], *, is_piped: bool, depth: int) -> Iterable[Words]:
    if words[0].is_bare and words[0].text in RESERVED:
        raise UnreadableCommand(f"it holds the word {words[0].text!r} of the shell's language")
    while words and (variable := words[0].assigns) is not None:
        if not is_harmless(variable):
            raise UnreadableCommand(f"it sets the variable {variable}")
        words = words[1:]
    if not words:
        raise UnreadableCommand("it sets variables and runs nothing")
    return _command(tuple(word.text for word in words), is_piped=is_piped, depth=depth)


def _command(words: Words, *, is_piped: bool, depth: int) -> Iterable[Words]:
    """What is really run by one command."""
    # A line that begins with a flag would be a flag of the shell that it is given to.
    if not words or not words[0] or words[0].startswith(("-", "+", "%")):
        raise UnreadableCommand("it names no program")
    if len(words) > MOST_WORDS:
        raise UnreadableCommand(f"it has more than {MOST_WORDS} words")
    if sum(map(len, words)) > MOST_CHARACTERS:
        raise UnreadableCommand(f"it is longer than {MOST_CHARACTERS} characters")
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
        return _line(rest[1], depth=depth + 1)
    if rest and not rest[0].startswith(("-", "+")) and rest[0]:
        return [words]  # a script in a file: a rule may name it
    raise UnreadableCommand(f"{name} is called in a way that cannot be looked through")


def guess_words(line: str) -> tuple[Words, ...]:
    """What the line's words may be: with quotes taken for joints, and with quotes taken for breaks."""
    line = line[:MOST_CHARACTERS]
    joined_words = tuple(filter(None, _SEPARATORS.split(_GLUE.sub("", line), MOST_WORDS)))[:MOST_WORDS]
    broken_words = tuple(filter(None, _BREAKS.split(line, MOST_WORDS)))[:MOST_WORDS]
    return (joined_words, broken_words) if joined_words != broken_words else (joined_words,)
