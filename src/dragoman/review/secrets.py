"""Masks the secrets of a text, so that it can be shown to somebody else. Pure.

Every rule that finds secrets is tried, on every line: baselines, suppressions and severities do not count
here, because they say what is reported and not what may leave. A mask keeps the length and the line ends of
what it hides, so that lines and columns stay good.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.review.languages import language_of
from dragoman.review.lexer import LexicalSpans
from dragoman.review.rules import ReviewRule
from dragoman.review.text_edits import TextLines
from dragoman.review.text_rules import text_findings

_KEY_BLOCK = re.compile(
    r"-----BEGIN (?P<kind>(?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?P<whole>.{0,20000}?)-----END (?P=kind)-----|(?P<rest>[\w+/=\s\\:,.\"'-]*))",
    re.DOTALL,
)
"""A private key from its first line to its last; of one without an end, all that can be part of a key."""

_SHOWN = re.compile(r"[^\r\n]")


def mask_secrets(text: str, *, path: str = "", rules: Iterable[ReviewRule]) -> str:
    """The text with each secret in it made unreadable. `path` tells the language, if it is a file."""
    lines = TextLines(text)
    language = language_of(path, text)
    secrets = [rule for rule in rules if rule.entropy > 0]
    spans = [match.span(match.lastgroup or 0) for match in _KEY_BLOCK.finditer(text)]
    findings = text_findings(
        path, lines, LexicalSpans(text, language), language, secrets, longest=max(len(text), 1)
    )
    for finding in findings:
        place = finding.place
        start = lines.offset(place.line, place.column)
        spans.append((start, lines.offset(place.end_line, place.end_column)))
    return _mask(text, spans)


def _mask(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        start = max(start, at)
        if end > start:
            parts += (text[at:start], _SHOWN.sub("*", text[start:end]))
            at = end
    return "".join((*parts, text[at:]))
