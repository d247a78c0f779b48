"""Variables that several threads or coroutines change at once without a lock. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_text import CodeHit, CodeLine, CodeText

_GUARDED = re.compile(
    r"\bR?Lock\(\)|\batomic\.|\bwithLock\b|\bsynchronized\b|\block\b|\bmutex\b|\bwith\b.*lock", re.I
)
_GO_START = re.compile(r".*\b(?:go func|\w+\.Go\(func)\s*\(")
_CHANGE = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:\.\w+)*\s*(?:\+\+|--|[-+*/|]=)|(?P<list>[A-Za-z_]\w*)\s*=\s*append\(\s*(?P=list)\b"
)
_LAUNCHED = re.compile(r".*\b(?:launch|async|thread)\b\s*(?:\([^()]*\))?\s*\{")
_COUNTED = re.compile(r"(?<![\w.])(\w+)\s*(?:\+\+|--|[-+*/]=)")


def races(code: CodeText) -> Iterator[CodeHit]:
    """What is changed in a thread of its own and belongs to somebody outside."""
    if code.language == "go" and ("go func" in code.code or ".Go(func" in code.code):
        yield from _in_goroutines(code)
    elif code.language == "kotlin" and ("launch" in code.code or "async" in code.code):
        yield from _in_coroutines(code)
    elif code.language == "python" and "global " in code.code and "hread" in code.code:
        yield from _globals_in_threads(code)
    elif code.language == "java" and "volatile" in code.code:
        yield from _volatile_counters(code)


def _hit(line: CodeLine) -> CodeHit:
    return CodeHit("flow/data-race", line.start, line.start + len(line.text))


def _in_goroutines(code: CodeText) -> Iterator[CodeHit]:
    for index, line in enumerate(code.lines):
        if not _GO_START.match(line.text):
            continue
        body = code.block(index) or (line,)
        if any(_GUARDED.search(step.text) for step in body):
            continue
        own_names = _own_names(line.text, body)
        for step in body:
            match = _CHANGE.match(step.text)
            if match is not None and (match["name"] or match["list"]) not in own_names:
                yield _hit(step)
                break


def _own_names(head: str, body: Sequence[CodeLine]) -> set[str]:
    names = set(re.findall(r"[(,]\s*(\w+)(?=[\s,)])", head[head.find("func") :]))
    for step in body:
        if (match := re.match(r"(?:for\s+|if\s+)?([\w, ]+?)\s*:=", step.text)) is not None:
            names |= {name.strip() for name in match[1].split(",")}
        if (match := re.match(r"var\s+(\w+)", step.text)) is not None:
            names.add(match[1])
    return names


def _in_coroutines(code: CodeText) -> Iterator[CodeHit]:
    for function in code.functions:
        variables = {
            match[1] for line in function.body if (match := re.match(r"var\s+(\w+)\b", line.text)) is not None
        }
        if not variables or any(_GUARDED.search(line.text) for line in function.body):
            continue
        inside = -1
        for line in function.body:
            if inside >= 0 and line.indent <= inside:
                inside = -1
            launched = _LAUNCHED.match(line.text)
            text = line.text[launched.end() :] if launched else line.text if inside >= 0 else ""
            if launched and inside < 0:
                inside = line.indent
            if any(match[1] in variables for match in _COUNTED.finditer(text)):
                yield _hit(line)
                break


def _globals_in_threads(code: CodeText) -> Iterator[CodeHit]:
    for function in code.functions:
        names = {
            name
            for line in function.body
            if line.text.startswith("global ")
            for name in re.findall(r"\w+", line.text[7:])
        }
        target = re.match(r"(?:async\s+)?def\s+(\w+)", function.head.text)
        if not names or target is None or any(_GUARDED.search(line.text) for line in function.body):
            continue
        if not re.search(
            rf"target\s*=\s*{target[1]}\b|\bsubmit\(\s*{target[1]}\b|\.map\(\s*{target[1]}\b", code.code
        ):
            continue
        for line in function.body:
            match = _COUNTED.match(line.text)
            if match is not None and match[1] in names:
                yield _hit(line)
                break


def _volatile_counters(code: CodeText) -> Iterator[CodeHit]:
    names = set(re.findall(r"\bvolatile\s+(?:int|long|short|Integer|Long)\s+(\w+)", code.code))
    for line in code.lines:
        match = re.search(
            r"(?<![\w.])(?:this\.)?(\w+)\s*(?:\+\+|--|[-+]=)|(?:\+\+|--)(?:this\.)?(\w+)", line.text
        )
        if match is not None and (match[1] or match[2]) in names and "synchronized" not in line.text:
            yield _hit(line)
