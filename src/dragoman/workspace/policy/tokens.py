"""A command line as words and operators, by the rules that all the usual shells share.

Pure. Only what every shell understands in the same way, and what means the same before and after it is run,
becomes tokens. Everything else (substitutions, patterns, redirections to files, comments, control
characters) raises `UnreadableCommand`, which says why. This module does not know what programs do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

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
