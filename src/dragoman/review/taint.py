"""Input of strangers that reaches where it does harm: sources, what cleans, and sinks, followed through
one function.

The tables are in `flow_tables`. A variable that is assigned from a source is one itself, until it
is checked or assigned anew. What crosses a call is not followed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman.review.code_patterns import family, lazy_pattern
from dragoman.review.code_text import CodeText, Function, Statement, text_in_brackets
from dragoman.review.flow_calls import (
    ARGUMENTS,
    FIXED_HOST,
    first_argument,
    names_host,
    runs_fixed_program,
    without_calls,
)
from dragoman.review.flow_tables import NOTHING, CompiledTable, SinkRule, compile_table

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
# What a comparison with a text gives is yes or no. Strings are blank here.
_COMPARED = lazy_pattern(
    rf"{_MARK}(?:\.\w+\(\))*\s*[!=]==?\s*[bur]?(?:\"[^\"]*\"|'[^']*'|`[^`]*`|\d+)"
    rf"|(?:\"[^\"]*\"|'[^']*')(?:\s*[!=]==?\s*{_MARK}|\.equals(?:IgnoreCase)?\(\s*{_MARK}\s*\))"
)
# A call after the value that leaves only a part of it that does no harm.
_CHAINED = lazy_pattern(
    rf"\bnew\s+URL\([^()]*{_MARK}[^()]*\)\.pathname\b|{_MARK}[^,]*?\.(?:file_name|fileName|getFileName|getName|escape\w*|toInt\w*|toLong\w*|toUUID)\b"
    rf"|\b(?:File|Path|PurePath|PurePosixPath)\([^()]*{_MARK}[^()]*\)\.(?:name|stem)\b"
)
# A list of which nothing is left but what was cleaned: the element is not named any more.
_MAPPED = lazy_pattern(
    rf"{_MARK}(?:\.\w+)?\.map\(\s*\(?\s*(?P<item>\w+)\s*\)?\s*=>\s*(?=[`\"'])(?![^\n]*\b(?P=item)\b)"
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
# The last: a condition whose first part is asked, and the others only if that one does not decide.
_ASKED_FIRST = lazy_pattern(
    r"\?(?!\.)[^:?]*:|\bif\b.+\belse\b|\bif\s*\(?\s*(?:!|not\s)[^|]*starts_?with\([^()]*\)\s*(?:\|\||or\b)",
    re.IGNORECASE,
)
# One of a list, or something else: what is chosen was asked for just before.
_CHOSEN = lazy_pattern(
    r"[\w.]+\.(?:has|includes|contains)\(\s*(?P<value>[\w.]+(?:\[[^\[\]]*\])?)\s*\)\s*\?\s*(?P=value)(?=\s*:)"
    r"|(?P<other>[\w.]+(?:\[[^\[\]]*\])?)\s+if\s+(?P=other)\s+in\s+[A-Z][A-Z0-9_]+(?=\s+else\b)"
)
# A text is no object with operators of the query.
_IS_TEXT = r"\bif\s+not\s+isinstance\(\s*{0}\s*,\s*(?:str|int|float|bool)\s*\)"
# A branch for values that failed a check.
_REFUSES = lazy_pattern(r"(?:\}\s*)?(?:else\s+|el)?if\s*\(?\s*(?:not\b|!)")
# A comparison with one of few values. Strings are blank here, and an empty one stays empty.
_EQUALS_FIXED = (
    r"\bif\b.*(?<![\w.]){0}(?:\.\w+\(\))?\s*[!=]==?\s*(?:[bur]?[\"'`]\s+[\"'`]|[A-Z][A-Z0-9_]{{2,}}\b)"
    r"|\bif\b.*(?:[\"'`]\s+[\"'`]|\b[A-Z][A-Z0-9_]{{2,}})(?:\.equals(?:IgnoreCase)?\(\s*|\s*===?\s*){0}\b"
    # Or a question about where it leads.
    r"|\bif\b.*\b(?:urlparse|urlsplit|URL|create)\(\s*{0}\b[^()]*\)\.(?:[hH]ostname|[hH]ost|netloc|origin|getHost)\b"
    r"|\bif\b.*(?<![\w.]){0}\.(?:[hH]ostname|[hH]ost|netloc|origin|getHost|IsAbs|host_str|domain)\b"
    r"|(?<![\w.]){0}\.(?:host(?:name)?|origin)\s*===?[^?:]*\?"
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
_ARGUMENTS_FOR = frozenset({"flow/command-injection"})
_FIXED_START = lazy_pattern(r"""\s*[fF]?(?:"\s{3,}[^"]*"|'\s{3,}[^']*'|`\s{5,}[^`]*`)""")
# What is asked of a path at once: of a name with folders in it, only the last part is left.
_LAST_PART = lazy_pattern(r"\)\.(?:getFileName|fileName|file_name|getName|name)\b")
_DIRECTORY = lazy_pattern(r"(?i:ldap)|DirContext|\bjavax\.naming\b|\b(?:dc|ou|cn|uid)=")
_STATUS = lazy_pattern(r"^\s*30\d\s*,")
_FIRST_ONLY = frozenset({"python", "javascript", "rust"})
# What a page of text or of data shows is no markup.
_NO_MARKUP = lazy_pattern(r"""["']?(?:text/plain|application/json)\b|\bContentType\.Text\.Plain\b""")


class TaintHit(NamedTuple):
    """Untrusted input that reaches a sink."""

    rule: SinkRule
    start: int
    end: int


def taint_hits(code: CodeText) -> Iterator[TaintHit]:
    table = compile_table(code.language)
    if table is None or not _has_sources(code, table):
        return
    table = _with_helpers(code, table)
    keys: set[tuple[str, int]] = set()
    for function in code.functions:
        for hit in _follow(code, function, table):
            if (hit.rule.id, hit.start) not in keys:
                keys.add((hit.rule.id, hit.start))
                yield hit


_FUNCTION_NAME = lazy_pattern(
    r"(?:.*\b(?:def|func|fun|function|fn)\s+(?:\([^()]*\)\s*)?|(?:export\s+)?(?:const|let)\s+|(?:\w[\w<>\[\]]*\s+)+)(\w+)\s*[(=:<]"
)
_ASKS_HOST = lazy_pattern(r"\.(?:origin|host(?:name)?|netloc|getHost\(\))\s*[!=]==?")
_ESCAPES = lazy_pattern(r"&lt;|\.replace(?:All)?\([^\n]*<")


def _with_helpers(code: CodeText, table: CompiledTable) -> CompiledTable:
    """The table with the functions of a text that look at what they are given before they give it back."""
    names = set()
    for function in code.functions:
        body = "\n".join(line.text for line in function.body[1:]) or function.head.text
        is_check = table.check_pattern.search(body) or _ASKS_HOST.search(body)
        if not is_check and not _ESCAPES.search(_text_of(code, function)):
            continue
        gives_back = any(re.search(r"\breturn\b|=>|=$", line.text) for line in function.body)
        match = _FUNCTION_NAME.match(function.head.text) if gives_back else None
        # At last: each name is a pattern of its own, and a search through the whole text.
        if match is not None and re.search(
            rf"(?<!\w){match[1]}\s*\(", code.code.replace(function.head.text, "", 1)
        ):
            names.add(match[1])
    if not names:
        return table
    calls = rf"(?<!\w)(?:this\.|self\.)?(?:{'|'.join(sorted(names))})\s*\("
    cleaner = re.compile(f"{table.cleaner.pattern}|{calls}")
    return table._replace(cleaner=cleaner)


def _has_sources(code: CodeText, table: CompiledTable) -> bool:
    if code.language == "go" and _FILLED.search(code.code):
        return True
    may_have = not table.words or code.has_any(table.words)
    if may_have and table.source.search(code.code):
        return True
    return any(
        pattern is not None and pattern.search(code.code) for pattern in (table.parameters, table.routes)
    )


def _may_bring(text: str, table: CompiledTable) -> bool:
    """Whether a statement may use or keep what comes from a stranger though nothing has come before it."""
    if not table.words or any(word in text for word in table.words):
        return True
    return _FILLED.search(text) is not None


class _Names:
    """What is known of the names of a function, from its first statement to the one that is looked at."""

    def __init__(self, parameters: Iterable[str], indent: int) -> None:
        self.tainted = dict.fromkeys(parameters, indent)
        """Each name with the indentation at which it was tainted."""
        self.own: set[str] = set()
        """Of these who runs the program is the source."""
        self.scheme: set[str] = set()
        """Of these only the scheme was asked for."""
        self.harmless: dict[str, frozenset[str]] = {}
        """Rules for which a name does no harm, because it was made by what cleans a value for them."""
        self._origins: dict[str, frozenset[str]] = {}
        """The names that a name was made of."""

    def free(self, name: str) -> None:
        """A name is good, and so is what it was made of: who asks of a parsed address asks of its text."""
        self.tainted.pop(name, None)
        for origin in self._origins.pop(name, ()):
            self.free(origin)

    def forget(self, name: str) -> None:
        """A name has got another value."""
        self.tainted.pop(name, None)
        self._origins.pop(name, None)

    def taint(self, name: str, value: str, indent: int, table: CompiledTable) -> None:
        origins = {other for other in self.tainted if other != name and _mentions(value, other)}
        self._origins[name] = frozenset(origins if _DERIVED.search(value) else ())
        self.harmless[name] = frozenset(
            rule.id
            for rule, _, cleaner in table.sinks
            if rule.cleaned_by != NOTHING
            and not _is_tainted(value, self.bad_for(rule), table, cleaner, table.cleaner)
        )
        is_own = not _is_foreign(value, self.tainted, self.own, table)
        (self.own.add if is_own else self.own.discard)(name)
        self.tainted[name] = min(indent, self.tainted.get(name, indent))

    def know_texts(self, statement: str) -> None:
        """Of a name that is a text, or the function has ended, a query makes nothing else."""
        for name in self.tainted:
            if re.search(_IS_TEXT.format(re.escape(name)), statement):
                self.harmless[name] = self.harmless.get(name, frozenset()) | {"flow/nosql-injection"}

    def know_made(self, source: str) -> None:
        """Of a name that a statement makes by a fixed beginning, some rules have nothing to fear."""
        for word, pattern, rules in (("--", ARGUMENTS, _ARGUMENTS_FOR), ("://", FIXED_HOST, _HOSTS)):
            match = pattern.match(source) if word in source else None
            if match is not None and match["name"] in self.tainted:
                self.harmless[match["name"]] = self.harmless.get(match["name"], frozenset()) | rules

    def bad_for(self, rule: SinkRule) -> list[str]:
        """The names that do harm where a rule looks."""
        return [
            name
            for name in self.tainted
            if (rule.id in _HOSTS or name not in self.scheme) and rule.id not in self.harmless.get(name, ())
        ]


# A value that says something of another one: what is asked of it is asked of the other.
_DERIVED = lazy_pattern(
    r"(?i)(?:\bRel|relative\w*|parse\w*|urlsplit|\bURL|\bURI(?:\.create)?|\w*Path(?:::new|\.of|s\.get)?|\bFile"
    r"|clean|normali[sz]e|normpath|realpath|resolve|canonical\w*|abs\w*|lower\w*|upper\w*|strip|trim\w*"
    r"|to_?string|\bstr|string|split\w*|ext(?:name|ension)?)\(|\.(?:suffix|canonical\w+)\b"
)


def _mentions(value: str, name: str) -> bool:
    return re.search(_MENTION.format(re.escape(name)), value) is not None


def _names_of(code: CodeText, function: Function, table: CompiledTable) -> _Names:
    # What is given to the function is tainted where its body begins, so that the body can make it anew.
    begin = min((line.indent for line in function.body[1:]), default=function.head.indent)
    names = _Names(_parameters(code, function, table), begin)
    if family(code.language) == "javascript":  # those of a decorator are texts, and no object of a query
        names.harmless = dict.fromkeys(names.tainted, frozenset({"flow/nosql-injection"}))
    return names


def _follow(code: CodeText, function: Function, table: CompiledTable) -> Iterator[TaintHit]:
    names = _names_of(code, function, table)
    refused = _Refused()
    for index, statement in enumerate(function.statements):
        if not names.tainted and not _may_bring(statement.text, table):
            continue
        indent = statement.line.indent
        for name in refused.leave(indent):
            names.free(name)
        checked_names = _checked(statement.text, names.tainted, table)
        if checked_names and _SCHEME.search(_source(code, statement)):
            # Bad no longer, but for where the host is what counts.
            good_names = _checked(_STARTS.sub("", statement.text), names.tainted, table)
            names.scheme.update(name for name in checked_names if name not in good_names)
            checked_names = good_names
        # A choice within the statement: it is asked before the value is used.
        is_choice = bool(checked_names) and _ASKED_FIRST.search(statement.text) is not None
        good_here = frozenset(checked_names if is_choice else ())
        if not _names_file_to_check(code, function.statements, index, table):
            yield from _harm(code, function, statement, names, good_here, table)
        if "isinstance(" in statement.text:
            names.know_texts(statement.text)
        for name in checked_names:
            if _REFUSES.match(statement.text):
                refused.enter(indent, name)
            else:
                names.free(name)
        for name, value in _assigned_parts(statement.text):
            if name not in names.tainted and _is_tainted(value, names.tainted, table, table.cleaner):
                names.taint(name, value, indent, table)
        _assign(statement, names, good_here, table)
        names.know_made(_source(code, statement))


def _text_of(code: CodeText, function: Function) -> str:
    """A function as it was written."""
    last = function.body[-1]
    return code.text[function.head.start : last.start + len(last.text)]


def _assign(statement: Statement, names: _Names, good_here: frozenset[str], table: CompiledTable) -> None:
    """Taints the names that a statement gives a bad value to, and frees those that it gives a good one."""
    indent = statement.line.indent
    for match in (
        _ASSIGNED.match(statement.text),
        _WITH.match(statement.text),
        _LOOP.match(statement.text),
    ):
        if match is None:
            continue
        bad_names = [name for name in names.tainted if name not in good_here]
        if _is_tainted(match["value"], bad_names, table, table.cleaner):
            names.taint(match["name"], match["value"], indent, table)
        elif indent <= names.tainted.get(match["name"], indent):
            # Not in a branch that may not be taken: after it the name may be what it was.
            names.forget(match["name"])


def _is_foreign(value: str, tainted_names: Iterable[str], own_names: set[str], table: CompiledTable) -> bool:
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


_OF_HOST = lazy_pattern(r"\.(?:host|origin)")


def _checked(text: str, tainted_names: Iterable[str], table: CompiledTable) -> list[str]:
    """The names that a statement asks something of."""
    if not tainted_names:
        return []
    text = _OF_KIND.sub("", text)
    if table.check_pattern.search(text):
        return [name for name in tainted_names if re.search(rf"\b{name}\b", text)]
    if "if" not in text and "when" not in text and not ("?" in text and _OF_HOST.search(text)):
        return []
    return [
        name
        for name in tainted_names
        if re.search(_EQUALS_FIXED.format(re.escape(name)), text)
        or re.search(_PREDICATE.format(re.escape(name)), text, re.IGNORECASE)
    ]


# What kind of file it is says nothing of its name, and its ending nothing of the folders before it.
_OF_KIND = lazy_pattern(
    r"\b\w+\??\.(?:mime_?type|content_?type|getContentType\(\))(?:\??\.\w+\([^()]*\))?"
    r"|\bPath\(\s*\w+\s*\)\.suffix(?:\.lower\(\))?\s+(?:not\s+)?in\s+\w+",
    re.IGNORECASE,
)
# A question for the scheme alone: every host has one.
_SCHEME = lazy_pattern(r"""\bstarts_?with\(\s*\(?\s*["'`]https?(?::/{0,2})?["'`]""", re.IGNORECASE)
_STARTS = lazy_pattern(r"\bstarts_?with\((?:[^()]|\([^()]*\))*\)", re.IGNORECASE)


def _source(code: CodeText, statement: Statement) -> str:
    return code.text[statement.start : statement.start + len(statement.line.text)]


_NAMES_FILE = lazy_pattern(
    r"(?:(?:val|var|final)\s+)*(?:[A-Z]\w*\s+)?(?P<name>\w+)\s*=\s*(?:new\s+File|File|Paths?(?:\.of|\.get)?|URI\.create|(?:new\s+)?UR[LI])\("
)


def _names_file_to_check(
    code: CodeText, statements: Sequence[Statement], index: int, table: CompiledTable
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


def _parameters(code: CodeText, function: Function, table: CompiledTable) -> set[str]:
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
    function: Function,
    statement: Statement,
    names: _Names,
    good_here: frozenset[str],
    table: CompiledTable,
) -> Iterator[TaintHit]:
    language = family(code.language)
    for rule, sink, rule_cleaner in table.sinks:
        for match in sink.finditer(statement.text):
            rest = statement.text[match.end() :]
            is_call = match[0].rstrip().endswith("(")
            value = text_in_brackets(rest, 0) if is_call else rest
            if is_call and rule.id == "flow/path-traversal" and _LAST_PART.match(rest, len(value)):
                continue
            if (language in _FIRST_ONLY and rule.id in _PLACES) or rule.id == "flow/regex-injection":
                value = first_argument(_STATUS.sub("", value))
            if rule.id in _HOSTS and _FIXED_START.match(value) and not names_host(code, statement, match[0]):
                continue
            if rule.id == "flow/command-injection" and runs_fixed_program(code, statement, match[0]):
                continue
            # Much is searched that is no directory.
            if rule.id == "flow/ldap-injection" and not _DIRECTORY.search(code.text):
                continue
            bad_names = [name for name in names.bad_for(rule) if name not in good_here]
            if rule.id in _PLACES and not _is_foreign(value, bad_names, names.own, table):
                continue
            if not _is_tainted(value, bad_names, table, rule_cleaner, table.cleaner):
                continue
            if rule.id != "flow/xss" or not _NO_MARKUP.search(_text_of(code, function)):
                yield TaintHit(rule, statement.start, statement.start + len(statement.line.text))


# A question of a function about a value, by its name. Whether it is there, or of a type, says nothing.
_PREDICATE = (
    r"\bif\b.*\b(?!is_?(?:file|dir\w*|link|instance|array|empty|blank|null\w*|none|nil|string|object|(?:un)?defined|abs\w*|present)\b)"
    r"(?:is|has|can|may)_?[A-Za-z]\w*\((?:[^()]*,)?\s*&?{0}\s*[,)]"
)


def _is_tainted(
    value: str, tainted_names: Iterable[str], table: CompiledTable, *cleaners: re.Pattern[str]
) -> bool:
    value = table.source.sub(_MARK, _CHOSEN.sub("0", value))
    for name in tainted_names:
        value = re.sub(_MENTION.format(re.escape(name)), _MARK, value)
    if _MARK not in value:
        return False
    # Before the cleaners: they take the call away by which a chain is known.
    value = _CHAINED.sub("", value)
    for cleaner in cleaners:
        value = without_calls(value, cleaner)
    if ".map(" in value:
        value = _MAPPED.sub("(", value)
    return _MARK in _LOOKUP.sub("", _COMPARED.sub("0", value))
