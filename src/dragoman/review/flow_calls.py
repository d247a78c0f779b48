"""What stands beside a value in the call that takes it: a program, arguments, a scheme. Pure."""

from __future__ import annotations

import re

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeText, Statement, text_in_brackets

# A program of our own choice and its arguments, which no shell reads. Programs that run others do not count.
_FIXED_PROGRAM = lazy_pattern(
    r"""\s*(?:[\w.]+(?:\(\))?\s*,\s*)?(?:listOf|arrayOf|List\.of|Arrays\.asList|new\s+String\[\]\s*)?[\[({]?\s*["'](?!(?:/usr|/bin|/)*(?:(?:ba|da|z|k|c)?sh|cmd(?:\.exe)?|powershell(?:\.exe)?|pwsh|env|xargs|ssh|sudo|su|eval|python3?|node|perl|ruby|php|docker|kubectl|find|git|tar)["'])[\w./-]+["']\s*,"""
)


# A list that names the program, and after -- takes nothing for an option. A program that runs others takes
# its command there.
ARGUMENTS = lazy_pattern(
    r"""(?:(?:const|let|var|val)\s+)?(?P<name>\w+)\s*(?::[^=\n]+)?=\s*\[\s*["'](?!(?:/usr|/bin|/)*(?:(?:ba|da|z|k|c)?sh|env|xargs|ssh|sudo|su|docker|kubectl)["'])[\w./-]+["']\s*,[^\n]*["']--["']\s*,[^\n]*\]\s*;?$"""
)


def runs_fixed_program(code: CodeText, statement: Statement, call: str) -> bool:
    """Whether a call names a program as a text of its own, and the arguments apart from it."""
    at = code.code.find(call, statement.start)
    if at < 0:
        return False
    arguments = code.text[at + len(call) : at + len(call) + 400]
    return _FIXED_PROGRAM.match(arguments) is not None and "shell=True" not in statement.text


# A text that has only the scheme before the value: the host is the value.
_ONLY_SCHEME = lazy_pattern(r"""\s*[fF]?["'`]https?://(?:\$?\{|["']\s*\+|%s)""")


# An address on a host of our own choice, whatever comes after it.
FIXED_HOST = lazy_pattern(
    r"""(?:(?:const|let|var|val|mut|final|String)\s+){0,3}(?P<name>\w+)\s*(?::[^=\n]+)?:?=\s*(?:format!\(\s*|fmt\.Sprintf\(\s*|String\.format\(\s*)?[fF]?["'`]https?://[\w.-]+(?::\d+)?/"""
)


def names_host(code: CodeText, statement: Statement, call: str) -> bool:
    """Whether the first text of a call ends where the name of the host begins."""
    at = code.code.find(call, statement.start)
    return at >= 0 and _ONLY_SCHEME.match(code.text, at + len(call)) is not None


def first_argument(arguments: str) -> str:
    """What stands before the first comma of some arguments."""
    depth = 0
    for index, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            return arguments[:index]
    return arguments


def without_calls(value: str, cleaner: re.Pattern[str]) -> str:
    """A value with nothing in the brackets of the calls that clean what they are given."""
    match = cleaner.search(value)
    while match is not None:
        inside = text_in_brackets(value, match.end())
        value = value[: match.start()] + "()" + value[match.end() + len(inside) + 1 :]
        match = cleaner.search(value, match.start() + 2)
    return value
