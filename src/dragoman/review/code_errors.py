"""Errors that are nil when they are handed on, and failures that nobody hears of or that end all. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import family, lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement, find_name

_CHECKED = lazy_pattern(r"if\s+(?:[^;]*;\s*)?(?P<name>\w*[eE]rr)\s*!=\s*nil\s*\{")
_SET = r"(?<![\w.]){0}\s*(?:,\s*\w+\s*)?:?=(?!=)|,\s*{0}\s*:?=(?!=)|&{0}\b"


_WRAPPED = r"\b(?:errors\.(?:Wrapf?|WithMessagef?|WithStack)\(\s*{0}\b|fmt\.Errorf\(.*,\s*{0}\s*\))"
_HANDED_ON = r"return (?:nil|false|0|[\"'`]\s*[\"'`]|\w+\{{\}}), {0}"
_LEAVES = lazy_pattern(r"(?:return|panic|continue|break|log\.Fatal\w*|os\.Exit)\b")


def nil_errors(code: CodeText) -> Iterator[CodeHit]:
    """Errors of Go that were found to be nil above, and are wrapped all the same: the result is nil, too."""
    if code.language != "go" or "rr != nil" not in code.code:
        return
    reported: set[int] = set()
    for function in code.functions:
        for statement in _nil_uses(function):
            if statement.start not in reported:
                reported.add(statement.start)
                yield _hit("flow/nil-error", statement)


def _nil_uses(function: Function) -> Iterator[Statement]:
    # Each name with the indentation of its check, once the branch for the error has been left.
    nil_names: dict[str, int] = {}
    branches: dict[str, int] = {}
    statements = function.statements
    for index, statement in enumerate(statements):
        text, indent = statement.text, statement.line.indent
        for name in [name for name, at in branches.items() if indent <= at]:
            nil_names[name] = branches.pop(name)
        nil_names = {
            name: at
            for name, at in nil_names.items()
            if indent >= at and not re.search(_SET.format(name), text)
        }
        if text.startswith("return") and any(
            re.search(_WRAPPED.format(name), text)
            or (
                indent > at and re.fullmatch(_HANDED_ON.format(name), text) and _follows_if(statements, index)
            )
            for name, at in nil_names.items()
        ):
            yield statement
        match = _CHECKED.match(text)
        if match is not None and ";" not in text and _leaves(statements, index):
            branches[match["name"]] = indent


def _follows_if(statements: Sequence[Statement], index: int) -> bool:
    """Whether a statement is all that a branch does."""
    before = statements[index - 1].text if index else ""
    return before.startswith("if ") and "rr" not in before


def _leaves(statements: Sequence[Statement], index: int) -> bool:
    """Whether the branch below a statement ends by leaving."""
    last: Statement | None = None
    for later in statements[index + 1 :]:
        if later.line.indent <= statements[index].line.indent:
            break
        last = later
    return last is not None and _LEAVES.match(last.text) is not None


_COPYING = lazy_pattern(
    r"\bfunc\s+\(\w+\s+(?P<type>[A-Z]\w*)\)\s*(?P<name>\w+)\([^()]*\)\s*(?P=type)\s*\{\s*return\b",
    re.MULTILINE,
)


def dropped_copies(code: CodeText) -> Iterator[CodeHit]:
    """Methods of Go that give back another value and leave their own as it was, called for nothing."""
    if code.language != "go":
        return
    names = {match["name"] for match in _COPYING.finditer(code.code)}
    for line in code.lines if names else ():
        match = re.fullmatch(r"\w+\.(\w+)\(.*\)", line.text)
        if match is not None and match[1] in names:
            yield CodeHit("flow/unused-result", line.start, line.start + len(line.text))


_GORM = lazy_pattern(
    r"(?:\w+\.)*(?:db|tx|DB|conn|gorm)\w*(?:\.\w+\((?:[^()]|\([^()]*\))*\))*"
    r"\.(?:First|Last|Take|Find|Create|Save|Delete|Updates?|UpdateColumns?|Scan|Exec|Count|Pluck|FirstOrCreate)"
    r"\((?:[^()]|\([^()]*\))*\)"
)
_PIPED = lazy_pattern(r"(?<![\w.])(?P<name>\w+)\.pipe\(")
_OPENED = lazy_pattern(r"(?:const|let|var)\s+(?P<name>\w+)\s*=\s*(?:fs\.)?createReadStream\(")
# What is sent to a caller ends with the connection: of a file that cannot be read the caller learns that way.
_CHAIN = lazy_pattern(
    r"(?:fs\.)?createReadStream\((?:[^()]|\([^()]*\))*\)\s*\.pipe\((?!\s*(?:res|response|reply|ctx)\b)"
)


_HEARS = lazy_pattern(r"""\.(?:on|once)\(\s*["'`]error|\bpipeline\(""")


def unheard_failures(code: CodeText) -> Iterator[CodeHit]:
    """Statements of gorm whose error nobody reads, and streams of Node that are piped without a handler."""
    if code.language == "go" and "gorm" in code.text:
        for function in code.functions:
            for statement in function.statements:
                if _GORM.fullmatch(statement.text) and ".Find(&" not in statement.text:
                    yield _hit("flow/unheard-failure", statement)
    elif family(code.language) == "javascript" and "createReadStream(" in code.code and ".pipe(" in code.code:
        yield from _unheard_streams(code)


def _unheard_streams(code: CodeText) -> Iterator[CodeHit]:
    for match in () if _HEARS.search(code.text) else _CHAIN.finditer(code.code):
        yield CodeHit("flow/unheard-failure", match.start(), match.end())
    names = {match["name"] for match in _OPENED.finditer(code.code)}
    for match in _PIPED.finditer(code.code):
        if match["name"] in names and not re.search(
            rf"\b{match['name']}\s*\.(?:on|once)\(\s*[\"'`]error|\bpipeline\(|\bfinished\(\s*{match['name']}\b",
            code.text,
        ):
            yield CodeHit("flow/unheard-failure", match.start(), match.end())


_FALLIBLE = lazy_pattern(r"->\s*(?:\w+::)*(?:Result|Option)\b|->\s*impl IntoResponse")
_UNWRAPS = lazy_pattern(r"\.(?:unwrap\(\)|expect\()")
# What fails by what comes from outside; of other values the program itself knows that they are there.
_FROM_OUTSIDE = lazy_pattern(
    r"\bparse\b|\benv::|\bfs::|\bFile::|from_str|from_utf8|\.captures\(|\.get\(|\.find\(|\.next\(\)|to_str\(\)|\.await\b|\bread\w*\("
    r"|\.headers?\b|\bopen\(|connect\(|\.send\(|\.recv\(|\bquery\w*\(|fetch\w*\(|decode|serde|\bUrl\b|stdin\(|\.args?\(|status\(|output\("
)
_FINE_UNWRAP = lazy_pattern(
    r"\.(?:lock|read|write|borrow|borrow_mut)\(\)\.(?:unwrap|expect)|Regex::new\("
    r"|\.try_into\(\)\.unwrap|Mutex|NonZero|\"\.parse(?:::<[^>]*>)?\(\)\.(?:unwrap|expect)"
)


def panics(code: CodeText) -> Iterator[CodeHit]:
    """Unwraps in functions that could say what went wrong."""
    if code.language != "rust" or ("unwrap()" not in code.code and "expect(" not in code.code):
        return
    for function in code.functions:
        if not _FALLIBLE.search(function.head.text) or "test" in code.above(function.head):
            continue
        for step in function.statements:
            if (
                _UNWRAPS.search(step.text)
                and _FROM_OUTSIDE.search(step.text)
                and not _FINE_UNWRAP.search(step.text)
            ):
                yield _hit("flow/panic-instead-of-error", step)
    for match in re.finditer(r"\b(\w+)\.is_none\(\)\s*\{\s*[^{}]*\b\1\.unwrap\(\)", code.code):
        yield CodeHit("logic/null-dereference", match.start(), match.end())


def _hit(rule: str, statement: Statement) -> CodeHit:
    return CodeHit(rule, statement.start, statement.start + len(statement.line.text))


_CALLBACK = lazy_pattern(
    r".*(?:\(|\bfunction\b[^()]*\()\s*(?P<error>err|error)\s*,\s*(?P<value>[a-z]\w*)\s*\)\s*(?:=>\s*)?\{"
)


def unread_callback_errors(code: CodeText) -> Iterator[CodeHit]:
    """Callbacks of JavaScript that work with the value and never look at the error before it."""
    if family(code.language) != "javascript":
        return
    for function in code.functions_with(("err,", "error,")):
        match = _CALLBACK.fullmatch(function.head.text)
        if match is None:
            continue
        body = code.code[function.head.start + len(function.head.text) : function.end]
        if find_name(body, match["error"]) < 0 and re.search(
            rf"(?<![\w.]){match['value']}[.\[]|\bJSON\.parse\(\s*{match['value']}\b", body
        ):
            head = function.head
            yield CodeHit("flow/unheard-failure", head.start, head.start + len(head.text))


_GO_ERROR = lazy_pattern(r"(?:[\w.]+,\s*)*(?P<error>err)\s*:?=(?!=)\s*[\w.]+\(")


def overwritten_errors(code: CodeText) -> Iterator[CodeHit]:
    """Errors of Go that get another value before anybody has read them."""
    if code.language != "go":
        return
    for function in code.functions_with(("err =",)):
        # A result with this name, or a function that is put off, reads it at the end.
        if find_name(function.head.text, "err") >= 0 or "defer func" in code.part(function):
            continue
        statements = function.statements
        for index, statement in enumerate(statements):
            if _GO_ERROR.match(statement.text) is None or statement.text.endswith(("{", "(", ",")):
                continue
            for later in statements[index + 1 :]:
                if later.line.indent < statement.line.indent or later.text.startswith(
                    ("case", "func", "go ")
                ):
                    break
                if find_name(later.text, "err") < 0:
                    continue
                match = _GO_ERROR.match(later.text)
                if match is not None and find_name(later.text[match.end() :], "err") < 0:
                    yield CodeHit(
                        "flow/unheard-failure", statement.start, statement.start + len(statement.line.text)
                    )
                break
