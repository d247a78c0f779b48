"""Matches a command with the command of a rule.

Pure. A rule's pattern is a line of words. Permitting and forbidding read it differently, because a mistake
costs differently. To be permitted, a command must be the pattern word by word: `*` stands for one word that
is not a flag, `**` at the end for any number of words, and in a word `*`, `?` and `[…]` work as in file
names. To be forbidden or asked about, it is enough that its program is the pattern's, whatever its folder or
case, that the pattern's words come in this order, and that its flags are there, anywhere and in any spelling
that the table of programs knows. Where a part of a command is not known, it might be so: `Certainty.PERHAPS`.
Whether a command that fits a pattern is understood, so that it may be permitted, `program_calls` says.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice

from dragoman_local.workspace.policy.decision import Certainty
from dragoman_local.workspace.policy.globs import has_unknown_part, is_known, literal, may_be
from dragoman_local.workspace.policy.program_calls import ProgramCall, name_of, program_name, read_call

REST = "**"

_MOST_STARTS = 4
"""How often the program of a pattern is looked for in a guess."""

_NEEDS_NO_QUOTES = re.compile(r"[\w@%+=:,./*?\[\]!^~-]+", re.ASCII)


class BadPattern(ValueError):
    """A pattern is invalid; the text gives the reason."""


def read_pattern(text: str) -> tuple[str, ...]:
    """Return the words of a pattern, without quotes."""
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
    """Return the pattern of exactly this command."""
    return shlex.join(map(literal, words))


def pattern_text(words: Sequence[str]) -> str:
    """Return a pattern in the form for a file: `read_pattern` returns the same words again."""
    return " ".join(word if _NEEDS_NO_QUOTES.fullmatch(word) else shlex.quote(word) for word in words)


def spells(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a pattern contains a whole command, so that no part of it is open."""
    return [*map(literal, words)] == list(pattern[:-1] if pattern[-1] == REST else pattern)


def permits(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a command matches a pattern, word by word."""
    has_rest = pattern[-1] == REST
    fixed_words = pattern[:-1] if has_rest else pattern
    # A pattern that begins with a star says "some operand"; a flag in its place would be a surprise.
    return (len(words) >= len(fixed_words) if has_rest else len(words) == len(fixed_words)) and all(
        fnmatchcase(word, pattern_word) and not (word.startswith("-") and pattern_word[:1] in ("*", "?", "["))
        for word, pattern_word in zip(words, fixed_words, strict=False)
    )


def restricts_roughly(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a pattern's words appear in a guess: the program may be anywhere in it."""
    starts = (at for at, word in enumerate(words) if _is_program(word, pattern[0]) is Certainty.YES)
    # What is found from a later start is found from the first as well, but for values of options.
    return any(restricts(pattern, words[at:]) is Certainty.YES for at in islice(starts, _MOST_STARTS))


def restricts(pattern: Sequence[str], words: Sequence[str]) -> Certainty:
    """Whether a command matches, or may match, a forbidding pattern."""
    program = _is_program(words[0], pattern[0])
    # A program that is not known may become several words, the rest of the pattern among them.
    if program is Certainty.NO or has_unknown_part(words[0]):
        return min(program, Certainty.PERHAPS)
    flags = [word for word in pattern[1:] if word.startswith("-")]
    operands = [word for word in pattern[1:] if not word.startswith("-") and word != REST]
    certainty = min(program, _in_order(operands, words[1:]))
    if certainty is not Certainty.NO and flags:
        certainty = min(certainty, *(_has_flag(flag, tuple(words)) for flag in flags))
    return certainty


@lru_cache(maxsize=4096)
def _is_program(word: str, pattern_word: str) -> Certainty:
    name = name_of(word)
    if is_known(name) or pattern_word == REST:
        folded_pattern = pattern_word.casefold()
        names = {word.casefold(), name.casefold(), program_name(word).casefold()}
        return Certainty.YES if any(fnmatchcase(name, folded_pattern) for name in names) else Certainty.NO
    return Certainty.PERHAPS if may_be(name, pattern_word) or may_be(word, pattern_word) else Certainty.NO


def _in_order(operands: list[str], words: Sequence[str]) -> Certainty:
    rest: Iterator[str] = iter(words)
    if all(any(fnmatchcase(w.casefold(), operand.casefold()) for w in rest) for operand in operands):
        return Certainty.YES
    rest = iter(words)
    is_possible = any(map(has_unknown_part, words)) or all(
        any(may_be(word, operand) for word in rest) for operand in operands
    )
    return Certainty.PERHAPS if is_possible else Certainty.NO


def _has_flag(flag: str, words: tuple[str, ...]) -> Certainty:
    """Whether an option is given, in any spelling that the table of programs knows."""
    if any(fnmatchcase(word, flag) for word in words[1:]):
        return Certainty.YES
    call = read_call(words)
    is_long = flag.startswith("--") or (
        call.entry is not None and (flag in call.entry.options or "onedash" in call.entry.marks)
    )
    names = [flag.partition("=")[0]] if is_long else [f"-{letter}" for letter in flag[1:]]
    return min((_is_given(name, call, words) for name in names), default=Certainty.NO)


def _is_given(name: str, call: ProgramCall, words: tuple[str, ...]) -> Certainty:
    option = call.entry.options.get(name) if call.entry is not None else None
    spellings = set(option.names) if option is not None else {name}
    if any(
        flag.text in spellings
        # Most programs take a long option shortened.
        or (flag.option is None and flag.text[2:] and any(each.startswith(flag.text) for each in spellings))
        for flag in call.flags
    ):
        return Certainty.YES
    if call.subcommand == "push" and "--force" in spellings and any(w.startswith("+") for w in call.operands):
        return Certainty.YES  # git's other way to say so
    is_possible = any(
        has_unknown_part(word) or (word.startswith("-") and not is_known(word)) for word in words[1:]
    ) or any(
        # An option that nobody knows may be another form of it; --force-with-lease is a kind of --force.
        flag.option is None or any(flag.text.startswith(f"{spelling}-") for spelling in spellings)
        for flag in call.flags
    )
    return Certainty.PERHAPS if is_possible else Certainty.NO
