"""Input of strangers that reaches where it does harm: sources, what cleans, and sinks, followed through
one function.

The tables are in `data/flows.toml`. A variable that is assigned from a source is one itself, until it
is checked or assigned anew. What crosses a call is not followed. Pure.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from dragoman.decoders import convert
from dragoman.review.code_patterns import family, lazy_pattern
from dragoman.review.code_text import CodeText, Function, Statement, text_in_brackets
from dragoman.review.finding import Severity

_TABLES = Path(__file__).parent / "data" / "flows.toml"
_MARK = "\x01"
_ASSIGNED = lazy_pattern(
    r"(?:(?:const|let|var|val|final|mut|auto)\s+)*(?:[A-Z][\w.<>\[\]?, ]*\s+)?(?:let\s+(?:mut\s+)?)?"
    r"(?:(?:Some|Ok)\()?(?P<name>\w+)\)?(?:\s*,\s*\w+)?\s*(?::\s*[^=;]+?)?\s*:?=(?!=)\s*(?P<value>.+)"
)
_WITH = lazy_pattern(r"(?:async\s+)?with\s+(?P<value>.+?)\s+as\s+(?P<name>\w+)")
_LOOP = lazy_pattern(
    r"for\s*\(?\s*(?:(?:const|let|var|val|_\s*,|\w+\s*,)\s*)?(?:\w+\s+)?(?P<name>\w+)\s*(?:in|of|:"
    r"|:=\s*range)\s+(?P<value>.+)"
)
# A value that is only the key of a lookup chooses among what is there.
_LOOKUP = lazy_pattern(
    rf"[\w.]+\[[^\[\]]*{_MARK}[^\[\]]*\]|[\w.]+\.(?:get|getOrDefault|getValue|has"
    rf"|includes)\((?:[\w.]*\([^()]*{_MARK}[^()]*\)|[^()]*{_MARK}[^()]*)(?:,[^()]*)?\)"
)
# A call after the value that leaves only a part of it that does no harm.
_CHAINED = lazy_pattern(
    rf"{_MARK}[^,]*?\.(?:file_name|fileName|getFileName|getName|escape\w*|toInt\w*|toLong\w*|toUUID)\b"
    rf"|\b(?:File|Path|PurePath|PurePosixPath)\([^()]*{_MARK}[^()]*\)\.(?:name|stem)\b"
)
# What grows by a value.
_GROWN = lazy_pattern(
    r"(?P<name>\w+)\s*\+=\s*(?P<value>.+)"
    r"|(?P<list>\w+)\.(?:append|push|extend|WriteString|push_str|add)\((?P<item>.+)\);?"
)
# Several names at once: the parts of an object.
_PARTS = lazy_pattern(
    r"(?:const|let|var|val)\s*(?:\{(?P<object>[^{}]*)\}|[\[(](?P<list>[^\[\]()]*)[\])])\s*(?::[^=]+)?=\s*(?P<value>.+)"
)
_PART = lazy_pattern(r"(?:\w+\s*:\s*)?(\w+)\s*(?:=[^,]*)?(?:,|$)")
# A call that fills in what it is given the address of.
_FILLED = lazy_pattern(
    r"\b(?:json|xml)\.NewDecoder\(\s*r(?:eq|equest)?\.Body\s*\)\.Decode\(\s*&(?P<name>\w+)"
    r"|\bc(?:tx)?\.(?:ShouldBind\w*|Bind\w*|BodyParser)\(\s*&(?P<bound>\w+)"
)
# How long a value is does no harm.
_MENTION = r"(?<![\w.]){}\b(?!\s*[:=(](?!=)|\.(?:length|size\(\)|len\(\))(?![\w(]))"
_CHOICE = lazy_pattern(r"\?[^:?.]*:|\bif\b.+\belse\b")
# A branch for values that failed a check.
_REFUSES = lazy_pattern(r"(?:\}\s*)?(?:else\s+|el)?if\s*\(?\s*(?:not\b|!)")
# A comparison with one of few values. Strings are blank here, and an empty one stays empty.
_EQUALS_FIXED = (
    r"\bif\b.*(?<![\w.]){0}(?:\.\w+\(\))?\s*[!=]==?\s*(?:[bur]?[\"'`]\s+[\"'`]|[A-Z][A-Z0-9_]{{2,}}\b)"
    r"|\bif\b.*(?:[\"'`]\s+[\"'`]|\b[A-Z][A-Z0-9_]{{2,}})(?:\.equals(?:IgnoreCase)?\(\s*|\s*===?\s*){0}\b"
    # Or a question about where it leads.
    r"|\bif\b.*\b(?:urlparse|urlsplit|URL|create)\(\s*{0}\b[^()]*\)\.(?:[hH]ostname|[hH]ost|netloc|origin|getHost)\b"
    r"|\bif\b.*(?<![\w.]){0}\.(?:[hH]ostname|[hH]ost|netloc|origin|getHost|IsAbs)\b"
)


# Parameters of a route with a class: the body of the request, unless it is something of the framework.
_TYPED = lazy_pattern(r"(\w+)\s*:\s*((?:\w+\.)*[A-Z]\w*(?:\s*=\s*\w+\()?)")
_OURS = lazy_pattern(
    r"Request|Response|Session|Tasks|Socket|Depends|Security|Database|Connection|Pool|Client|Redis|Service"
    r"|Repository|Settings|Annotated|Optional|Literal|UUID|Enum|Decimal|Path\b|Upload|User\b|Logger|Engine|Store"
)
# Sinks that take a place and then content: the content may come from anybody.
_PLACES = frozenset(
    {
        "flow/path-traversal",
        "flow/ssrf",
        "flow/open-redirect",
        "flow/template-injection",
        "flow/xpath-injection",
    }
)
# Where a fixed beginning decides: a host, or a path of this site. Strings are blank here.
_HOSTS = frozenset({"flow/ssrf", "flow/open-redirect"})
_FIXED_START = lazy_pattern(r"""\s*[fF]?(?:"\s{3,}[^"]*"|'\s{3,}[^']*'|`\s{5,}[^`]*`)""")
# What is asked of a path at once: of a name with folders in it, only the last part is left.
_LAST_PART = lazy_pattern(r"\)\.(?:getFileName|fileName|file_name|getName|name)\b")
_FIRST_ONLY = frozenset({"python", "javascript", "rust"})


class SinkRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The rule for one kind of sink."""

    id: str
    severity: Severity
    title: str
    why: str
    cleaned_by: str = r"(?!)"
    """Calls after which a value does no harm here."""


class FlowLanguage(Struct, frozen=True, forbid_unknown_fields=True):
    """The sources and sinks of one language."""

    sources: tuple[str, ...]
    words: tuple[str, ...] = ()
    """A statement with none of these has no source; none for a language of which this cannot be said."""
    own: str | None = None
    """Sources that are the person who runs the program: they may name any file and any host."""
    parameters: tuple[str, ...] = ()
    """Patterns of parameters that strangers fill in; the group is the name."""
    routes: str | None = None
    """What stands above a function whose parameters, all of them, are filled in by strangers."""
    sinks: dict[str, tuple[str, ...]] = {}
    """The name of a sink rule, without its prefix → patterns that end where the value begins."""


class FlowTables(Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of sources, cleaners and sinks."""

    cleaned_by: str
    checked_by: str
    sink: tuple[SinkRule, ...]
    language: dict[str, FlowLanguage]


class TaintHit(NamedTuple):
    """Untrusted input that reaches a sink."""

    rule: SinkRule
    start: int
    end: int


class _CompiledTable(NamedTuple):
    source: re.Pattern[str]
    own: re.Pattern[str] | None
    words: tuple[str, ...]
    parameters: re.Pattern[str] | None
    routes: re.Pattern[str] | None
    sinks: tuple[tuple[SinkRule, re.Pattern[str], re.Pattern[str]], ...]
    check_pattern: re.Pattern[str]
    cleaner: re.Pattern[str]


@functools.cache
def tables() -> FlowTables:
    return convert(tomllib.loads(_TABLES.read_text("utf-8")), FlowTables)


@functools.cache
def _compile_table(language: str) -> _CompiledTable | None:
    table = tables().language.get(family(language))
    if table is None:
        return None
    rules = {rule.id.partition("/")[2]: rule for rule in tables().sink}
    return _CompiledTable(
        re.compile("|".join(table.sources)),
        re.compile(table.own) if table.own else None,
        table.words,
        re.compile("|".join(table.parameters)) if table.parameters else None,
        re.compile(table.routes) if table.routes else None,
        tuple(
            (
                rules[kind],
                lazy_pattern("|".join(patterns)),
                lazy_pattern(rf"[\w.:]*(?:{rules[kind].cleaned_by})\w*\s*\("),
            )
            for kind, patterns in table.sinks.items()
        ),
        re.compile(tables().checked_by),
        re.compile(tables().cleaned_by),
    )


def taint_hits(code: CodeText) -> Iterator[TaintHit]:
    table = _compile_table(code.language)
    if table is None or not _has_sources(code, table):
        return
    keys: set[tuple[str, int]] = set()
    for function in code.functions:
        for hit in _follow(code, function, table):
            if (hit.rule.id, hit.start) not in keys:
                keys.add((hit.rule.id, hit.start))
                yield hit


def _has_sources(code: CodeText, table: _CompiledTable) -> bool:
    if code.language == "go" and _FILLED.search(code.code):
        return True
    may_have = not table.words or code.has_any(table.words)
    if may_have and table.source.search(code.code):
        return True
    return any(
        pattern is not None and pattern.search(code.code) for pattern in (table.parameters, table.routes)
    )


def _may_bring(text: str, table: _CompiledTable) -> bool:
    """Whether a statement may use or keep what comes from a stranger though nothing has come before it."""
    if not table.words or any(word in text for word in table.words):
        return True
    return _FILLED.search(text) is not None


def _follow(code: CodeText, function: Function, table: _CompiledTable) -> Iterator[TaintHit]:
    # Each name with the indentation at which it was tainted.
    # What is given to the function is tainted where its body begins, so that the body can make it anew.
    begin = min((line.indent for line in function.body[1:]), default=function.head.indent)
    tainted_names = dict.fromkeys(_parameters(code, function, table), begin)
    own_names: set[str] = set()
    scheme_names: set[str] = set()
    refused = _Refused()
    for index, statement in enumerate(function.statements):
        if not tainted_names and not _may_bring(statement.text, table):
            continue
        indent = statement.line.indent
        for name in refused.leave(indent):
            tainted_names.pop(name, None)
        checked_names = _checked(statement.text, tainted_names, table)
        if checked_names and _SCHEME.search(_source(code, statement)):
            # Bad no longer, but for where the host is what counts.
            good_names = _checked(_STARTS.sub("", statement.text), tainted_names, table)
            scheme_names.update(name for name in checked_names if name not in good_names)
            checked_names = good_names
        # A choice within the statement: it is asked before the value is used.
        is_choice = bool(checked_names) and _CHOICE.search(statement.text) is not None
        bad_names = [name for name in tainted_names if not is_choice or name not in checked_names]
        if not _names_file_to_check(code, function.statements, index, table):
            yield from _harm(code, statement, bad_names, own_names, scheme_names, table)
        for name in checked_names:
            if _REFUSES.match(statement.text):
                refused.enter(indent, name)
            else:
                tainted_names.pop(name, None)
        for name, value in _assigned_parts(statement.text):
            if _is_tainted(value, tainted_names, table, table.cleaner):
                tainted_names.setdefault(name, indent)
        _assign(statement, tainted_names, own_names, table)


def _assign(
    statement: Statement, tainted_names: dict[str, int], own_names: set[str], table: _CompiledTable
) -> None:
    """Taints the names that a statement gives a bad value to, and frees those that it gives a good one."""
    indent = statement.line.indent
    for match in (
        _ASSIGNED.match(statement.text),
        _WITH.match(statement.text),
        _LOOP.match(statement.text),
    ):
        if match is None:
            continue
        if _is_tainted(match["value"], tainted_names, table, table.cleaner):
            tainted_names[match["name"]] = min(indent, tainted_names.get(match["name"], indent))
            is_own = not _is_foreign(match["value"], tainted_names, own_names, table)
            (own_names.add if is_own else own_names.discard)(match["name"])
        elif indent <= tainted_names.get(match["name"], indent):
            # Not in a branch that may not be taken: after it the name may be what it was.
            tainted_names.pop(match["name"], None)


def _is_foreign(value: str, tainted_names: Iterable[str], own_names: set[str], table: _CompiledTable) -> bool:
    """Whether a tainted value has a part that comes from somebody else than who runs the program."""
    if table.own is None:
        return True
    foreign_names = [name for name in tainted_names if name not in own_names]
    return _is_tainted(table.own.sub("0", value), foreign_names, table, table.cleaner)


class _Refused:
    """Names that a branch is taken for because they failed a check: bad within it, good after it."""

    def __init__(self) -> None:
        self._branches: list[tuple[int, str]] = []

    def enter(self, indent: int, name: str) -> None:
        self._branches.append((indent, name))

    def leave(self, indent: int) -> Iterator[str]:
        """The names whose branches end before a statement of this indentation."""
        for branch in [branch for branch in self._branches if branch[0] >= indent]:
            self._branches.remove(branch)
            yield branch[1]


def _checked(text: str, tainted_names: Iterable[str], table: _CompiledTable) -> list[str]:
    """The names that a statement asks something of."""
    if not tainted_names:
        return []
    if table.check_pattern.search(text):
        return [name for name in tainted_names if re.search(rf"\b{name}\b", text)]
    if "if" not in text and "when" not in text:
        return []
    return [name for name in tainted_names if re.search(_EQUALS_FIXED.format(re.escape(name)), text)]


# A question for the scheme alone: every host has one.
_SCHEME = lazy_pattern(r"""\bstarts_?with\(\s*\(?\s*["'`]https?(?::/{0,2})?["'`]""", re.IGNORECASE)
_STARTS = lazy_pattern(r"\bstarts_?with\((?:[^()]|\([^()]*\))*\)", re.IGNORECASE)


def _source(code: CodeText, statement: Statement) -> str:
    return code.text[statement.start : statement.start + len(statement.line.text)]


_NAMES_FILE = lazy_pattern(
    r"(?:(?:val|var|final)\s+)*(?:[A-Z]\w*\s+)?(?P<name>\w+)\s*=\s*(?:new\s+File|File|Paths?(?:\.of|\.get)?)\("
)


def _names_file_to_check(
    code: CodeText, statements: Sequence[Statement], index: int, table: _CompiledTable
) -> bool:
    """Whether a statement of Java or Kotlin only names a file, and a later one asks where that file is."""
    if code.language not in ("java", "kotlin"):
        return False
    named = _NAMES_FILE.match(statements[index].text)
    return named is not None and any(
        _checked(later.text, [named["name"]], table) for later in statements[index + 1 :]
    )


def _assigned_parts(text: str) -> Iterator[tuple[str, str]]:
    """Names that take parts of a value, each with that value."""
    if (parts := _PARTS.match(text)) is not None:
        for name in _PART.findall(parts["object"] or parts["list"] or ""):
            yield name, parts["value"]
    for match in _FILLED.finditer(text):
        yield match["name"] or match["bound"], _MARK
    if (grown := _GROWN.match(text)) is not None:
        yield grown["name"] or grown["list"], grown["value"] or grown["item"]


def _parameters(code: CodeText, function: Function, table: _CompiledTable) -> set[str]:
    head = function.head.text
    names = {
        name
        for match in (table.parameters.finditer(head) if table.parameters else ())
        for name in match.groups()
        if name
    }
    if table.routes is not None and table.routes.search(code.above(function.head)):
        inside = text_in_brackets(head, head.find("(") + 1)
        names |= set(re.findall(r"(\w+)\s*:\s*(?:str\b|Annotated\[\s*str\b)", inside))
        names |= {name for name, kind in _TYPED.findall(inside) if not _OURS.search(kind)}
        names |= set(re.findall(r"(?:^|,)\s*(\w+)\s*(?=,|$)", inside)) - {"self", "request", "cls"}
    return names


def _harm(
    code: CodeText,
    statement: Statement,
    tainted_names: Sequence[str],
    own_names: set[str],
    scheme_names: set[str],
    table: _CompiledTable,
) -> Iterator[TaintHit]:
    language = family(code.language)
    checked_names = [name for name in tainted_names if name not in scheme_names]
    for rule, sink, rule_cleaner in table.sinks:
        for match in sink.finditer(statement.text):
            rest = statement.text[match.end() :]
            is_call = match[0].rstrip().endswith("(")
            value = text_in_brackets(rest, 0) if is_call else rest
            if is_call and rule.id == "flow/path-traversal" and _LAST_PART.match(rest, len(value)):
                continue
            if language in _FIRST_ONLY and rule.id in _PLACES:
                value = _first_argument(value)
            if rule.id in _HOSTS and _FIXED_START.match(value):
                continue
            if rule.id == "flow/command-injection" and _runs_fixed_program(code, statement, match[0]):
                continue
            bad_names = tainted_names if rule.id in _HOSTS else checked_names
            if rule.id in _PLACES and not _is_foreign(value, bad_names, own_names, table):
                continue
            if _is_tainted(value, bad_names, table, rule_cleaner, table.cleaner):
                yield TaintHit(rule, statement.start, statement.start + len(statement.line.text))


# A program of our own choice and its arguments, which no shell reads. Programs that run others do not count.
_FIXED_PROGRAM = lazy_pattern(
    r"""\s*(?:[\w.]+(?:\(\))?\s*,\s*)?[\[(]?\s*["'](?!(?:/usr|/bin|/)*(?:(?:ba|da|z|k|c)?sh|cmd(?:\.exe)?|powershell(?:\.exe)?|pwsh|env|xargs|ssh|sudo|su|eval|python3?|node|perl|ruby|php|docker|kubectl|find|git|tar)["'])[\w./-]+["']\s*,"""
)


def _runs_fixed_program(code: CodeText, statement: Statement, call: str) -> bool:
    """Whether a call names a program as a text of its own, and the arguments apart from it."""
    at = code.code.find(call, statement.start)
    if at < 0:
        return False
    arguments = code.text[at + len(call) : at + len(call) + 400]
    return _FIXED_PROGRAM.match(arguments) is not None and "shell=True" not in statement.text


def _first_argument(arguments: str) -> str:
    depth = 0
    for index, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            return arguments[:index]
    return arguments


def _is_tainted(
    value: str, tainted_names: Iterable[str], table: _CompiledTable, *cleaners: re.Pattern[str]
) -> bool:
    value = table.source.sub(_MARK, value)
    for name in tainted_names:
        value = re.sub(_MENTION.format(re.escape(name)), _MARK, value)
    if _MARK not in value:
        return False
    # Before the cleaners: they take the call away by which a chain is known.
    value = _CHAINED.sub("", value)
    for cleaner in cleaners:
        value = _without_calls(value, cleaner)
    return _MARK in _LOOKUP.sub("", value)


def _without_calls(value: str, cleaner: re.Pattern[str]) -> str:
    match = cleaner.search(value)
    while match is not None:
        inside = text_in_brackets(value, match.end())
        value = value[: match.start()] + "()" + value[match.end() + len(inside) + 1 :]
        match = cleaner.search(value, match.start() + 2)
    return value
