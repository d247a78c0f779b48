"""The grammar of scripts: lines of words, and blocks by indentation.

    on prompt "delete *"            a verb, then words; quotes are JSON's
      ask "Delete it" kind=delete   name=value is an option
        allowed                     what is indented belongs to the line above
          say "Gone."
      # a comment

A word is bare, a JSON string in double quotes, or a JSON object or array. The grammar does not know any verb;
what they mean is `steps`' business. `render` writes statements back, so that a script can be changed by a
program and still be read by a person.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dragoman.errors import LocalMistake
from dragoman.wire.envelope import Json, JsonObject

INDENT = "  "

_OPTION = re.compile(r"([a-z_]+)=", re.ASCII)
_BARE = re.compile(r"[^\s\"\[\]{}]+")
_decoder = json.JSONDecoder()


class ScriptError(LocalMistake):
    """A script that can't be read, or contradicts itself.

        try:
            Script.parse("on prompt\\n  sing")
        except ScriptError as error:
            print(error.line, error.why)

    It is raised when the script is read, before anything is played.
    """

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line
        self.why = why


@dataclass(frozen=True, slots=True)
class Statement:
    """One line, and the indented lines below it."""

    verb: str
    words: tuple[Json, ...] = ()
    """Strings, and any JSON value."""
    options: Mapping[str, Json] = field(default_factory=dict)
    body: tuple[Statement, ...] = ()
    line: int = 0


def parse(text: str) -> tuple[Statement, ...]:
    """Parse the statements of a script; raises `ScriptError`. All lines may be indented, as in a test."""
    # Not `splitlines`: U+2028 and its kind may stand in quotes.
    numbered_lines = enumerate(text.replace("\r\n", "\n").split("\n"), 1)
    lines = deque(
        _split(number, line)
        for number, line in numbered_lines
        if line.strip() and not line.lstrip().startswith("#")
    )
    statements = _block(lines, depth=lines[0][0] if lines else 0)
    if lines:
        raise ScriptError(lines[0][1].line, "indented less than the first line")
    return statements


def render(statements: Iterable[Statement], *, depth: int = 0) -> str:
    """Return the same statements as text."""
    return "".join(_render(statement, depth) for statement in statements)


Lines = deque[tuple[int, Statement]]


def _block(lines: Lines, *, depth: int) -> tuple[Statement, ...]:
    """Take the statements that are indented by `depth`, and what belongs to them."""
    statements: list[Statement] = []
    while lines and lines[0][0] == depth:
        _, head = lines.popleft()
        body: tuple[Statement, ...] = ()
        if lines and lines[0][0] > depth:
            body = _block(lines, depth=lines[0][0])
        if lines and lines[0][0] > depth:
            raise ScriptError(lines[0][1].line, "its indentation fits no line above")
        statements.append(replace(head, body=body))
    return tuple(statements)


def _split(number: int, line: str) -> tuple[int, Statement]:
    if "\t" in line[: len(line) - len(line.lstrip())]:
        raise ScriptError(number, "indent with spaces, not with tabs")
    indent = len(line) - len(line.lstrip())
    words: list[Json] = []
    options: JsonObject = {}
    at = indent
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        option = _OPTION.match(line, at)
        value, at = _word(number, line, option.end() if option else at)
        if option:
            options[option[1]] = value
        else:
            words.append(value)
        if at < len(line) and not line[at].isspace():
            raise ScriptError(number, f"a space is missing before {line[at:]!r}")
    if not words or not isinstance(words[0], str):
        raise ScriptError(number, "a line begins with a verb")
    return indent, Statement(words[0], tuple(words[1:]), options, line=number)


def _word(number: int, line: str, at: int) -> tuple[Json, int]:
    if line[at : at + 1] in ('"', "{", "["):
        try:
            return _decoder.raw_decode(line, at)
        except json.JSONDecodeError as error:
            raise ScriptError(number, f"column {error.pos + 1}: {error.msg}") from None
    bare = _BARE.match(line, at)
    if bare is None:
        raise ScriptError(number, f"column {at + 1}: a word was expected")
    return bare[0], bare.end()


def _render(statement: Statement, depth: int) -> str:
    words = [statement.verb, *map(_text, statement.words)]
    words += [f"{name}={_text(value)}" for name, value in statement.options.items()]
    return f"{INDENT * depth}{' '.join(words)}\n{render(statement.body, depth=depth + 1)}"


def _text(word: object) -> str:
    if isinstance(word, str) and _BARE.fullmatch(word) and not _OPTION.match(word) and word[0] != "#":
        return word
    return json.dumps(word, ensure_ascii=False)
