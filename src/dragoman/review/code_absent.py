"""Values that may be absent and are used as if they were there, within one function. Pure.

A value counts as perhaps absent if a call gave it that is known to give none: a lookup, a search, a match.
It is reported if the first thing that the function does with it is to look inside. Whoever asks first, in any
way, is left alone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import family, lazy_pattern
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement, find_name

# What a client of the network is called: its `get` gives a reply, or raises.
_CLIENTS = (
    r"(?:requests|httpx|\w*[sS]ession|\w*[cC]lient|http|\w*[aA]pi|app|router|axios|queue|\w*_queue"
    r"|q|objects|manager)"
)

_MAYBE = {
    "python": (
        rf"(?!self\.get\(|(?:self\.)?_*{_CLIENTS}\.)(?:[\w.]+|[\w.]+\([^()]*\))(?<!{'objects'})\.get\([^(),=]+(?:\([^()]*\))?\)"
        r"|(?:re|[A-Z][A-Z0-9_]*|\w*(?:pattern|regex|_re|_RE))\.(?:match|search|fullmatch)\(.*\)"
        r"|.*\.(?:first|one_or_none|scalar_one_or_none|fetchone|scalars\(\)\.first)\(\)"
        r"|(?:await\s+)?.*\.(?:find_one|select_one|fetchrow)\(.*\)"
        r"|\w*(?:soup|tree|root|node|doc|element|table|row)\.find\(.*\)"
        r"|next\(.*,\s*None\)|shutil\.which\(.*\)|os\.getenv\([^,]*\)|os\.environ\.get\([^,]*\)"
        r"|inspect\.(?:currentframe|getmodule)\(.*\)|importlib\.util\.find_spec\(.*\)"
        r"|mimetypes\.guess_extension\(.*\)"
    ),
    "javascript": (
        r"[\w.]+\.find(?:Last)?\(\s*(?:\(|\w+\s*=>|function).*\)"
        r"|(?:this\.)?\w*(?:[mM]ap|[cC]ache|[rR]egistry|[iI]ndex|By[A-Z]\w*|[sS]tore|[lL]ookup"
        r"|[sS]essions|[pP]ending)\.get\(.*\)"
        # Whoever writes down which element it is knows the page.
        r"|(?:document|\w+)\.(?:querySelector|getElementById|closest)\((?!\s*[\"'][^\"']*[\"']\s*\)).*\)"
        r"|(?:[\w.]+\.(?:match|exec)|/.+/\w*\.exec)\(.*\)|(?:local|session)Storage\.getItem\(.*\)"
        r"|await\s+[\w.]+\.(?:findOne|findById|findUnique|findFirst|findByPk)\(.*\)"
    ),
    "java": (
        r"\w*(?:[mM]ap|[cC]ache|[iI]ndex|By[A-Z]\w*|[rR]egistry)\.get\(.*\)"
        r"|System\.(?:getenv|getProperty)\([^,]*\)|\w+\.(?:getParameter|getHeader)\([^,]*\)"
        r"|.*\.getResourceAsStream\(.*\)|.*\.orElse\(null\)|\w*[qQ]ueue\.(?:poll|peek)\(\)"
        r"|\w+\.(?:getSession\(false\)|getCookies\(\))|\w+\.find\(\w+\.class,.*\)|\w+\.listFiles\(\)"
    ),
}
_ASSIGNMENT = lazy_pattern(
    r"(?:(?:const|let|var|final)\s+)?(?:(?!return\b|await\b|yield\b)[A-Za-z][\w<>\[\].?, ]*\s+)?(?P<name>\w+)"
    r"\s*(?::\s*[\w<>\[\]| .,]+)?\s*=(?!=)\s*(?P<value>.+?);?"
)
_MAPS = lazy_pattern(
    r"\b(?:Map|HashMap|ConcurrentMap|ConcurrentHashMap|TreeMap|LinkedHashMap)<[^;=()]*>\s+(\w+)\b"
    r"|\b(\w+)\s*(?::\s*Map<[^=]*>)?=\s*new\s+Map\b|\b(\w+)\s*:\s*Map<"
)
_HANDLED = lazy_pattern(r"\bexcept\s*\(?[^:]*\b(?:AttributeError|TypeError|KeyError|Exception)\b|\bcatch\b")


@functools.cache
def _maybe(language: str) -> re.Pattern[str] | None:
    pattern = _MAYBE.get(language)
    return None if pattern is None else re.compile(pattern)


def absent_values(code: CodeText) -> Iterator[CodeHit]:
    """Values that are looked into before anybody asked whether they are there."""
    language = family(code.language)
    maybe = _maybe(language)
    places = code.places(_WORDS[language]) if maybe is not None else ()
    if maybe is None or not places:
        return
    # Python has no declarations that name the type.
    found = _MAPS.finditer(code.code) if language != "python" and "Map" in code.code else ()
    maps = {name for match in found for name in match.groups() if name}
    for function in code.functions_at(places):
        yield from _absent_in(code, function, places, maybe, maps, language)


_WORDS = {
    "python": (
        ".get(",
        "match(",
        "search(",
        "first()",
        "one_or_none",
        "find",
        "fetch",
        "next(",
        "which(",
        "getenv(",
    ),
    "javascript": (
        ".find",
        ".get(",
        "querySelector",
        "getElementById",
        ".match(",
        ".exec(",
        "getItem(",
        "closest(",
    ),
    "java": (
        ".get(",
        "getenv",
        "getP",
        "getHeader",
        "orElse(null)",
        "Stream(",
        "poll()",
        "peek()",
        "listFiles()",
    ),
}


# A query for one of these has a row, whatever the tables hold.
_ALWAYS_A_ROW = lazy_pattern(
    r"\bselect\s+(?:distinct\s+)?(?:count|sum|max|min|avg|exists|coalesce|total)\s*\(|\breturning\b|\bpragma\b",
    re.IGNORECASE,
)


def _absent_in(
    code: CodeText,
    function: Function,
    places: Sequence[int],
    maybe: re.Pattern[str],
    maps: set[str],
    language: str,
) -> Iterator[CodeHit]:
    statements = function.statements
    for index in function.statements_at(places):
        statement = statements[index]
        if "=" not in statement.text:
            continue
        assignment = _ASSIGNMENT.fullmatch(statement.text)
        if assignment is None:
            continue
        value = assignment["value"]
        is_lookup = language != "python" and _is_map_lookup(value, maps)
        if not is_lookup and not maybe.fullmatch(value):
            continue
        if _is_asked_by_loop(assignment["name"], statements, index):
            continue
        if _is_handled(statements, index):
            continue
        if "fetch" in value and _ALWAYS_A_ROW.search(code.text, function.head.start, statement.start + 1000):
            continue
        use = _first_use(assignment["name"], statements[index + 1 :], language)
        if use is None or _is_handled(statements, statements.index(use)):
            continue
        if not (value.startswith("self.") and ".get(" in value and not _is_dict_field(value, code)):
            yield CodeHit("flow/unchecked-absence", use.start, use.start + len(use.line.text))


def _is_map_lookup(value: str, maps: set[str]) -> bool:
    match = re.fullmatch(r"(?:this\.)?(\w+)\.get\([^()]*(?:\([^()]*\))?[^()]*\)", value)
    return match is not None and match[1] in maps


def _is_asked_by_loop(name: str, statements: Sequence[Statement], index: int) -> bool:
    """Whether a statement belongs to a loop that goes on until the value is there."""
    indent = statements[index].line.indent
    head = next((step for step in reversed(statements[:index]) if step.line.indent < indent), None)
    if head is None or not head.text.startswith("while") or name not in head.text:
        return False
    return re.match(rf"while\b.*\b{name}\b", head.text) is not None


def _is_dict_field(value: str, code: CodeText) -> bool:
    """Whether a field of Python, which is asked for an entry, is a dictionary; `get` of others may raise."""
    match = re.match(r"self\.(\w+)\.get\(", value)
    return match is not None and bool(
        re.search(
            rf"\b(?:self\.)?{match[1]}\s*(?::[^=\n]*)?=\s*(?:\{{|dict\()|\b{match[1]}\s*:\s*[dD]ict\b",
            code.code,
        )
    )


def _is_handled(statements: Sequence[Statement], index: int) -> bool:
    """Whether a handler that is less indented, further down, catches what comes of an absent value."""
    indent = statements[index].line.indent
    return any(
        later.line.indent < indent and _HANDLED.search(later.text) for later in statements[index + 1 :]
    )


# To call it is to look inside, too.
_LOOKS_INSIDE = lazy_pattern(r"!?(?:\.(?!\?)\w|\[|\()")


def _first_use(name: str, later: Sequence[Statement], language: str) -> Statement | None:
    """The first statement with the name, if it looks inside of the value without asking."""
    for statement in later:
        at = find_name(statement.text, name)
        if at < 0:
            continue
        before, after = statement.text[:at], statement.text[at + len(name) :]
        if before.endswith("!") or not _LOOKS_INSIDE.match(after):
            return None
        if _is_asked(before, after, name, language):
            return None
        return statement
    return None


def _is_asked(before: str, after: str, name: str, language: str) -> bool:
    if language == "python":
        # A condition at the end of the line is asked first.
        return (
            "if" in after
            and name in after
            and re.search(rf"\bif\b.*\b{re.escape(name)}\b", after) is not None
        )
    return re.search(r"(?:&&|\|\||\?)\s*!?$", before.rstrip(" (")) is not None


_PERHAPS = lazy_pattern(r"(?:const|let)\s+(?P<name>\w+)\s*(?::[^=]+)?=\s*(?!await\b)[^=;]*\?\.[^=;]*;?")


def forced_values(code: CodeText) -> Iterator[CodeHit]:
    """Values of TypeScript that come of ?. and are then said to be there by an exclamation mark."""
    if code.language not in ("typescript", "tsx") or "?." not in code.code:
        return
    for function in code.functions_with(("?.",)):
        statements = function.statements
        for index, statement in enumerate(statements):
            perhaps = _PERHAPS.fullmatch(statement.text)
            if perhaps is None or re.search(r"\?\?|\|\|", statement.text):
                continue
            use = _first_use(perhaps["name"], statements[index + 1 :], "javascript")
            if use is not None and re.search(rf"(?<![\w.]){perhaps['name']}!", use.text):
                yield CodeHit("flow/unchecked-absence", use.start, use.start + len(use.line.text))


# Go: a value with its error, and an entry of a map of pointers.
_WITH_ERROR = lazy_pattern(r"(?P<name>[a-z]\w*),\s*(?P<error>\w*[eE]rr)\s*:?=\s*[\w.]+\(")
_POINTER_MAPS = lazy_pattern(r"\b(\w+)\s*(?::?=\s*(?:make\()?|\s)map\[[\w.*]+\]\*\w")
_ENTRY = lazy_pattern(r"(?P<name>\w+)\s*:=\s*(?:\w+\.)*(?P<map>\w+)\[(?P<key>\w+)\]")


def go_values(code: CodeText) -> Iterator[CodeHit]:
    """Values of Go that are looked into before their error was, and entries that a map may not have."""
    if code.language != "go":
        return
    maps = set(_POINTER_MAPS.findall(code.code))
    places = sorted((*code.places(("rr != nil",)), *code.places_of_own(maps)))
    for function in code.functions_at(places):
        statements = function.statements
        for index, statement in enumerate(statements):
            use = None
            if (match := _WITH_ERROR.match(statement.text)) is not None:
                use = _used_before_error(match["name"], match["error"], statements[index + 1 :])
            elif (match := _ENTRY.fullmatch(statement.text)) is not None and match["map"] in maps:
                use = _used_entry(function, match, index)
            if use is not None:
                yield CodeHit("flow/unchecked-absence", use.start, use.start + len(use.line.text))


def _used_before_error(name: str, error: str, later: Sequence[Statement]) -> Statement | None:
    """The statement that looks into a value, if the next one that asks for the error comes after it."""
    looks = re.compile(rf"(?<![\w.&]){name}\.\w")
    for index, step in enumerate(later):
        if re.search(rf"(?<![\w.]){error}\b", step.text) or step.text.startswith("func"):
            return None
        if re.match(rf"defer\s+{name}\.Close\(\)", step.text):
            continue  # a file that is nil is closed without harm
        if looks.search(step.text):
            is_asked = any(
                re.search(rf"\b{error}\s*!=\s*nil", after.text) for after in later[index + 1 : index + 4]
            )
            return step if is_asked else None
        if re.search(rf"(?<![\w.]){name}\b", step.text):
            return None
    return None


def _used_entry(function: Function, match: re.Match[str], index: int) -> Statement | None:
    """The next statement, if it takes a field of an entry whose key a caller chose and nobody looked up."""
    head, key, name = function.head.text, match["key"], match["name"]
    if not re.search(rf"[(,]\s*{key}\b", head[head.find("(") :]):
        return None
    before = function.statements[1:index]
    if any(re.search(rf"(?<![\w.]){key}\b|\brange\b", step.text) for step in before):
        return None
    for step in function.statements[index + 1 :]:
        if re.search(rf"(?<![\w.&]){name}\.[A-Za-z]\w*(?!\w*\()", step.text):
            is_asked = re.search(rf"(?<![\w.]){name}\s*[!=]=", step.text) is not None
            return None if is_asked else step
        if re.search(rf"(?<![\w.]){name}\b", step.text):
            return None
    return None


_MAP_FIELD = lazy_pattern(r"(\w+)[ \t]+map\[[^`]*$")
_PUT = lazy_pattern(r"\.(\w+)\[[^\]\n]*\]\s*(?:[-+]?=(?!=)|\+\+)")
_MADE_EMPTY = lazy_pattern(r"&?\b[A-Z]\w*\{\}|\bnew\([A-Z]\w*\)")


def unmade_maps(code: CodeText) -> Iterator[CodeHit]:
    """Entries of Go that are put into a map which is a field and which nobody ever makes."""
    if code.language != "go":
        return
    lines = [code.lines[index] for index in code.indexes_with(("map[",))]
    matches = [_MAP_FIELD.match(line.text) for line in lines if line.indent > 0]
    fields = {match[1] for match in matches if match is not None and f".{match[1]}[" in code.code}
    if not fields or not _MADE_EMPTY.search(code.code):
        return
    puts = {match[1]: match for match in reversed(list(_PUT.finditer(code.code)))}
    for field in sorted(fields & puts.keys()):
        if not re.search(rf"\b{field}(?:\s*=(?!=)|:|\s*==\s*nil|,)|&\w+\.{field}\b", code.code):
            yield CodeHit("flow/unmade-map", puts[field].start(), puts[field].end())


_OPTIONAL = lazy_pattern(r"\bOptional(?:Int|Long|Double|<[^;=()]*>)\s+(?P<name>\w+)\s*(?:=|[,)])")
_OPTIONAL_METHOD = lazy_pattern(r"\bOptional<[^;=()]*>\s+(\w+)\(")
_OPENED = lazy_pattern(r"(?<![\w.])(\w+)\((?:[^()]|\([^()]*\))*\)\.get\(\)")
_ASKED_OPTIONAL = r"\b{0}\.(?:isPresent|isEmpty|ifPresent\w*|equals)\(|\b{0}\s*[!=]=|\(\s*{0}\s*\)"


def opened_optionals(code: CodeText) -> Iterator[CodeHit]:
    """Optionals of Java whose value is taken in a function that never asks whether there is one."""
    if code.language != "java" or "Optional" not in code.code:
        return
    methods = set(_OPTIONAL_METHOD.findall(code.code))
    for line in code.lines if methods else ():
        opened = _OPENED.search(line.text) if ".get()" in line.text else None
        if opened is not None and opened[1] in methods:
            yield CodeHit("flow/unchecked-absence", line.start, line.start + len(line.text))
    for function in code.functions_with(("Optional",)):
        part = code.part(function)
        for name in {match["name"] for match in _OPTIONAL.finditer(part)}:
            if re.search(_ASKED_OPTIONAL.format(name), part):
                continue
            for step in function.statements:
                if re.search(rf"(?<![\w.]){name}\.(?:get|getAsInt|getAsLong|getAsDouble)\(\)", step.text):
                    yield CodeHit("flow/unchecked-absence", step.start, step.start + len(step.line.text))
                    break


_NUMBER_MAPS = lazy_pattern(r"\bMap<[^;=()]*,\s*(?:Integer|Long|Double|Boolean|Short)>\s+(\w+)\b")
_UNBOXED = lazy_pattern(
    r"(?:return|(?:int|long|double|boolean)\s+\w+\s*=)\s+(?:this\.)?(\w+)\.get\(([^()]*)\)\s*;"
)
_PLAIN_RESULT = lazy_pattern(r"\b(?:int|long|double|boolean)\s+\w+\s*\(")


def unboxed_entries(code: CodeText) -> Iterator[CodeHit]:
    """Entries of maps of Java that become plain numbers: where there is none, that fails."""
    maps = set(_NUMBER_MAPS.findall(code.code)) if code.language == "java" and "Map<" in code.code else ()
    for function in code.functions_with((".get(",)) if maps else ():
        is_plain = _PLAIN_RESULT.search(function.head.text) is not None
        part = code.part(function)
        for line in function.body:
            match = _UNBOXED.match(line.text)
            if match is None or match[1] not in maps or (line.text.startswith("return") and not is_plain):
                continue
            if not re.search(
                rf"\b{match[1]}\.(?:containsKey|put\w*|computeIf\w*|merge|keySet)\(|\.entrySet\(", part
            ):
                yield CodeHit("flow/unchecked-absence", line.start, line.start + len(line.text))
