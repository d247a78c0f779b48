"""Whether a command is the one that a rule names.

Pure. A rule's pattern is a line of words. Permitting and forbidding read it differently, because a mistake
costs differently. To be permitted, a command must be the pattern word by word: `*` stands for one word that
is no flag, `**` at the end for any number of words, and in a word `*`, `?` and `[…]` work as in file names.
To be forbidden or asked about, it is enough that its program is the pattern's, whatever its folder or case,
that the pattern's words come in this order, and that its flags are there, anywhere and in any spelling.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from dragoman.workspace.policy.programs import name_of

REST = "**"

_NEEDS_NO_QUOTES = re.compile(r"[\w@%+=:,./*?\[\]!^~-]+", re.ASCII)


class BadPattern(ValueError):
    """A pattern that means nothing; says why."""


def read_pattern(text: str) -> tuple[str, ...]:
    """The words of a pattern, quotes removed."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadPattern(f"the command cannot be split into words: {error}") from None
    if not words:
        raise BadPattern("the command is empty")
    if REST in words[:-1]:
        raise BadPattern("** may only be the last word of a command")
    return words


def literal_pattern(words: Sequence[str]) -> str:
    """The pattern of exactly this command."""
    return shlex.join("".join(f"[{c}]" if c in "*?[" else c for c in word) for word in words)


def pattern_text(words: Sequence[str]) -> str:
    """A pattern as its file may have said it: `read_pattern` gives the same words again."""
    return " ".join(word if _NEEDS_NO_QUOTES.fullmatch(word) else shlex.quote(word) for word in words)


def permits(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a command is exactly what a pattern describes."""
    has_rest = pattern[-1] == REST
    fixed = pattern[:-1] if has_rest else pattern
    if len(words) < len(fixed) or (len(words) > len(fixed) and not has_rest):
        return False
    return all(_is(word, expected) for word, expected in zip(words, fixed, strict=False))


def _is(word: str, expected: str) -> bool:
    # A pattern that begins with a star says "some operand"; a flag in its place would be a surprise.
    if word.startswith("-") and expected[:1] in ("*", "?", "["):
        return False
    return fnmatchcase(word, expected)


def restricts(pattern: Sequence[str], words: Sequence[str], *, rough: bool = False) -> bool:
    """Whether a command may be what a pattern forbids. In rough guesses the program may stand anywhere."""
    starts = range(len(words)) if rough else range(1)
    return any(_restricts_from(pattern, words[at:]) for at in starts)


def _restricts_from(pattern: Sequence[str], words: Sequence[str]) -> bool:
    if not words or not (pattern[0] == REST or _is_program(words[0], pattern[0])):
        return False
    wanted = [word for word in pattern[1:] if word != REST]
    flags = [word for word in wanted if word.startswith("-")]
    operands = [word for word in wanted if not word.startswith("-")]
    return _in_order(operands, words[1:]) and all(_has_flag(flag, words[1:]) for flag in flags)


def _is_program(word: str, expected: str) -> bool:
    expected = expected.casefold()
    return any(fnmatchcase(name.casefold(), expected) for name in (word, name_of(word)))


def _in_order(operands: list[str], words: Sequence[str]) -> bool:
    rest: Iterator[str] = iter(words)
    return all(any(fnmatchcase(w.casefold(), operand.casefold()) for w in rest) for operand in operands)


def _has_flag(flag: str, words: Sequence[str]) -> bool:
    if any(fnmatchcase(word, flag) for word in words):
        return True
    if flag.startswith("--"):
        # Programs take a long flag with a value, and many take it shortened.
        name = flag.partition("=")[0]
        given = (word.partition("=")[0] for word in words if word.startswith("--"))
        return any(len(word) > 2 and name.startswith(word) for word in given)
    letters = {c for word in words if word.startswith("-") and not word.startswith("--") for c in word[1:]}
    return len(flag) > 1 and set(flag[1:]) <= letters
