"""Promises of scripts that are used as if they were their results, and those that nobody hears fail. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import family, lazy_pattern, patterns_for
from dragoman.review.code_text import CodeHit, CodeLine, CodeText, Function, Statement

_IS_ASYNC = lazy_pattern(r"\basync\b")

_JSON_OF = lazy_pattern(r"(?:const|let|var)\s+(\w+)\s*(?::[^=]+)?=\s*await\s+(?:\w+\.)?fetch\(")
_FETCH_CHAIN = lazy_pattern(
    r"(?<!await )(?<!\w)fetch\([^()]*(?:\([^()]*\)[^()]*)*\)\.(?:json|text|blob|ok|status|headers)\b"
)
_THEN = lazy_pattern(r"[\w.]+(?:\([^()]*\))?(?:\.\w+\([^()]*\))*\.then\(")
# A second argument of then takes the rejection.
_HANDLES_BOTH = lazy_pattern(r"\.then\(.*,\s*(?:\w+|\(?\w*\)?\s*=>.*)\s*\);?$")
_ASYNC_FILTER = lazy_pattern(r"\.(?:filter|some|every|find|findIndex|sort)\(\s*async\b")
# What is made by calling a function for each, and looked at at once.
_MAPPED = lazy_pattern(
    r"\.map\(\s*\(?\w+\)?\s*=>\s*(?:this\.)?(\w+)\([^()]*\)\s*\)\s*\.(?:filter|join|reduce|sort|some|every|find)\("
)
# Results that are not there yet.
_ALL = lazy_pattern(r"(?:const|let)\s+(\w+)\s*=\s*Promise\.(?:all|allSettled)\(")
_ASYNC_MAP = lazy_pattern(r"(?:const|let|var)\s+(\w+)\s*=\s*[\w.]+\.map\(\s*async\b")
_DROPPED_MAP = lazy_pattern(
    r"(?!return\b|await\b|yield\b|void\b)[\w.]+(?:\([^()]*\))?\.(?:map|flatMap)\(\s*async\b"
)
_OPEN_ENDS = ("=>", "=", "(", ",", "return", "await", "?", ":", "&&", "||", "[")


def script_promises(code: CodeText) -> Iterator[CodeHit]:
    """Promises that are used as if they were their results."""
    if family(code.language) != "javascript":
        return
    if not code.has_any(("async", "fetch(", ".then(")):
        return
    for match in _unawaited(code):
        yield CodeHit("flow/missing-await", match.start(), match.end())
    for match in _ASYNC_FILTER.finditer(code.code):
        yield CodeHit("flow/async-callback", match.start(), match.end())
    for match in _ASYNC_MAP.finditer(code.code):
        if re.search(
            rf"\b{match[1]}\.(?:reduce|filter|join|forEach|length|map|sort)\b", code.code[match.end() :]
        ):
            yield CodeHit("flow/async-callback", match.start(), match.end())
    for index, line in enumerate(code.lines):
        if _DROPPED_MAP.match(line.text) and not (index and code.lines[index - 1].text.endswith(_OPEN_ENDS)):
            yield CodeHit("flow/floating-promise", line.start, line.start + len(line.text))
    for function in code.functions if "fetch(" in code.code or ".then(" in code.code else ():
        yield from _promises_in(function)


def _unawaited(code: CodeText) -> Iterator[re.Match[str]]:
    """Promises whose results are used at once, or a few lines below."""
    yield from _FETCH_CHAIN.finditer(code.code)
    for match in _MAPPED.finditer(code.code):
        if re.search(rf"\basync\s+(?:function\s+)?{match[1]}\b|\b{match[1]}\s*=\s*async\b", code.code):
            yield match
    for match in _ALL.finditer(code.code) if "Promise.all" in code.code else ():
        after = code.code[match.end() : match.end() + 600].partition("\n}")[0]
        if re.search(
            rf"\]\s*=\s*{match[1]}\s*;|(?<![\w.]){match[1]}(?:\.(?:map|filter|forEach|reduce|length|flat)\b|\[)",
            after,
        ):
            yield match


def _promises_in(function: Function) -> Iterator[CodeHit]:
    replies: set[str] = set()
    # What an arrow without braces computes is given back.
    is_given_back = function.head.text.endswith("=>")
    steps = function.statements
    for step in steps:
        if match := _JSON_OF.match(step.text):
            replies.add(match[1])
        for name in replies:
            if re.search(rf"=\s*{name}\.(?:json|text|blob|arrayBuffer|formData)\(\)", step.text):
                yield _hit("flow/missing-await", step)
        if not is_given_back and step.line is not function.head:
            is_then = (
                _THEN.match(step.text)
                and ".catch(" not in step.text
                and step.text.endswith((")", ");"))
                and not _HANDLES_BOTH.search(step.text)
            )
            is_fetch = (
                re.match(r"fetch\(", step.text)
                and ".catch(" not in step.text
                and step.text.endswith((")", ");"))
                and not _HANDLES_BOTH.search(step.text)
            )
            if (is_then or is_fetch) and not _is_caught_below(function, step):
                yield _hit("flow/floating-promise", step)


def _is_caught_below(function: Function, step: Statement) -> bool:
    """Whether the chain goes on over the next lines, and one of them catches."""
    for line in function.body:
        if line.start <= step.start:
            continue
        if line.indent <= step.line.indent:
            return False
        if line.indent and re.match(r"[})]*\.catch\(", line.text):
            return True
    return False


_GIVEN_BACK = lazy_pattern(
    r"return\s+(?!await\b)(?:(?:this\.)?(?P<called>\w+)\(.*\)|(?:window\.)?fetch\(.*\)"
    r"|[\w.?]+\.(?:json|arrayBuffer|formData|transformTo\w+)\([^()]*\));?"
)
_REPLY = lazy_pattern(r"\b(?:res|reply|ctx|NextResponse|Response|c)\.json\(")


def unguarded_promises(code: CodeText) -> Iterator[CodeHit]:
    """Promises that an asynchronous function gives back out of a try: its catch never sees them fail."""
    names_of = patterns_for(code.language).async_names
    if family(code.language) != "javascript" or names_of is None or "catch" not in code.code:
        return
    names = {name for match in names_of.finditer(code.code) for name in match.groups() if name}
    for function in code.functions_with(("catch",)):
        if not _IS_ASYNC.search(function.head.text):
            continue
        for index, line in enumerate(function.body):
            match = _GIVEN_BACK.fullmatch(line.text)
            if match is None or match["called"] not in (None, "fetch", *names):
                continue
            if match["called"] and re.search(rf"\b{match['called']}\b", function.head.text):
                continue  # another try of itself, with a catch of its own
            if not _REPLY.search(line.text) and _is_in_try(function.body, index):
                yield CodeHit("flow/unguarded-promise", line.start, line.start + len(line.text))


def _is_in_try(lines: Sequence[CodeLine], index: int) -> bool:
    """Whether a line stands in a try with a catch, and in no function of its own within that."""
    indent = lines[index].indent
    for before in reversed(lines[1:index]):
        if before.indent >= indent:
            continue
        indent = before.indent
        if before.text == "try {":
            after = next((line for line in lines[index + 1 :] if line.indent <= indent), None)
            return after is not None and after.text.startswith("} catch")
        if before.text.startswith(("}", "catch", "finally")) or re.search(r"=>|\bfunction\b", before.text):
            return False
    return False


def _hit(rule: str, statement: Statement) -> CodeHit:
    return CodeHit(rule, statement.start, statement.start + len(statement.line.text))
