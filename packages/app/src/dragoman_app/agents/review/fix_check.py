"""Checks a fix that a model proposes before anybody sees it: the text must still parse, and our rules must
find nothing in it that they did not find before.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import warnings
from collections import Counter

from msgspec.structs import replace

from dragoman_review import Finding, ReviewSettings, ReviewSource, language_of, review
from dragoman_review.git import changed_lines
from dragoman_review.structure import StructureFailed, syntax_errors

_BEFORE, _AFTER = "before/", "after/"


async def fix_problem(path: str, before: str, after: str, settings: ReviewSettings) -> str | None:
    """Why a fix must not be shown; None if nothing speaks against it."""
    language = language_of(path, before)
    problem = await asyncio.to_thread(_syntax_problem, language, before, after)
    return problem or await _rule_problem(path, before, after, settings)


def _syntax_problem(language: str | None, before: str, after: str) -> str | None:
    if language == "python":
        return None if _parses(after) or not _parses(before) else "the file does not parse after it"
    try:
        old, new = syntax_errors(before, language), syntax_errors(after, language)
    except StructureFailed:
        return "the file cannot be parsed after it"
    # A grammar may not know a new word of its language, so errors that were there before do not count.
    return "the file does not parse after it" if new is not None and new > (old or 0) else None


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


async def _rule_problem(path: str, before: str, after: str, settings: ReviewSettings) -> str | None:
    # A fix must not silence what would complain about it.
    new_lines = await asyncio.to_thread(changed_lines, before, after)
    sources = [
        ReviewSource(_BEFORE + path, before),
        ReviewSource(_AFTER + path, after, untrusted_lines=new_lines),
    ]
    counts: dict[str, Counter[str]] = {_BEFORE: Counter(), _AFTER: Counter()}
    review_stream = review(sources, replace(settings, baseline=None))
    async with contextlib.aclosing(review_stream):
        async for finding in review_stream:
            counts[_side(finding)][finding.rule] += 1
    new_rules = counts[_AFTER] - counts[_BEFORE]
    return f"the rule {next(iter(new_rules))} complains about it" if new_rules else None


def _side(finding: Finding) -> str:
    return _BEFORE if finding.path.startswith(_BEFORE) else _AFTER
