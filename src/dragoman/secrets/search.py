"""Finds the secrets of a text: by their looks, by the name before them, by the place in which they stand.

`find` is the one search of the project: journal, audit log, recordings, the reviewer's mask and the hub's
views differ only in what they put in place of a span. It takes decoded text, with JSON in it or JSON in JSON.

`has_hint` says whether a closer look can find anything. It takes text as it stands in a frame, too, and costs
a few microseconds for a kilobyte of prose. Without a hint `find` finds nothing, so callers may stop there.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from dragoman.secrets.named import named_hints, named_spans
from dragoman.secrets.names import REDACTED, is_telling
from dragoman.secrets.places import (
    FLAG_NAME,
    command_spans,
    flag_spans,
    login_spans,
    manifest_spans,
    scheme_spans,
)
from dragoman.secrets.shapes import SHAPES, KnownShape

ROUNDS = 8
"""How often a text is searched again after something was taken out: what is left may make a new secret."""


class SecretSpan(NamedTuple):
    """Where a secret stands, and of what kind it is."""

    start: int
    end: int
    kind: str


_RUN = b"a" * 16
_RUN_TABLE = bytes(
    97 if code < 128 and (chr(code).isalnum() or chr(code) in "_-") else 32 for code in range(256)
)
_LONG_RUN = re.compile(r"[\w./~:+$=,@%-]{16,}+", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_CRYPT = re.compile(r"\$(?:2[aby]|[156y]|apr1|argon2\w{1,2})\$", re.ASCII)
_ESCAPED = re.compile(r"\\u00[2-7]", re.ASCII)


@functools.cache
def _shapes_by_word() -> tuple[
    re.Pattern[str], re.Pattern[str], re.Pattern[str], dict[str, list[KnownShape]]
]:
    """The words of all rows as one pattern, the long and the short ones alone, and the rows of each word."""
    by_word: dict[str, list[KnownShape]] = {}
    for shape in SHAPES:
        by_word.setdefault(shape.word, []).append(shape)
    short = [word for word in sorted(by_word) if len(word) <= 3 and word != "hf_"]
    long = [word for word in sorted(by_word) if word not in short]
    return re.compile(_tree(sorted(by_word))), re.compile(_tree(long)), re.compile(_tree(short)), by_word


def _tree(words: list[str]) -> str:
    """A pattern of the words that looks at each letter once."""
    branches: dict[str, list[str]] = {}
    for word in words:
        branches.setdefault(word[0], []).append(word[1:])
    parts = []
    for letter, rests in branches.items():
        longer = [rest for rest in rests if rest]
        deeper = f"(?:{_tree(longer)}){'?' if len(longer) < len(rests) else ''}" if longer else ""
        parts.append(re.escape(letter) + deeper)
    return "|".join(parts)


def has_hint(text: str) -> bool:
    """Whether the text, as it is or as JSON writes it, may hold a secret."""
    low = lower(text)
    return (
        has_shape_hint(text)
        or next(named_hints(text, low), None) is not None
        or ("-" in text and any(map(is_telling, FLAG_NAME.findall(text))))
        or next(scheme_spans(text, low), None) is not None
        or next(login_spans(text, low), None) is not None
        or next(command_spans(text, low), None) is not None
        or ("secret" in low and "kind: secret" in low)
        or ("\\u00" in text and _ESCAPED.search(text) is not None)
    )


def has_shape_hint(text: str) -> bool:
    """Whether something in it may be a secret by its looks."""
    return next(shape_spans(text), None) is not None


def _has_run(text: str) -> bool:
    """Whether it has a long run of letters and digits, as keys are. Ordinary prose has none."""
    return _RUN in text.encode("latin-1", "replace").translate(_RUN_TABLE)


def lower(text: str) -> str:
    """In small letters, character for character: what would grow or become ASCII by it is left out."""
    return text.lower() if text.isascii() else text.replace("\u0130", "?").replace("\u212a", "?").lower()


def find(text: str, *, in_settings: bool = False) -> list[SecretSpan]:
    """The secrets of a text, in order, none within another. In a file of settings any value behind a telling
    name counts; in other texts it must not look like code.
    """
    low = lower(text)
    spans = [
        *shape_spans(text),
        *(SecretSpan(*span, "named") for span in named_spans(text, low, in_settings=in_settings)),
        *(SecretSpan(*span, "option") for span in flag_spans(text, low)),
        *(SecretSpan(*span, "header") for span in scheme_spans(text, low)),
        *(SecretSpan(*span, "login") for span in login_spans(text, low)),
        *(SecretSpan(*span, "command") for span in command_spans(text, low)),
        *(SecretSpan(*span, "manifest") for span in manifest_spans(text, low)),
        *(SecretSpan(*span, "random") for span in _random_spans(text, low)),
    ]
    return merge(spans)


def merge(spans: list[SecretSpan]) -> list[SecretSpan]:
    """The spans in order; those that overlap become one."""
    merged: list[SecretSpan] = []
    for span in sorted(spans):
        if span.end <= span.start:
            continue
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


def redact(text: str, *, in_settings: bool = False, keep_lines: bool = False) -> str:
    """The text with `[redacted]` in place of each secret; the same object if there is none."""
    if not has_hint(text):
        return text
    for _ in range(ROUNDS):
        spans = find(text, in_settings=in_settings)
        if not spans:
            break
        parts: list[str] = []
        at = 0
        for start, end, _kind in spans:
            parts += (text[at:start], REDACTED, "\n" * text.count("\n", start, end) if keep_lines else "")
            at = end
        text = "".join((*parts, text[at:]))
    return text


_SETTINGS_FILE = re.compile(
    r"\.env.*|.*\.(?:env|ini|cfg|conf|toml|ya?ml|json|properties|tfvars)|\.(?:npmrc|netrc|pypirc|pgpass)|credentials",
    re.IGNORECASE,
)


def is_settings_file(name: str) -> bool:
    """Whether a file of this name holds settings, in which no value is code."""
    return _SETTINGS_FILE.fullmatch(name) is not None


def redact_file(text: str, *, name: str) -> str:
    """The text of a file with its secrets covered; every line keeps its number."""
    return redact(text, in_settings=is_settings_file(name), keep_lines=True)


_KEY_KIND = r"(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BLOCK = re.compile(
    rf"-----BEGIN {_KEY_KIND}(?:(?:[^-]|-(?!----)){{0,40000}}-----END {_KEY_KIND}"
    r"|(?:[ \t\r\n]|\\+[rn])++[A-Za-z0-9+/=]+"
    r"(?:(?:[ \t\r\n]|\\+[rn])++[A-Za-z0-9+/=]+(?=[ \t]*(?:[\r\n\"'`\\]|\Z)))*)",
    re.ASCII,
)
"""A private key from its first line to its last; without an end, all lines that can be part of a key."""


_PUTTY_KEY = re.compile(
    r"Private-Lines: \d+(?:[\r\n]|\\+[rn])+(?P<secret>(?:[A-Za-z0-9+/=]+(?:[\r\n]|\\+[rn])*)+)"
)


def shape_spans(text: str) -> Iterator[SecretSpan]:
    """What is known by its looks alone."""
    if "PRIVATE KEY" in text:
        for match in _KEY_BLOCK.finditer(text):
            yield SecretSpan(*match.span(), "private-key")
    if "Private-Lines:" in text:
        for match in _PUTTY_KEY.finditer(text):
            yield SecretSpan(*match.span("secret"), "private-key")
    if not _has_run(text) and not ("$" in text and _CRYPT.search(text)):
        return
    words, strong, weak, by_word = _shapes_by_word()
    runs = _LONG_RUN.findall(text)
    # Short words stand in every program, so what they begin must have a digit.
    if not strong.search("\n".join(runs)) and not weak.search("\n".join(filter(_DIGIT.search, runs))):
        return
    for run in _LONG_RUN.finditer(text):
        found = words.findall(run[0]) if _DIGIT.search(run[0]) else strong.findall(run[0])
        for word in set(found):
            # A row with a shorter word may fit where one with a longer word does not.
            for size in range(1, len(word) + 1):
                for shape in by_word.get(word[:size], ()):
                    for span in shape.spans(text, *run.span()):
                        yield SecretSpan(*span, shape.kind)


_RANDOM = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+/_-]{20,200}={0,2}(?![\w+/=.(-])", re.ASCII)
_BESIDE = re.compile(
    r"(?:secret|token|password|passwd|api[ _-]?key|access[ _-]?key|private[ _-]?key|credential)s?\b", re.ASCII
)
_BESIDE_REACH = 60


def _random_spans(text: str, low: str) -> Iterator[tuple[int, int]]:
    """What a machine made, in the same line behind a telling word."""
    if _has_run(text):
        for match in _RANDOM.finditer(text):
            if _is_random(match[0]):
                first = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _BESIDE_REACH)
                if _BESIDE.search(low, first, match.start()) and not low.startswith(
                    "commit", match.start() - 7
                ):
                    yield match.span()


def _is_random(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    if digits < 3 or len(value) - digits < 4:
        return False
    is_hex = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value) is not None
    is_mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    return ((is_hex and len(value) >= 32) or is_mixed) and entropy(value) >= (3.0 if is_hex else 3.7)


def entropy(text: str) -> float:
    """Bits a character, by how often each one occurs."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())
