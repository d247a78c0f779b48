"""Methods that hold a lock and call one that asks for it again. Pure.

Of languages whose locks cannot be taken twice by one thread: Go, Rust, and Python with `threading.Lock`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement

_METHOD = {
    "go": lazy_pattern(r"func\s+\((?P<self>\w+)\s+\*?(?P<type>\w+)\)\s*(?P<name>\w+)\("),
    "python": lazy_pattern(r"def\s+(?P<name>\w+)\(\s*(?P<self>self)\b"),
    "rust": lazy_pattern(r".*\bfn\s+(?P<name>\w+)[^(]*\(\s*&(?:mut\s+)?(?P<self>self)\b"),
}
# The statement that takes a lock, and keeps it to the end of the function or of its block.
_TAKES = {
    "go": r"{0}\.(?P<lock>\w+)\.Lock\(\)",
    "python": r"with\s+{0}\.(?P<lock>\w+)\s*:",
    "rust": r"let\s+(?:mut\s+)?(?P<guard>[a-z]\w*)\s*=\s*{0}\.(?P<lock>\w+)\.lock\(\)"
    r"(?:\.unwrap\(\)|\.expect\(.*\)|\?)?;",
}
_ASKS = {
    "go": r"{0}\.(?P<lock>\w+)\.R?Lock\(\)",
    "python": r"with\s+{0}\.(?P<lock>\w+)\s*:",
    "rust": r".*\b{0}\.(?P<lock>\w+)\.lock\(\)",
}
_WORDS = {"go": ("Lock()",), "python": ("with self.",), "rust": (".lock()",)}


def locked_twice(code: CodeText) -> Iterator[CodeHit]:
    """Calls of a method that takes the lock which the caller holds."""
    method_pattern = _METHOD.get(code.language)
    if method_pattern is None or not code.has_any(_WORDS[code.language]):
        return
    methods = [
        (function, match)
        for function in code.functions_with(_WORDS[code.language])
        if (match := method_pattern.match(function.head.text)) is not None
    ]
    takers = {
        (_owner(code, function, match), match["name"], taken["lock"])
        for function, match in methods
        for step in function.statements[1:]
        if (taken := re.compile(_ASKS[code.language].format(match["self"])).match(step.text)) is not None
    }
    for function, match in methods:
        owner = _owner(code, function, match)
        for lock, step in _held(code, function, match["self"]):
            for call in re.finditer(rf"(?<![\w.]){match['self']}\.(\w+)\(", step.text):
                if (owner, call[1], lock) in takers:
                    yield CodeHit("flow/locked-twice", step.start, step.start + len(step.line.text))


def _owner(code: CodeText, function: Function, match: re.Match[str]) -> str:
    """What tells methods of one type from those of another."""
    if code.language == "go":
        return match["type"]
    at = max(code.code.rfind(word, 0, function.head.start) for word in ("\nclass ", "\nimpl", "\n    class "))
    return code.code[at + 1 :].split("\n", 1)[0] if at >= 0 else ""


def _held(code: CodeText, function: Function, self_name: str) -> Iterator[tuple[str, Statement]]:
    """The statements that run while a lock is held, each with the name of the lock."""
    takes = re.compile(_TAKES[code.language].format(self_name))
    statements = function.statements
    for index, statement in enumerate(statements[1:], 1):
        match = takes.match(statement.text)
        if match is None:
            continue
        lock = match["lock"]
        if code.language == "python" and not re.search(
            rf"self\.{lock}\s*(?::[^=\n]+)?=\s*(?:threading\.)?Lock\(\)", code.code
        ):
            continue
        for later in statements[index + 1 :]:
            is_outside = later.line.indent < statement.line.indent or (
                code.language == "python" and later.line.indent == statement.line.indent
            )
            if is_outside or re.match(rf"{self_name}\.{lock}\.Unlock\(\)", later.text):
                break
            if code.language == "rust" and f"drop({match['guard']})" in later.text:
                break
            # What runs later, in a function of its own, may find the lock free.
            if re.search(r"\bgo\s+func\b|\bgo\s+\w|\blambda\b|\bspawn\b|\bdef\b|\bfunc\(|\|\|", later.text):
                break
            yield lock, later
