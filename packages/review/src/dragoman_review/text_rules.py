"""Rules that are regular expressions, applied to one text. Pure.

What is reported as a secret must look random as well: a token of a known shape that says `EXAMPLE`, that
repeats itself or that is filled in at run time is none. A line that was written by a machine is left alone,
because nobody reads it and patterns meet everything there.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dragoman_review.finding import Edit, Finding, Fix
from dragoman_review.languages import language_of
from dragoman_review.lexer import LexicalSpans
from dragoman_review.rules import ReviewRule
from dragoman_review.text_edits import TextLines
from dragoman_review.worker_messages import LONGEST_LINE

_LINES_AFTER = 3

_PLACEHOLDER = re.compile(
    r"example|sample|dummy|fake|placeholder|changeme|change_me|change-me|your[-_]?|my[-_]?(?:secret|token|key)"
    r"|insert|replace|todo|xxxx|\*\*\*|\.\.\.|test[-_]?(?:key|token|secret|pass)|redacted|<[^>]+>|\$\{|\$\(|\{\{|%\("
    r"|^\$\w+$|^%\w+%$|123456|abcdef|deadbeef|0{6}|not[-_]?a[-_]?|none$|null$",
    re.IGNORECASE,
)


def text_findings(
    path: str, lines: TextLines, rules: Iterable[ReviewRule], *, longest: int = LONGEST_LINE
) -> Iterator[Finding]:
    """Return the findings of the rules in one text, rule by rule, in lines that are no
    longer than `longest`.
    """
    language = language_of(path, lines.text)
    spans = LexicalSpans(lines.text, language)
    search_text = SearchedText(lines)
    is_ascii = lines.text.isascii()
    for rule in rules:
        if rule.pattern is None or not rule.holds_for(language) or (rule.beyond_ascii and is_ascii):
            continue
        if windows := search_text.windows(rule):
            yield from _rule_findings(rule, path, lines, spans, windows, longest)


class SearchedText:
    """The places of rules' keywords in a text. Rules share keywords, so each is searched once."""

    def __init__(self, lines: TextLines) -> None:
        self._lines = lines
        lower_text = lines.text.lower()
        # Some letters become two: then offsets of the one are none of the other.
        self._lower_text = lower_text if len(lower_text) == len(lines.text) else ""
        # The numbers of the lines with a keyword, by keyword.
        self._hits: dict[str, tuple[int, ...]] = {}

    def windows(self, rule: ReviewRule) -> Sequence[tuple[int, int]]:
        """Return the parts of the text on which to try a rule, in whole lines. Most rules have none."""
        if rule.beyond_ascii and not rule.spans_lines and self._lower_text:
            return self._around(self._foreign_lines)
        if not rule.keywords or not self._lower_text:
            return ((0, len(self._lines.text)),)
        if rule.spans_lines:
            has_any = any(word in self._lower_text for word in rule.keywords)
            return ((0, len(self._lines.text)),) if has_any else ()
        hits = sorted({line for word in rule.keywords for line in self._lines_with(word)})
        return self._around(hits)

    def _around(self, hits: Sequence[int]) -> list[tuple[int, int]]:
        windows: list[tuple[int, int]] = []
        if not hits:
            return windows
        span = self._lines.span
        first = last = hits[0]
        for line in hits:
            # Hits that follow closely share a window: a pattern may begin in one and end in the next.
            if line > last + _LINES_AFTER:
                windows.append(span(first, last + _LINES_AFTER))
                first = line
            last = line
        windows.append(span(first, last + _LINES_AFTER))
        return windows

    def _lines_with(self, word: str) -> tuple[int, ...]:
        """The numbers of the lines with a word, from hit to hit: most words of rules are rare."""
        if word not in self._hits:
            self._hits[word] = tuple(self._find_lines(word))
        return self._hits[word]

    def _find_lines(self, word: str) -> Iterator[int]:
        find, lines = self._lower_text.find, self._lines
        at = find(word)
        while at >= 0:
            line, _ = lines.position(at)
            yield line
            at = find(word, lines.span(line, line)[1])

    @functools.cached_property
    def _foreign_lines(self) -> tuple[int, ...]:
        """Lines that are not plain ASCII."""
        lines = self._lines.text.split("\n")
        return tuple(number for number, line in enumerate(lines, 1) if not line.isascii())


def _rule_findings(
    rule: ReviewRule,
    path: str,
    lines: TextLines,
    spans: LexicalSpans,
    windows: Sequence[tuple[int, int]],
    longest: int,
) -> Iterator[Finding]:
    text = lines.text
    if rule.needs is not None:
        needs = _compile_plain(rule.needs, ignore_case=rule.ignore_case).search
        windows = [window for window in windows if needs(text, *window) is not None]
        if not windows:
            return
    pattern, unless = compile_rule(rule)
    search = pattern.search
    # To ask once for a match costs less than to begin a walk through all of them, and most windows have none.
    found = [window for window in windows if search(text, *window) is not None]
    if (
        found
        and rule.unless_in_text is not None
        and _compile_plain(rule.unless_in_text, ignore_case=rule.ignore_case).search(text)
    ):
        return
    for match in (match for begin, end in found for match in pattern.finditer(text, begin, end)):
        if rule.where != "anywhere" and spans.kind_at(match.start()) != rule.where:
            continue
        line = lines.line(lines.position(match.start())[0])
        if len(line) > longest or (unless is not None and unless.search(line)):
            continue
        if rule.entropy and not looks_random(match["secret"] or "", rule.entropy):
            continue
        yield _finding(rule, match, path, lines)


@functools.lru_cache(maxsize=1024)
def _compile(
    pattern: str, unless: str | None, *, ignore_case: bool
) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else re.NOFLAG)
    return re.compile(pattern, flags), None if unless is None else re.compile(unless, flags)


@functools.lru_cache(maxsize=256)
def _compile_plain(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE | (re.IGNORECASE if ignore_case else 0))


def compile_rule(rule: ReviewRule) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """Return the pattern of a rule, and the pattern of its exceptions."""
    return _compile(rule.pattern or "", rule.unless, ignore_case=rule.ignore_case)


def _finding(rule: ReviewRule, match: re.Match[str], path: str, lines: TextLines) -> Finding:
    start, end = match.span("secret") if rule.entropy else match.span()
    place = lines.place(path, start, end)
    return rule.finding(place, fix=_fix(rule, match), is_secret=rule.entropy > 0)


def _fix(rule: ReviewRule, match: re.Match[str]) -> Fix | None:
    if rule.fix is None:
        return None
    text = match.expand(rule.fix)
    if text == match[0]:
        return None
    edit = Edit(match.start(), match.end(), text)
    return Fix(title=rule.fix_title or rule.title, edits=(edit,), safe=rule.safe)


def entropy(text: str) -> float:
    """Return the bits per character, from the frequency of each."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())


def looks_random(text: str, bits: float) -> bool:
    """Whether a text may be a generated secret."""
    return entropy(text) >= bits and not _PLACEHOLDER.search(text)
