"""Reads a line that leaves doubts: every command that it might run, with marks for what nobody knows yet.

Pure. `shell` reads what is certain, and only that can be allowed. This reader is for rules that ask or deny:
it follows quotes, substitutions, subshells, loops, redirections, here-documents and programs that run others,
and would rather name a command too many than one too few. What is only known when the line runs (a variable,
what a command prints) is a mark in a word, as `unknown` says; `(ANY,)` is a command that nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from dragoman_local.workspace.policy.partial_words import (
    ANY,
    ONE,
    RUN,
    has_unknown_part,
    is_known,
    without_marks,
)
from dragoman_local.workspace.policy.program_calls import read_call
from dragoman_local.workspace.policy.programs import (
    BUILTINS,
    LOOKED_THROUGH,
    RUNNERS,
    SHELLS,
    is_harmless,
    is_interpreter,
    name_of,
)

LooseWords = tuple[str, ...]

MOST_CHARACTERS: Final = 4096
MOST_COMMANDS: Final = 100
MOST_WORDS: Final = 1000
"""In a line, and in all its commands together. Beyond that, a line may run anything."""

_DEEPEST: Final = 5
_MOST_STARTS: Final = 48

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+|#[^\n]*")
_REDIRECTION = re.compile(r"(&>>?|<<<|<<-?|<>|<&|<(?!\()|>>|>&|>\||>(?!\())[ \t]*")
_SEPARATOR = re.compile(r"[\n;&|()]")
_SUBSTITUTION = re.compile(r"[<>]\(")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[0-9@*#?$!-]")
_ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)(\[[^]]*\])?\+?=")
_BRACES = re.compile(r"\{[^{}\s]*+\}")
_SET = re.compile(r"\[[!^]?[^\]\s/]{1,64}\]")
_SINGLE = re.compile(r"'([^']*)('?)")
_BACKTICKS = re.compile(r"`((?:\\[\s\S]|[^`\\])*\\?)`?")
_BRACKETS = re.compile(r"\\[\s\S]|'[^']*'|[(){}]")
_WORD_ENDS = frozenset(("", "/", " ", "\t", "\n", ";", "&", "|", ")"))

# They run words that come from elsewhere behind those that are given.
_ADDERS: Final = frozenset({"xargs", "parallel", "find", "fd", "entr"})
# They change what words mean later in the line.
_CHANGERS: Final = frozenset(
    {
        *("alias", "enable", "hash", "shopt", "bind", "complete", "setopt", "unsetopt", "zmodload"),
        *("autoload", "emulate", "function", "fc", "history"),
    }
)
_OPENERS: Final = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{"))
_CLOSERS: Final = frozenset(("fi", "done", "esac", "}", ";;", "in"))


def possible_commands(line: str) -> tuple[LooseWords, ...]:
    """What a line for a shell might run."""
    command_set = _CommandSet()
    if len(line) > MOST_CHARACTERS:
        command_set.add_anything()
    else:
        _LooseReader(without_marks(line), command_set, depth=0).read()
    return command_set.commands()


@lru_cache(maxsize=64)
def possible_in_arguments(words: LooseWords) -> tuple[LooseWords, ...]:
    """What a program might run that is started with these words, without a shell."""
    command_set = _CommandSet()
    _add(tuple(without_marks(word) for word in words), command_set, depth=0)
    return command_set.commands()


class _CommandSet:
    """The commands, each once."""

    def __init__(self) -> None:
        self._commands: dict[LooseWords, None] = {}
        self._words_left = MOST_WORDS

    @property
    def is_full(self) -> bool:
        return self._words_left <= 0 or len(self._commands) >= MOST_COMMANDS

    def add(self, words: LooseWords) -> bool:
        """Whether it is new; what is known already need not be looked into again."""
        self._words_left -= len(words)
        if self.is_full or words in self._commands:
            return False
        self._commands[words] = None
        return True

    def add_anything(self) -> None:
        self._commands[(ANY,)] = None

    def commands(self) -> tuple[LooseWords, ...]:
        if self.is_full:
            self.add_anything()
        return tuple(self._commands)


class _LooseReader:
    def __init__(self, line: str, commands: _CommandSet, *, depth: int) -> None:
        self._line = line
        self._on_command = commands
        self._depth = depth
        self._at = 0
        self._words: list[str] = []
        self._targets: list[str] = []  # of redirections; they may stand before the command's own words
        self._is_piped = False
        self._waiting: list[
            tuple[str, bool]
        ] = []  # here-documents: the word that ends each, and if it is quoted
        self._bodies: list[str] = []
        self._knows_home = re.search(r"\bHOME\+?=", line) is None

    def read(self) -> None:
        if self._depth > _DEEPEST:
            self._on_command.add_anything()
            return
        while self._at < len(self._line) and not self._on_command.is_full:
            if match := self._take(_REDIRECTION):
                self._redirect(match[1])
            elif match := self._take(_SEPARATOR):
                self._separate(match[0])
            elif not self._take(_BLANKS):
                word = self._word()
                if not (word.isdecimal() and self._line[self._at : self._at + 1] in ("<", ">")):
                    self._words.append(word)
        self._end_command()

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What stands here, if it fits; it is read then."""
        match = pattern.match(self._line, self._at)
        self._at = self._at if match is None else match.end()
        return match

    def _separate(self, character: str) -> None:
        if character == "\n" and self._waiting:
            self._take_bodies()
        self._end_command()
        self._is_piped = character == "|" and self._line[self._at : self._at + 1] != "|"

    def _end_command(self) -> None:
        words, bodies, targets = self._words, self._bodies, self._targets
        self._words, self._bodies, self._targets = [], [], []
        if targets:
            self._on_command.add((":", *targets))
        _add_simple(words, self._on_command, depth=self._depth, is_piped=self._is_piped, bodies=bodies)
        self._is_piped = False

    # Words.

    def _word(self) -> str:
        text = ""
        while self._at < len(self._line):
            character = self._line[self._at]
            if character == "(" and text[-1:] in tuple("@!+" + ONE + RUN):
                self._at += 1  # a pattern of bash, if it is told to read them
                text = text[:-1] + self._nested("(", ")")
            elif not text and self._take(_SUBSTITUTION):
                text = self._nested("(", ")")
            elif character in " \t\n;&|<>()":
                break
            else:
                text += self._piece(text)
        return text

    def _piece(self, before: str) -> str:
        if match := self._take(_SINGLE):
            if not match[2]:
                self._on_command.add_anything()  # a quote that is not closed
            return match[1]
        if (braces := _BRACES.match(self._line, self._at)) and re.search(r",|\.\.", braces[0]):
            self._at = braces.end()
            return ANY
        if self._take(_SET):
            return ONE
        character = self._line[self._at]
        if character in "$`":
            return self._expansion(before)
        self._at += 1
        after = self._line[self._at : self._at + 1]
        if character == '"':
            return self._double(before)
        if character == "\\":
            self._at += 1
            return after.replace("\n", "")
        if character == "~" and not before:
            return "~" if after in _WORD_ENDS else ANY
        return {"*": RUN, "?": ONE}.get(character, character)

    def _double(self, before: str) -> str:
        text = ""
        while self._at < len(self._line):
            character, after = self._line[self._at], self._line[self._at + 1 : self._at + 2]
            if character in "$`":
                text += self._expansion(before + text)
                continue
            self._at += 1
            if character == '"':
                return text
            if character == "\\" and after in ("$", "`", '"', "\\", "\n"):
                self._at += 1
                character = after.replace("\n", "")
            text += character
        self._on_command.add_anything()  # a quote that is not closed
        return text

    def _expansion(self, before: str) -> str:
        if match := self._take(_BACKTICKS):
            return self._read_inside(re.sub(r"\\([`$\\])", r"\1", match[1]))
        self._at += 1
        after = self._line[self._at : self._at + 1]
        if match := self._take(_SINGLE):
            if not match[2]:
                self._on_command.add_anything()
            return ANY if "\\" in match[1] else match[1]
        if match := self._take(_NAME):
            return self._variable(match[0], before)
        if after in ("(", "{", '"'):
            self._at += 1
        if after == "{":
            end = _find_closing(self._line, self._at, "{", "}")
            name, self._at = self._line[self._at : end], end + 1
            if not _NAME.fullmatch(name):
                self._read_inside(name)
            return self._variable(name, before)
        return self._nested("(", ")") if after == "(" else self._double(before) if after == '"' else "$"

    def _variable(self, name: str, before: str) -> str:
        ends = self._line[self._at : self._at + 1] in (*_WORD_ENDS, '"')
        return "~" if not before and ends and name == "HOME" and self._knows_home else ANY

    def _nested(self, opens: str, closes: str) -> str:
        """Reads what stands in brackets, up to the one that closes them."""
        start, self._at = self._at, _find_closing(self._line, self._at, opens, closes) + 1
        return self._read_inside(self._line[start : self._at - 1])

    def _read_inside(self, text: str) -> str:
        _LooseReader(text, self._on_command, depth=self._depth + 1).read()
        return ANY

    # Redirections.

    def _redirect(self, operator: str) -> None:
        start = self._at
        target = self._word()
        if operator in ("<<", "<<-"):
            self._waiting.append((target, bool(set("'\"\\") & set(self._line[start : self._at]))))
        elif operator == "<<<":
            self._bodies.append(target)
        elif target not in ("", "-", "0", "1", "2", "/dev/null"):
            self._targets.append(target)

    def _take_bodies(self) -> None:
        for end, is_quoted in self._waiting:
            lines = self._line[self._at :].removesuffix("\n").split("\n")
            size = next((at for at, line in enumerate(lines) if line.lstrip("\t") == end), len(lines))
            body = "\n".join(lines[:size])
            self._at += len("\n".join(lines[: size + 1])) + 1
            self._bodies.append(body)
            if not is_quoted and ("$" in body or "`" in body):
                self._read_inside(f'"{body.replace(chr(34), " ")}"')
        self._waiting = []


def _find_closing(line: str, at: int, opens: str, closes: str) -> int:
    """Where a bracket is closed; quotes are passed over."""
    depth = 1
    for match in _BRACKETS.finditer(line, at):
        depth += (match[0] == opens) - (match[0] == closes)
        if depth == 0:
            return match.start()
    return len(line)


# Commands.


def _add_simple(
    words: list[str], commands: _CommandSet, *, depth: int, is_piped: bool = False, bodies: Sequence[str] = ()
) -> None:
    """One command of a line: its words without assignments and words of the shell's language before it."""
    at = 0
    while at < len(words):
        assignment = _ASSIGNS.match(words[at])
        if assignment is not None:
            if not is_harmless(assignment[1]):
                commands.add_anything()
                _LooseReader(words[at][assignment.end() :], commands, depth=depth + 1).read()
        elif words[at] not in _OPENERS and words[at] not in _CLOSERS:
            break
        at += 1
    # Assignments name files as well: they stay as words of a command that does nothing.
    if at and any("=" in word for word in words[:at]):
        commands.add((":", *words[:at]))
    _add(tuple(words[at:]), commands, depth=depth, is_piped=is_piped, bodies=bodies)


def _add(
    words: LooseWords,
    commands: _CommandSet,
    *,
    depth: int,
    is_piped: bool = False,
    bodies: Sequence[str] = (),
) -> None:
    """A command, and whatever it might run besides."""
    if not words:
        return
    if depth > _DEEPEST:
        commands.add_anything()
        return
    if (not commands.add(words) and not is_piped and not bodies) or commands.is_full:
        return
    name = name_of(words[0])
    if has_unknown_part(words[0]) and len(words) > 1:
        _add(words[1:], commands, depth=depth + 1)  # it may turn out to be nothing
    if not is_known(name):
        return
    if name in SHELLS or is_interpreter(name):
        _add_interpreted(words, commands, depth=depth, is_piped=is_piped, bodies=bodies)
    call = read_call(words)
    if call.carried is not None:
        _add(call.operands, commands, depth=depth + 1)
    if name in BUILTINS or name in LOOKED_THROUGH or (name in RUNNERS and call.doubt is not None):
        _add_carried(words, commands, depth=depth, bodies=bodies)
    if name.startswith("git-"):
        _add(("git", name[4:], *words[1:]), commands, depth=depth + 1)
    # An option or an alias that nobody knows may run anything; so may a word that changes what others mean.
    if name in _CHANGERS or (call.is_known and call.doubt is not None and name not in SHELLS):
        commands.add_anything()


def _add_interpreted(
    words: LooseWords, commands: _CommandSet, *, depth: int, is_piped: bool, bodies: Sequence[str]
) -> None:
    """A shell or an interpreter: what it reads, what it is given as text, what is fed to it."""
    is_shell = name_of(words[0]) in SHELLS
    flags = [word.startswith(("-", "+")) for word in words[1:]]
    if is_piped or bodies or (all(flags) if is_shell else any(flags) and read_call(words).doubt is not None):
        commands.add_anything()
    _add_texts([*bodies, *(word for word in words[1:] if is_shell)], commands, depth=depth)
    if is_shell:
        _add_starts(words, commands, depth=depth)
    if is_shell and any(has_unknown_part(word) for word in words[1:]):
        commands.add_anything()


def _add_carried(words: LooseWords, commands: _CommandSet, *, depth: int, bodies: Sequence[str]) -> None:
    """A program that runs its arguments: any of them may be the beginning of a command, or a whole line."""
    _add_starts((*words, ANY) if name_of(words[0]) in _ADDERS else words, commands, depth=depth)
    if name_of(words[0]) == "eval":
        _add_texts([" ".join(words[1:])], commands, depth=depth)
    _add_texts([*bodies, *words[1:]], commands, depth=depth)
    if any(word.startswith("-") and " " in word for word in words[1:]):
        commands.add_anything()  # a line that is attached to a flag


def _add_starts(words: LooseWords, commands: _CommandSet, *, depth: int) -> None:
    if len(words) > _MOST_STARTS:
        commands.add_anything()
    for at in range(1, min(len(words), _MOST_STARTS)):
        _add_simple(list(words[at:]), commands, depth=depth + 1)


def _add_texts(texts: Iterable[str], commands: _CommandSet, *, depth: int) -> None:
    for text in texts:
        if text == ANY:
            commands.add_anything()
        elif any(character in text for character in " \t\n;&|()`$<>"):
            _LooseReader(text, commands, depth=depth + 1).read()
