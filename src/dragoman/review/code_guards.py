"""Fields that one method changes under a lock and another one uses without it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText, Function

_GO_METHOD = lazy_pattern(r"func\s+\((?P<self>\w+)\s+\*(?P<type>\w+)\)\s*(?P<name>\w+)\(")
_GO_LOCK = lazy_pattern(r"\.R?Lock\(\)|\batomic\.")
_SAYS_HELD = lazy_pattern(r"(?i)(?:hold|lock|mutex)[^\n]*\n(?://[^\n]*\n)*$")
_GO_CHANGE = r"(?:{0}\.(\w+)(?:\[[^\]]*\])?\s*(?:=(?!=)|\+\+|--|[-+]=)|delete\(\s*{0}\.(\w+)\b)"
_GO_PLAIN = r"^[ \t]+(?:\w+,\s*)*{0}(?:,\s*\w+)*\s+(?:map\[|\[\]|u?int\d*\b|float\d\d\b)"


def unguarded_fields(code: CodeText) -> Iterator[CodeHit]:
    """Uses, without the lock, of a field that is changed under it elsewhere."""
    if code.language == "go" and ".Lock()" in code.code:
        yield from _in_go(code)
    elif code.language == "java" and "synchronized" in code.code:
        yield from _in_java(code)
    elif code.language == "python" and "threading" in code.code and "with self." in code.code:
        yield from _in_python(code)


_LOCKED_TYPE = lazy_pattern(
    r"^type (\w+) struct \{\n(?:[ \t][^\n]*\n|\n){0,40}?[ \t]+(?:\w+[ \t]+)?sync\.(?:RW)?Mutex\b",
    re.MULTILINE,
)
_GO_COPY = lazy_pattern(r"func\s+\((?P<self>\w+)\s+(?P<type>\w+)\)\s*\w+\(")


def copied_locks(code: CodeText) -> Iterator[CodeHit]:
    """Methods of Go that get a copy of what they belong to, and lock the lock of that copy."""
    if code.language != "go" or not code.has_any(("sync.Mutex", "sync.RWMutex")):
        return
    types = set(_LOCKED_TYPE.findall(code.code))
    for function in code.functions if types else ():
        match = _GO_COPY.match(function.head.text)
        if match is None or match["type"] not in types:
            continue
        if re.search(rf"\b{match['self']}\.(?:\w+\.)?R?Lock\(\)", code.part(function)):
            head = function.head
            yield CodeHit("flow/copied-lock", head.start, head.start + len(head.text))


def _in_go(code: CodeText) -> Iterator[CodeHit]:
    methods = [
        (function, match)
        for function in code.functions
        if (match := _GO_METHOD.match(function.head.text)) is not None
    ]
    guarded: set[tuple[str, str]] = set()
    for function, match in methods:
        part = code.part(function)
        if not re.search(rf"\b{match['self']}\.\w+\.Lock\(\)", part):
            continue
        for change in re.finditer(_GO_CHANGE.format(match["self"]), part):
            field = change[1] or change[2]
            if re.search(_GO_PLAIN.format(field), code.code, re.MULTILINE):
                guarded.add((match["type"], field))
    for function, match in methods:
        if not match["name"][0].isupper() or match["name"].endswith(("Locked", "Unsafe")):
            continue
        # Who holds the lock may be said in a comment.
        if _GO_LOCK.search(code.part(function)) or _SAYS_HELD.search(code.text[: function.head.start][-300:]):
            continue
        yield from _uses(
            function, {field for owner, field in guarded if owner == match["type"]}, match["self"]
        )


def _uses(function: Function, fields: set[str], owner: str) -> Iterator[CodeHit]:
    for line in function.body[1:]:
        if any(re.search(rf"(?<![\w.&]){owner}\.{field}\b(?!\s*\()", line.text) for field in fields):
            yield CodeHit("flow/data-race", line.start, line.start + len(line.text))
            return


_JAVA_FIELD = lazy_pattern(
    r"^[ \t]+private\s+(?:static\s+)?(?:int|long|double|boolean|(?:Map|List|Set|HashMap|ArrayList)<[^;=]*>)"
    r"\s+(\w+)\s*[;=]",
    re.MULTILINE,
)


def _in_java(code: CodeText) -> Iterator[CodeHit]:
    """Numbers that synchronized methods change and a public method, which is not, changes too."""
    fields = set(_JAVA_FIELD.findall(code.code))
    changed: set[str] = set()
    for function in code.functions:
        if re.search(r"\bsynchronized\b", function.head.text):
            part = code.part(function)
            changed |= {name for name in fields if re.search(_JAVA_CHANGE.format(name), part)}
    for function in code.functions if changed else ():
        head = function.head.text
        if not re.match(r"public\s+(?!synchronized|class|static)[\w<>\[\], ]+\s\w+\(", head):
            continue
        if re.search(r"\bsynchronized\b|\.lock\(\)", code.part(function)):
            continue
        for line in function.body[1:]:
            if any(re.search(_JAVA_CHANGE.format(name), line.text) for name in changed) or any(
                re.match(rf"return\s+(?:this\.)?{name}(?:\.\w+\([^()]*\))?;", line.text) for name in changed
            ):
                yield CodeHit("flow/data-race", line.start, line.start + len(line.text))
                break


_JAVA_CHANGE = (
    r"(?<![\w.])(?:this\.)?{0}\s*(?:\+\+|--|[-+*]=)|(?:\+\+|--){0}\b"
    r"|(?<![\w.])(?:this\.)?{0}\.(?:add|put|remove|clear)\("
)
_PYTHON_CHANGE = lazy_pattern(
    r"self\.(?P<field>\w+)(?:\[[^\]]*\])?\s*[-+*/|]?=(?!=)|self\.(?P<list>\w+)\.(?:append|pop|add|remove|clear|update|discard|extend)\("
    r"|del\s+self\.(?P<entry>\w+)\["
)


# Whoever copies a field under the lock knows that others change it meanwhile.
_GIVEN_COPY = lazy_pattern(r"return\s+(?:dict|list|set|sorted|tuple)\(self\.(\w+)\)$")


def _in_python(code: CodeText) -> Iterator[CodeHit]:
    """Fields of Python that one method changes under `with self.lock`, and another without."""
    owners: dict[str, set[str]] = {}
    plain: list[tuple[str, Function, list[tuple[str, CodeHit]]]] = []
    for function in code.functions:
        match = re.match(r"def\s+(\w+)\(\s*self\b", function.head.text)
        if match is None:
            continue
        owner = code.code[: function.head.start].rpartition("\nclass ")[2].split("\n", 1)[0]
        changes, has_lock, indent = [], False, -1
        for line in function.body[1:]:
            if indent >= 0 and line.indent <= indent:
                indent = -1
            if re.match(r"with\s+self\.\w*lock\w*\b", line.text):
                has_lock, indent = True, line.indent
            change = (
                _GIVEN_COPY if indent >= 0 and line.text.startswith("return") else _PYTHON_CHANGE
            ).match(line.text)
            if change is None:
                continue
            field = next(name for name in change.groups() if name)
            if indent >= 0:
                owners.setdefault(owner, set()).add(field)
            else:
                changes.append((field, CodeHit("flow/data-race", line.start, line.start + len(line.text))))
        is_public = not match[1].startswith("_") and not match[1].endswith("locked")
        if is_public and not has_lock and "acquire(" not in code.part(function):
            plain.append((owner, function, changes))
    for owner, _, changes in plain:
        for field, hit in changes:
            if field in owners.get(owner, ()):
                yield hit
                break
