"""A command line as words and operators, by the rules that all the usual shells share.

Pure. Only what every shell understands in the same way, and what means the same before and after it is run,
becomes tokens. Everything else (substitutions, patterns, redirections to files, comments, control
characters) raises `UnreadableCommand`, which says why. This module does not know what programs do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

MOST_CHARACTERS: Final = 16_384
"""Longer lines are not read: nobody would check them, and nobody should wait for it."""

Operator: TypeAlias = Literal[";", "&&", "||", "|", "\n"]

_REDIRECTION = re.compile(r"<<<|<<-?|<>|<&|<|>>|>&|>\||>")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\+?=")
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=^\]-]+")

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


Token: TypeAlias = ShellWord | Operator


def tokens(line: str) -> Iterator[Token]:
    """The words and operators of a line; redirections that lead nowhere are left out."""
    if len(line) > MOST_CHARACTERS:
        raise UnreadableCommand(f"it is longer than {MOST_CHARACTERS} characters")
    _check_characters(line)
    yield from _TokenReader(line).read()


def _check_characters(line: str) -> None:
    for character in set(line):
        if character in " \t\n" or " " <= character <= "~":
            continue
        # Of categories that cannot be seen, or that make text look like something else.
        if unicodedata.category(character)[0] in "CZ":
            raise UnreadableCommand(f"it holds the character U+{ord(character):04X}, which cannot be seen")


class _TokenReader:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def read(self) -> Iterator[Token]:
        while True:
            self._skip_blanks()
            rest = self._line[self._at : self._at + 2]
            if not rest:
                return
            if rest[0] in "<>":
                self._redirection()
            elif rest[0] in ";&|\n":
                yield self._operator(rest)
            else:
                word = self._word()
                # Digits that touch a redirection are its descriptor.
                if (
                    word.text.isdecimal()
                    and word.is_bare
                    and self._line[self._at : self._at + 1] in ("<", ">")
                ):
                    self._redirection()
                else:
                    yield word

    def _skip_blanks(self) -> None:
        while True:
            if self._line.startswith((" ", "\t"), self._at):
                self._at += 1
            elif self._line.startswith("\\\n", self._at):
                self._at += 2
            else:
                return

    def _operator(self, rest: str) -> Operator:
        if rest == ";;" or rest == "|&":
            raise UnreadableCommand(f"it holds {rest}")
        if rest == "&&":
            self._at += 2
            return "&&"
        if rest == "||":
            self._at += 2
            return "||"
        self._at += 1
        if rest[0] == "&":
            raise UnreadableCommand("it runs something in the background (&)")
        return ";" if rest[0] == ";" else "|" if rest[0] == "|" else "\n"

    def _redirection(self) -> None:
        match = _REDIRECTION.match(self._line, self._at)
        assert match is not None
        self._at = match.end()
        if match[0].startswith("<<"):
            raise UnreadableCommand("it holds text for a program's input (<<)")
        self._skip_blanks()
        if self._at >= len(self._line) or self._line[self._at] in ";&|\n<>":
            raise UnreadableCommand("a redirection leads nowhere")
        target = self._word()
        if match[0] in (">&", "<&"):
            if target.text not in ("0", "1", "2"):
                raise UnreadableCommand("it redirects to something else than a standard stream")
        elif target.text != "/dev/null" or match[0] not in (">", ">>", "<"):
            raise UnreadableCommand(f"it redirects {'from' if '<' in match[0] else 'to'} a file ({match[0]})")

    def _word(self) -> ShellWord:
        """Starts at a character that is no blank, operator or redirection."""
        start = self._line[self._at]
        if start == "#":
            raise UnreadableCommand("it holds a comment (#)")
        if start == "=":
            raise UnreadableCommand("a word begins with =, which some shells expand")
        text: list[str] = []
        bare: int | None = None
        while self._at < len(self._line) and self._line[self._at] not in " \t\n;&|<>":
            plain = _PLAIN.match(self._line, self._at)
            if plain:
                text.append(plain[0])
                self._at = plain.end()
                continue
            piece, is_quoted = self._piece(first=not text and bare is None)
            if is_quoted and bare is None:
                bare = sum(map(len, text))
            text.append(piece)
        whole = "".join(text)
        return ShellWord(whole, len(whole) if bare is None else bare)

    def _piece(self, *, first: bool) -> tuple[str, bool]:
        """One character, or one quoted run, and whether it was quoted."""
        character = self._line[self._at]
        if character == "'":
            return self._single(), True
        if character == '"':
            return self._double(), True
        if character == "\\":
            return self._read_escape()
        if character in _FORBIDDEN:
            raise UnreadableCommand(_FORBIDDEN[character])
        self._at += 1
        if character == "~" and first:
            after = self._line[self._at : self._at + 1]
            if after and after not in "/ \t\n;&|<>":
                raise UnreadableCommand("it names somebody's home folder (~)")
        return character, False

    def _single(self) -> str:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            raise UnreadableCommand("a quote (') is not closed")
        text = self._line[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double(self) -> str:
        text: list[str] = []
        self._at += 1
        while True:
            character = self._line[self._at : self._at + 1]
            if not character:
                raise UnreadableCommand('a quote (") is not closed')
            self._at += 1
            if character == '"':
                return "".join(text)
            if character in "$`":
                raise UnreadableCommand(_FORBIDDEN[character])
            if character == "\\" and self._line[self._at : self._at + 1] in ("$", "`", '"', "\\", "\n"):
                character = self._line[self._at].replace("\n", "")
                self._at += 1
            text.append(character)

    def _read_escape(self) -> tuple[str, bool]:
        after = self._line[self._at + 1 : self._at + 2]
        if not after:
            raise UnreadableCommand("it ends with a backslash")
        self._at += 2
        # A backslash before the end of a line joins two lines, and quotes nothing.
        return ("", False) if after == "\n" else (after, True)
