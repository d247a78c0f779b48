"""Finds comments and strings, roughly, in any language. Pure, and linear in the length of the text.

A word in a comment is not a call, and a call in a string is none either: most false alarms of text rules come
from not knowing that. This is no parser. It knows how comments begin and how strings end in a family of
languages, and where it is wrong (a regular expression of JavaScript with a quote in it) a string that is not
closed ends with its line, so that one mistake stays one line long.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["comment", "string", "code"]

_DOUBLE = r'"(?:[^"\\\n]|\\.)*+"?'
# What is put into a string of Kotlin may have strings of its own.
_TEMPLATE = r'"(?:\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}|[^"\\\n]|\\.)*+"?'
_SINGLE = r"'(?:[^'\\\n]|\\.)*+'?"
_BACKTICK = r"`(?:[^`\\]|\\.)*+`?"
_TRIPLE = r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\Z)' + r"|'''(?:[^'\\]|\\.|'(?!''))*+(?:'''|\Z)"
_HASH = r"#[^\n]*"
# A hash inside of a word ($#, ${a#b}, a#b) begins no comment of a shell or of YAML.
_HASH_APART = r"(?:(?<=\s)|(?<=;)|^)#[^\n]*"
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_DASHES = r"--[^\n]*"
_MARKUP = r"<!--.*?(?:-->|\Z)"
# A character, or the beginning of a lifetime: 'a' and 'a.
_CHARACTER = r"'(?:[^'\\\n]|\\[^\n]{1,8}?)'"

_C = (_SLASHES, _DOUBLE, _CHARACTER)
_SCRIPT = (_SLASHES, _DOUBLE, _SINGLE, _BACKTICK)
_SHELL = (_HASH_APART, _DOUBLE, r"'[^']*'?")

_FAMILIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("c", "cpp", "csharp", "java", "scala", "zig", "dart", "groovy"), _C),
    "kotlin": (_SLASHES, _TRIPLE, _TEMPLATE, _CHARACTER),
    "swift": (_SLASHES, _TRIPLE, _DOUBLE, _CHARACTER),
    "rust": (_SLASHES, r'r(#+)".*?(?:"\1|\Z)', r'\bb?r"[^"]*"?', r'"(?:[^"\\]|\\.)*+"?', _CHARACTER),
    "go": (_SLASHES, _DOUBLE, _CHARACTER, r"`[^`]*`?"),
    **dict.fromkeys(("javascript", "typescript", "tsx"), _SCRIPT),
    "php": (_SLASHES, _HASH, _DOUBLE, _SINGLE),
    "css": (_SLASHES, _DOUBLE, _SINGLE),
    "json": (_SLASHES, _DOUBLE),
    "graphql": (_HASH, _TRIPLE, _DOUBLE),
    "python": (_HASH, _TRIPLE, _DOUBLE, _SINGLE),
    **dict.fromkeys(("toml", "elixir", "nix"), (_HASH, _TRIPLE, _DOUBLE, _SINGLE)),
    **dict.fromkeys(("ruby", "perl", "r"), (_HASH_APART, _DOUBLE, _SINGLE)),
    **dict.fromkeys(("bash", "make", "dockerfile"), _SHELL),
    "yaml": (_HASH_APART, _DOUBLE, r"(?:(?<=\s)|^)'[^'\n]*'?"),
    "powershell": (r"<#.*?(?:#>|\Z)", _HASH_APART, r'"(?:[^"`\n]|`.)*+"?', r"'[^'\n]*'?"),
    "hcl": (_HASH, _SLASHES, _DOUBLE),
    "ini": (r"^\s*[#;][^\n]*",),
    "sql": (_DASHES, r"/\*.*?(?:\*/|\Z)", r"'[^']*'?", _DOUBLE),
    "lua": (r"--\[\[.*?(?:\]\]|\Z)", _DASHES, _DOUBLE, _SINGLE),
    "haskell": (r"\{-.*?(?:-\}|\Z)", r"--[^\n]*", _DOUBLE),
    **dict.fromkeys(("html", "xml", "markdown"), (_MARKUP,)),
    **dict.fromkeys(("latex", "erlang"), (r"(?<!\\)%[^\n]*",)),
    "clojure": (r";[^\n]*", _DOUBLE),
}

_COMMENT_STARTS = ("#", "//", "/*", "--", "<!--", "<#", "{-", ";", "%")


@functools.cache
def _tokens(family: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of a family, compiled when its first text comes: most reviews have few languages."""
    return re.compile("|".join(family), re.DOTALL | re.MULTILINE)


class LexicalSpan(NamedTuple):
    """A comment or a string, with its marks."""

    start: int
    end: int
    kind: Kind


class LexicalSpans:
    """The comments and strings of one text."""

    def __init__(self, text: str, language: str | None) -> None:
        self._text = text
        self._language = language

    @functools.cached_property
    def spans(self) -> list[LexicalSpan]:
        """The spans, computed at the first use: rules for whole texts need none."""
        return spans(self._text, self._language)

    @functools.cached_property
    def _starts(self) -> list[int]:
        return [span.start for span in self.spans]

    def kind_at(self, offset: int) -> Kind:
        """Return the kind of the character at an offset; code if it is in no known span."""
        at = bisect_right(self._starts, offset) - 1
        return self.spans[at].kind if at >= 0 and offset < self.spans[at].end else "code"


def spans(text: str, language: str | None) -> list[LexicalSpan]:
    """Return every comment and string, in order; none for an unknown language."""
    family = _FAMILIES.get(language or "")
    if family is None:
        return []
    found: list[LexicalSpan] = []
    at = 0
    for body in _here_documents(text) if language == "bash" and "<<" in text else ():
        found += (*_spans_between(text, family, at, body.start), body)
        at = body.end
    return [*found, *_spans_between(text, family, at, len(text))]


def _spans_between(text: str, family: tuple[str, ...], start: int, end: int) -> Iterator[LexicalSpan]:
    for match in _tokens(family).finditer(text, start, end):
        if token := match[0]:
            kind: Kind = "comment" if _is_comment(token) else "string"
            yield LexicalSpan(*match.span(), kind)


_HERE = re.compile(r"^(?P<before>[^\n]*)(?<!<)<<-?[ \t]*[\"'\\]?(?P<mark>[A-Za-z_]\w*)[^\n]*\n", re.MULTILINE)
_WORD_LINE = re.compile(r"^[ \t]*(?P<word>[A-Za-z_]\w*)$", re.MULTILINE)
# What a shell is given is a program, too.
_SHELL_READS = re.compile(r"(?:^|[\s;|&(/])(?:(?:ba|da|z|k)?sh|ssh|su|sudo|nsenter|chroot)\b")


def _here_documents(text: str) -> Iterator[LexicalSpan]:
    """The lines that a script hands to another program as its input."""
    ends: dict[str, list[int]] = {}
    for line in _WORD_LINE.finditer(text):
        ends.setdefault(line["word"], []).append(line.start())
    at = 0
    while (match := _HERE.search(text, at)) is not None:
        at = match.end()
        candidates = ends.get(match["mark"], [])
        place = bisect_left(candidates, at)
        if place < len(candidates) and not match["before"].lstrip().startswith("#"):
            end = candidates[place]
            if not _SHELL_READS.search(match["before"]) and end > at:
                yield LexicalSpan(at - 1, end, "string")
            at = text.find(match["mark"], end) + len(match["mark"])


def _is_comment(token: str) -> bool:
    return token.startswith(_COMMENT_STARTS) or (
        token[0].isspace() and token.lstrip().startswith(_COMMENT_STARTS)
    )
