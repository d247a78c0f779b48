"""Splits a command line like a shell: into commands and words, with the reasons why that may be wrong.

Pure. One reader for both uses. Where it finds no `objection`, the words are exactly those that every shell
would hand on; only such a line can be allowed. Else it goes on for rules that ask or deny, and would rather
find a command too many than one too few: it follows quotes, substitutions, subshells, redirections and
here-documents. What is only known when the line runs is a mark in a word, as `globs` says, and
`is_open` says that the line might run anything at all.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from dragoman_local.workspace.policy.globs import ANY, ONE, RUN, without_marks

Words = tuple[str, ...]

MOST_CHARACTERS: Final = 16_384
"""The most characters of a line to read: nobody would check a longer one, or should wait for it."""

MOST_FOLLOWED: Final = 4096
"""The most characters of an unclear line to read on: the rest may run anything."""

MOST_READ: Final = 2000
"""The most words, blanks and operators to read. A longer line may run anything."""

_DEEPEST: Final = 5

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_BETWEEN_WORDS = re.compile(
    r"""(?P<blanks>(?:[ \t]|\\\n)+)
    |(?P<redirection>&>>?|<<<|<<-?|<>|<&|<(?!\()|>>|>&|>\||>(?!\())
    |(?P<operator>&&|\|\||;;|\|&|[;&|\n()])
    |(?P<comment>\#[^\n]*)""",
    re.VERBOSE,
)
ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)(?:\[[^]]*\])?\+?=")
_SOMEBODY = re.compile(r"~(?=[^/\s;&|<>)])")
_QUOTE = re.compile('"')
_EXPANSION = r"""
    |(?P<home>\$(?:HOME|\{HOME\})(?=["/\s;&|)]|\Z))
    |(?P<nested>\$[({])
    |(?P<backticks>`(?:\\[\s\S]|[^`\\])*`?)
    |(?P<any>\$(?:[A-Za-z_][A-Za-z_0-9]*|[0-9@*\#?$!-])?)"""
_PIECE = re.compile(
    r"""([^\s'"\\$`(){}*?\[;&|<>]+)
    |(?P<single>'[^']*')
    |(?P<double>")
    |(?P<unclosed>')
    |(?P<escape>\\[\s\S]?)
    |(?P<ansi>\$'(?:\\[\s\S]|[^'\\])*')
    |(?P<process>[<>]\()
    |(?P<braces>\{(?=[^{}\s]*(?:,|\.\.))[^{}\s]*+\})
    |(?P<run>\*)
    |(?P<one>\?|\[[!^]?[^\]\s/]{1,64}\])"""
    + _EXPANSION
    + r"|(?P<other>[^ \t\n;&|<>()])",
    re.VERBOSE,
)
"""A run without quotes comes first; then what is quoted, and what a shell replaces by something else."""

_QUOTED = re.compile(r'((?:[^"\\$`]|\\(?![$`"\\\n]))+)|(?P<escape>\\[$`"\\\n])' + _EXPANSION, re.VERBOSE)
_BRACKETS = re.compile(r"\\[\s\S]|'[^']*'|[(){}]")

_MARKS: Final = {"run": RUN, "one": ONE, "any": ANY, "ansi": ANY, "braces": ANY}
_OBJECTIONS: Final = {
    "$": "the command contains a substitution ($)",
    "`": "the command contains a substitution (`)",
    "<": "the command contains a substitution (<)",
    ">": "the command contains a substitution (>)",
    "(": "the command contains a subshell or a function",
    ")": "the command contains a subshell or a function",
    "{": "the command contains braces, which some shells expand",
    "}": "the command contains braces, which some shells expand",
    "*": "the command contains a pattern (*), which the shell replaces by file names",
    "?": "the command contains a pattern (?), which the shell replaces by file names",
    "[": "the command contains a pattern ([), which the shell replaces by file names",
    "&": "the command runs a part in the background (&)",
    ";;": "the command contains ;;",
    "|&": "the command contains |&",
}


class LineCommand(NamedTuple):
    """One command of a line, with the assignments and words before it."""

    words: Words
    is_piped: bool = False
    bodies: Words = ()
    """Texts that the line itself passes to it."""


class LineReader:
    """The commands of a line. `depth` is the number of enclosing substitutions."""

    def __init__(self, line: str, *, depth: int = 0) -> None:
        self.commands: list[LineCommand] = []
        self.objection: str | None = None
        self.is_open = False
        self._line = without_marks(line[: MOST_CHARACTERS + 1])
        self._depth = depth
        self._at = 0
        self._operator = ""
        self._words: list[str] = []
        self._targets: list[str] = []  # of redirections
        self._bodies: list[str] = []
        self._ends: list[tuple[str, bool]] = []  # the words that end here-documents, and if they are quoted
        if depth > _DEEPEST or len(self._line) > MOST_CHARACTERS:
            self._object(f"the command is longer than {MOST_CHARACTERS} characters", gives_up=True)
        for character in set(self._line):
            # Of categories that cannot be seen, or that make text look like something else.
            if character not in " \t\n" and unicodedata.category(character)[0] in "CZ":
                self._object(f"the command contains the invisible character U+{ord(character):04X}")
        self._read()

    def _object(self, why: str, *, gives_up: bool = False) -> None:
        self.objection = self.objection or why
        if gives_up or len(self._line) > MOST_FOLLOWED:
            self.is_open, self._at = True, len(self._line)

    def _read(self) -> None:
        count = 0
        while self._at < len(self._line):
            start, count = self._at, count + 1
            if count > MOST_READ:
                self._object(f"the command has more than {MOST_READ} words", gives_up=True)
            elif (match := self._take(_BETWEEN_WORDS)) is None:
                self._add_word(self._word(), self._line[start : self._at].replace("\\\n", ""))
            elif match.lastgroup == "redirection":
                self._redirect(match[0])
            elif match.lastgroup == "operator":
                self._separate(match[0])
            elif match.lastgroup == "comment":
                self._object("the command contains a comment (#)")
        if not self._words and self._operator in ("&&", "||", "|"):
            self._object("the command ends with an operator")
        self._end_command()

    def _add_word(self, word: str, spelled: str) -> None:
        if ASSIGNS.match(word) and not ASSIGNS.match(spelled) and all(map(ASSIGNS.match, self._words)):
            self._object("quotes make a program's name of what looks like an assignment")
        # Digits that touch a redirection are its descriptor.
        if not (spelled.isdecimal() and self._line[self._at : self._at + 1] in ("<", ">")):
            self._words.append(word)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The next part of the line, if it fits; it is read then."""
        match = pattern.match(self._line, self._at)
        self._at = self._at if match is None else match.end()
        return match

    def _separate(self, operator: str) -> None:
        if operator in _OBJECTIONS:
            self._object(_OBJECTIONS[operator])
        # A pattern of bash, if it is told to read them.
        self.is_open |= operator == "(" and self._line[self._at - 2 : self._at - 1] in tuple("@!+?*")
        if operator == "\n" and self._ends:
            self._take_bodies()
        if self._words or operator != "\n":
            if not self._words:
                self._object(f"nothing comes before {operator}")
            self._end_command()
            self._operator = operator

    def _end_command(self) -> None:
        if self._targets:
            self.commands.append(LineCommand((":", *self._targets)))
        if self._words:
            is_piped = self._operator in ("|", "|&")
            self.commands.append(LineCommand(tuple(self._words), is_piped, tuple(self._bodies)))
        self._words, self._bodies, self._targets = [], [], []

    # Words.

    def _word(self) -> str:
        text = ""
        if self._line[self._at] == "=":
            self._object("a word begins with =, which some shells expand")
        elif self._take(_SOMEBODY):
            self._object("the command names a home folder (~)")
            text = ANY
        return self._text(_PIECE, text)

    def _text(self, pattern: re.Pattern[str], text: str) -> str:
        """A text, with all that follows it up to its end."""
        while match := self._take(pattern):
            text += match[0] if match.lastgroup is None else self._piece(match.lastgroup, match[0], text)
        return text

    def _piece(self, kind: str, piece: str, before: str) -> str:
        if piece[0] in _OBJECTIONS:
            self._object(_OBJECTIONS[piece[0]])
        match kind:
            case "single":
                return piece[1:-1]
            case "double":
                text = self._text(_QUOTED, before)[len(before) :]
                if not self._take(_QUOTE):
                    self._object('a quote (") is not closed', gives_up=True)
                return text
            case "unclosed":
                self._object("a quote (') is not closed", gives_up=True)
            case "escape":
                if piece == "\\":
                    self._object("the command ends with a backslash")
                return piece[1:].replace("\n", "")
            case "ansi" if "\\" not in piece:
                return piece[2:-1]
            case "home":
                return ANY if before else "~"
            case "backticks":
                return self._read_inside(re.sub(r"\\([`$\\])", r"\1", piece.strip("`")))
            case "nested" | "process":
                return self._nested(piece[-1])
        return _MARKS.get(kind, piece)

    def _nested(self, opens: str) -> str:
        """Read the content of brackets, up to the closing one; quotes are passed over."""
        start, depth, closes = self._at, 1, {"(": ")", "{": "}"}[opens]
        end = len(self._line)
        for match in _BRACKETS.finditer(self._line, start):
            depth += (match[0] == opens) - (match[0] == closes)
            if depth == 0:
                end = match.start()
                break
        self._at = end + 1
        inside = self._line[start:end]
        return self._read_inside(inside) if opens == "(" or set("$`") & set(inside) else ANY

    def _read_inside(self, text: str) -> str:
        inner = LineReader(text, depth=self._depth + 1)
        self.commands += inner.commands
        self.is_open |= inner.is_open
        return ANY

    # Redirections.

    def _redirect(self, operator: str) -> None:
        self._take(_BLANKS)
        start = self._at
        target = self._word() if start < len(self._line) else ""
        if operator in ("<<", "<<-"):
            self._ends.append((target, bool(set("'\"\\") & set(self._line[start : self._at]))))
        is_stream = operator in (">&", "<&") and target in ("0", "1", "2")
        if is_stream or (operator in (">", ">>", "<") and target == "/dev/null"):
            return
        self._object(f"the command {'reads from' if '<' in operator else 'writes to'} a file ({operator})")
        if operator in ("<<<", "<", "<>"):
            self._bodies.append(target)
        if not operator.startswith("<<") and target not in ("", "-"):
            self._targets.append(target)

    def _take_bodies(self) -> None:
        for end, is_quoted in self._ends:
            lines = self._line[self._at :].removesuffix("\n").split("\n")
            size = next((at for at, line in enumerate(lines) if line.lstrip("\t") == end), len(lines))
            body = "\n".join(lines[:size])
            self._at += len("\n".join(lines[: size + 1])) + 1
            self._bodies.append(body)
            if not is_quoted and ("$" in body or "`" in body):
                self._read_inside(f'"{body.replace(chr(34), " ")}"')
        self._ends = []
