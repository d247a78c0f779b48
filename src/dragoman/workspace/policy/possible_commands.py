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

from dragoman.workspace.policy.partial_words import ANY, ONE, RUN, has_unknown_part, is_known, without_marks
from dragoman.workspace.policy.program_calls import read_call
from dragoman.workspace.policy.programs import (
    BUILTINS,
    LOOKED_THROUGH,
    RUNNERS,
    SHELLS,
    is_interpreter,
    name_of,
    runs_code,
)

LooseWords = tuple[str, ...]

MOST_CHARACTERS: Final = 4096
MOST_COMMANDS: Final = 100
MOST_WORDS: Final = 1000
"""In a line, and in all its commands together. Beyond that, a line may run anything."""

_DEEPEST: Final = 5
_MOST_STARTS: Final = 48

_REDIRECTION = re.compile(r"&>>?|<<<|<<-?|<>|<&|<|>>|>&|>\||>")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[0-9@*#?$!-]")
_ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)(\[[^]]*\])?\+?=")
_BRACES = re.compile(r"\{[^{}\s]*+\}")
_SET = re.compile(r"\[[!^]?[^\]\s/]{1,64}\]")

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
            character = self._line[self._at]
            rest = self._line[self._at : self._at + 2]
            if character in " \t" or rest == "\\\n":
                self._at += 2 if rest == "\\\n" else 1
            elif rest in ("<(", ">("):
                self._words.append(self._word())
            elif character in "<>" or rest == "&>":
                self._redirect()
            elif character in "\n;&|()":
                self._separate(character)
            elif character == "#":
                end = self._line.find("\n", self._at)
                self._at = len(self._line) if end < 0 else end
            else:
                word = self._word()
                if not (word.isdecimal() and self._line[self._at : self._at + 1] in ("<", ">")):
                    self._words.append(word)
        self._end_command()

    def _separate(self, character: str) -> None:
        self._at += 1
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
            if character in "(" and text[-1:] in tuple("@!+" + ONE + RUN):
                self._read_nested(self._at + 1)  # a pattern of bash, if it is told to read them
                text = text[:-1] + ANY
            elif character in "<>" and not text and self._line[self._at + 1 : self._at + 2] == "(":
                self._read_nested(self._at + 2)
                text += ANY
            elif character in " \t\n;&|<>()":
                break
            else:
                text += self._piece(text)
        return text

    def _piece(self, before: str) -> str:
        character = self._line[self._at]
        if character == "'":
            return self._single()
        if character == '"':
            return self._double(before)
        if character == "\\":
            after = self._line[self._at + 1 : self._at + 2]
            self._at += 2
            return "" if after == "\n" else after
        if character == "$":
            return self._dollar(before)
        if character == "`":
            return self._backticks()
        braces = _BRACES.match(self._line, self._at)
        if braces is not None and ("," in braces[0] or ".." in braces[0]):
            self._at = braces.end()
            return ANY
        if match := _SET.match(self._line, self._at):
            self._at = match.end()
            return ONE
        self._at += 1
        if character == "~" and not before:
            after = self._line[self._at : self._at + 1]
            return "~" if after in ("", "/", " ", "\t", "\n", ";", "&", "|", ")") else ANY
        return {"*": RUN, "?": ONE}.get(character, character)

    def _single(self) -> str:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            self._on_command.add_anything()
            end = len(self._line)
        text = self._line[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double(self, before: str) -> str:
        text = ""
        self._at += 1
        while self._at < len(self._line):
            character = self._line[self._at]
            if character == '"':
                self._at += 1
                return text
            if character == "$":
                text += self._dollar(before + text)
            elif character == "`":
                text += self._backticks()
            elif character == "\\" and self._line[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                text += self._line[self._at + 1].replace("\n", "")
                self._at += 2
            else:
                text += character
                self._at += 1
        self._on_command.add_anything()  # a quote that is not closed
        return text

    def _dollar(self, before: str) -> str:
        after = self._line[self._at + 1 : self._at + 2]
        if after == "(":
            self._read_nested(self._at + 2)
            return ANY
        if after == "{":
            end = _find_closing(self._line, self._at + 2, "{", "}")
            name = self._line[self._at + 2 : end]
            self._at = end + 1
            if not _NAME.fullmatch(name):
                _LooseReader(name, self._on_command, depth=self._depth + 1).read()
            return self._variable(name, before)
        if after == "'":
            self._at += 1
            text = self._single()
            return ANY if "\\" in text else text
        if after == '"':
            self._at += 1
            return self._double(before)
        if match := _NAME.match(self._line, self._at + 1):
            self._at = match.end()
            return self._variable(match[0], before)
        self._at += 1
        return "$"

    def _variable(self, name: str, before: str) -> str:
        ends = self._line[self._at : self._at + 1] in ("", "/", '"', " ", "\t", "\n", ";", "&", "|", ")")
        if not before and ends and name == "HOME" and self._knows_home:
            return "~"
        return ANY

    def _backticks(self) -> str:
        end = self._at + 1
        while end < len(self._line) and self._line[end] != "`":
            end += 2 if self._line[end] == "\\" else 1
        inner = re.sub(r"\\([`$\\])", r"\1", self._line[self._at + 1 : end])
        _LooseReader(inner, self._on_command, depth=self._depth + 1).read()
        self._at = end + 1
        return ANY

    def _read_nested(self, start: int) -> None:
        """Reads what stands in parentheses, up to the one that closes them."""
        end = _find_closing(self._line, start, "(", ")")
        _LooseReader(self._line[start:end], self._on_command, depth=self._depth + 1).read()
        self._at = end + 1

    # Redirections.

    def _redirect(self) -> None:
        match = _REDIRECTION.match(self._line, self._at)
        assert match is not None
        self._at = match.end()
        while self._line[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        start = self._at
        target = self._word()
        if match[0] in ("<<", "<<-"):
            self._waiting.append((target, bool(set("'\"\\") & set(self._line[start : self._at]))))
        elif match[0] == "<<<":
            self._bodies.append(target)
        elif target not in ("", "-", "0", "1", "2", "/dev/null"):
            self._targets.append(target)

    def _take_bodies(self) -> None:
        for end, is_quoted in self._waiting:
            lines: list[str] = []
            while self._at < len(self._line):
                end_of_line = self._line.find("\n", self._at)
                end_of_line = len(self._line) if end_of_line < 0 else end_of_line
                line = self._line[self._at : end_of_line]
                self._at = end_of_line + 1
                if line.lstrip("\t") == end:
                    break
                lines.append(line)
            body = "\n".join(lines)
            self._bodies.append(body)
            if not is_quoted and ("$" in body or "`" in body):
                _LooseReader(
                    f'"{body.replace(chr(34), " ")}"', self._on_command, depth=self._depth + 1
                ).read()
        self._waiting = []


def _find_closing(line: str, at: int, opens: str, closes: str) -> int:
    """Where a bracket is closed; quotes are passed over."""
    depth = 1
    while at < len(line):
        character = line[at]
        if character == "\\":
            at += 1
        elif character == "'":
            at = max(at, line.find("'", at + 1))
        elif character == opens:
            depth += 1
        elif character == closes:
            depth -= 1
            if depth == 0:
                return at
        at += 1
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
            if runs_code(assignment[1]):
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
