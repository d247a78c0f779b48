"""Locks that two functions take in opposite order, and locks that a block takes again within itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement

# A lock that is held to the end of a block, or to its unlock.
_BLOCKS = {
    "python": lazy_pattern(r"(?:async\s+)?with\s+(?P<locks>[\w., ]*[lL]ock\w*(?:\[[^\]]*\])?)\s*:"),
    "java": lazy_pattern(r".*\bsynchronized\s*\(\s*(?P<locks>[\w.]+)\s*\)\s*\{"),
    "kotlin": lazy_pattern(
        r".*\b(?:synchronized\s*\(\s*(?P<locks>[\w.]+)\s*\)|(?P<lock>[\w.]+)\.withLock)\s*\{"
    ),
    "go": lazy_pattern(r"(?P<locks>[\w.]+)\.(?:R?Lock)\(\)$"),
}
_WORDS = {
    "python": ("with ",),
    "java": ("synchronized",),
    "kotlin": ("withLock", "synchronized"),
    "go": ("Lock()",),
}


def lock_orders(code: CodeText) -> Iterator[CodeHit]:
    """Places where a second lock is taken in the order that another function does not keep."""
    pattern = _BLOCKS.get(code.language)
    if pattern is None or len(code.places(_WORDS[code.language])) < 4:
        return
    orders: dict[tuple[str, str], Function] = {}
    for function in code.functions_with(_WORDS[code.language]):
        for outer, inner, statement in _nested(code, function, pattern):
            other = orders.get((inner, outer))
            if other is not None and other is not function:
                yield CodeHit("flow/lock-order", statement.start, statement.start + len(statement.line.text))
            orders.setdefault((outer, inner), function)


def _nested(
    code: CodeText, function: Function, pattern: re.Pattern[str]
) -> Iterator[tuple[str, str, Statement]]:
    """Pairs of locks, the second of which is taken while the first is held."""
    held: list[tuple[str, int]] = []
    for statement in function.statements:
        indent = statement.line.indent
        if code.language == "go":
            unlocked = re.match(r"([\w.]+)\.R?Unlock\(\)", statement.text)
            if unlocked is not None:
                held = [lock for lock in held if lock[0] != _plain(unlocked[1])]
        else:
            held = [lock for lock in held if lock[1] < indent]
        match = pattern.match(statement.text)
        if match is None:
            continue
        names = (match["locks"] or match["lock"] if code.language == "kotlin" else match["locks"]).split(",")
        for name in names:
            plain = _plain(name)
            for outer, _ in held:
                if outer != plain:
                    yield outer, plain, statement
            held.append((plain, indent))


def _plain(name: str) -> str:
    """The name of a lock without what it belongs to, which has another name in each function."""
    return re.sub(r"^\w{1,4}\.(?=\w)", "", name.strip())


_EXCLUSIVE = {
    "kotlin": (
        lazy_pattern(r".*\bfun\s+(?P<name>\w+)\(.*(?:=|\{)\s*(?P<lock>\w+)\.withLock\s*\{"),
        lazy_pattern(r".*\b(?P<lock>\w*[mM]utex\w*)\.withLock\s*\{"),
        r"(?<![\w.])(?:this\.)?{0}\(",
    ),
    "javascript": (
        lazy_pattern(r"(?:return\s+|await\s+)*this\.(?P<lock>\w+)\.runExclusive\("),
        lazy_pattern(r".*\bthis\.(?P<lock>\w+)\.runExclusive\("),
        r"\bthis\.{0}\(",
    ),
}
_SCRIPT_METHOD = lazy_pattern(r"(?:(?:public|private|protected|static|async)\s+)*(?P<name>\w+)\s*\(")


def exclusive_blocks(code: CodeText) -> Iterator[CodeHit]:
    """Calls, within the block of a mutex, of a method that takes the same mutex."""
    language = "javascript" if code.language in ("typescript", "tsx") else code.language
    patterns = _EXCLUSIVE.get(language)
    if patterns is None or not code.has_any((".withLock", ".runExclusive(")):
        return
    _, block, call = patterns
    takers: dict[str, str] = {}
    for function in code.functions_with((".withLock", ".runExclusive(")):
        name = (
            _SCRIPT_METHOD.match(function.head.text)
            if language == "javascript"
            else re.match(r".*\bfun\s+(?P<name>\w+)\(", function.head.text)
        )
        lock = next((match["lock"] for line in function.body if (match := block.match(line.text))), None)
        if name is not None and lock is not None:
            takers[name["name"]] = lock
    for index, line in enumerate(code.lines):
        match = block.match(line.text) if takers else None
        if match is None:
            continue
        for step in code.block(index):
            if any(
                lock == match["lock"] and re.search(call.format(name), step.text)
                for name, lock in takers.items()
            ):
                yield CodeHit("flow/locked-twice", step.start, step.start + len(step.text))
                break
