"""Rules that are regular expressions, tried on one text. Pure.

What is reported as a secret must look random as well: a token of a known shape that says `EXAMPLE`, that
repeats itself or that is filled in at run time is none. A line that was written by a machine is left alone,
because nobody reads it and patterns meet everything there.
"""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

from dragoman.review.finding import Edit, Finding, Fix
from dragoman.review.lexer import LexicalSpans
from dragoman.review.rules import ReviewRule
from dragoman.review.text_edits import TextLines

LONGEST_LINE = 2_000
"""Characters of a line that a person may have written; beyond that it is minified or data."""

_LINES_AFTER = 3

_PLACEHOLDER = re.compile(
    r"example|sample|dummy|fake|placeholder|changeme|change_me|change-me|your[-_]?|my[-_]?(?:secret|token|key)"
    r"|insert|replace|todo|xxxx|\*\*\*|\.\.\.|test[-_]?(?:key|token|secret|pass)|redacted|<[^>]+>|\$\{|\$\(|\{\{|%\("
    r"|^\$\w+$|^%\w+%$|123456|abcdef|deadbeef|0{6}|not[-_]?a[-_]?|none$|null$",
    re.IGNORECASE,
)


def text_findings(
    path: str,
    lines: TextLines,
    spans: LexicalSpans,
    language: str | None,
    rules: Iterable[ReviewRule],
    *,
    longest: int = LONGEST_LINE,
) -> Iterator[Finding]:
    """What the rules find in one text, rule by rule, in lines that are no longer than `longest`."""
    lowered = lines.text.lower()
    if len(lowered) != len(
        lines.text
    ):  # some letters become two: then offsets of the one are none of the other
        lowered = ""
    is_ascii = lines.text.isascii()
    for rule in rules:
        if rule.pattern is None or not rule.holds_for(language) or (rule.beyond_ascii and is_ascii):
            continue
        if (
            lowered
            and rule.keywords
            and rule.spans_lines
            and not any(word in lowered for word in rule.keywords)
        ):
            continue
        keywords = () if rule.spans_lines else rule.keywords
        for begin, end in _windows(lowered, keywords) if lowered else ((0, len(lines.text)),):
            yield from _found(rule, path, lines, spans, begin, end, longest)


def _windows(lowered: str, keywords: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The parts of a text that hold a keyword, in whole lines; all of it if there are no keywords."""
    if not keywords:
        yield 0, len(lowered)
        return
    done = 0
    hits = sorted(at for word in keywords for at in _occurrences(lowered, word))
    for at in hits:
        if at < done:
            continue
        begin = max(done, lowered.rfind("\n", 0, at) + 1)
        done = _after_lines(lowered, at)
        # Hits that follow closely belong to the same window: a pattern may begin in one and end in the next.
        while (later := bisect_left(hits, done)) > 0 and hits[later - 1] > at:
            at = hits[later - 1]
            done = _after_lines(lowered, at)
        yield begin, done


def _occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at != -1:
        yield at
        at = text.find(word, at + len(word))


def _after_lines(text: str, at: int) -> int:
    for _ in range(_LINES_AFTER + 1):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _found(
    rule: ReviewRule, path: str, lines: TextLines, spans: LexicalSpans, begin: int, end: int, longest: int
) -> Iterator[Finding]:
    pattern, unless = compile_rule(rule)
    for match in pattern.finditer(lines.text, begin, end):
        if rule.where != "anywhere" and spans.kind_at(match.start()) != rule.where:
            continue
        line = lines.line(lines.position(match.start())[0])
        if len(line) > longest or (unless is not None and unless.search(line)):
            continue
        if rule.entropy and not looks_random(match["secret"] or "", rule.entropy):
            continue
        yield _finding(rule, match, path, lines)


@functools.lru_cache(maxsize=1024)
def _compile(pattern: str, flags: int) -> re.Pattern[str]:
    return re.compile(pattern, flags)


def compile_rule(rule: ReviewRule) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """The pattern of a rule, and the pattern of what it leaves alone."""
    flags = re.MULTILINE | (re.IGNORECASE if rule.ignore_case else 0)
    unless = _compile(rule.unless, flags) if rule.unless is not None else None
    return _compile(rule.pattern or "", flags), unless


def _finding(rule: ReviewRule, match: re.Match[str], path: str, lines: TextLines) -> Finding:
    start, end = match.span("secret") if rule.entropy else match.span()
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        place=lines.place(path, start, end),
        title=rule.title,
        why=rule.why,
        fix=_fix(rule, match),
        is_secret=rule.entropy > 0,
    )


def _fix(rule: ReviewRule, match: re.Match[str]) -> Fix | None:
    if rule.fix is None:
        return None
    text = match.expand(rule.fix)
    if text == match[0]:
        return None
    edit = Edit(match.start(), match.end(), text)
    return Fix(title=rule.fix_title or rule.title, edits=(edit,), safe=rule.safe)


def entropy(text: str) -> float:
    """Bits a character, by how often each one occurs."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())


def looks_random(text: str, bits: float) -> bool:
    """Whether a text may be a secret that a machine made."""
    return entropy(text) >= bits and not _PLACEHOLDER.search(text)
