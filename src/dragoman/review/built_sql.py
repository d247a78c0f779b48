"""Statements of SQL that are built of texts of our own alone. Pure.

Whoever builds a statement from constants, from columns of a list, from marks of parameters or from numbers
does nothing wrong, though it looks like the mistake. What is not understood here is taken for a stranger's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import text_in_brackets

_LONGEST = 2000
"""Characters of a statement that are looked at."""
_DEEPEST = 10
"""Names that a name may be made of, one of another."""

_LITERAL = lazy_pattern(
    r"""(?P<prefix>[fFrRbBuU]{0,2})(?P<token>\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""",
    re.DOTALL,
)
_FORMAT = lazy_pattern(r"(?:[\w.]*[sS]printf|String\.format|format!)\(\s*")
_FORMAT_AFTER = lazy_pattern(r"\s*\.(?:format|formatted)\(")
_NUMBERS = lazy_pattern(r"(?:[^%]|%%|%\d*d)*")

_CONSTANT = lazy_pattern(r"(?:\w+(?:\.|::))*_?[A-Z][A-Z0-9_]+(?:\.(?:get\w*|value)\b.*|\[.*\])?", re.DOTALL)
_MARKS = lazy_pattern(r"(?:\w+\.)*\w*(?:[pP]laceholder|[mM]ark|[qQ]uestion)(?:er)?s?")
_OWN_FIELD = lazy_pattern(
    r"(?:self|cls|this|s|r|d)\.\w*(?:[tT]able|[sS]chema|[cC]olumn|[fF]ields|[rR]elation|[pP]refix|[vV]iew)\w*(?:\(\))?"
)
_SAFE_CALL = lazy_pattern(
    r"(?:[\w.]+\.)?(?:int|float|len|Number|parseInt|parseFloat|Itoa|FormatInt|toInt|toLong|\w*[qQ]uote\w*|\w*[iI]dent(?:ifier)?|escapeId|\w*[pP]laceholders?|Repeat|nCopies|size|length|count)\(.*\)",
    re.DOTALL,
)
_LENGTH = lazy_pattern(r"[\w.]+\.(?:length|size|count|Length|Count)(?:\s*[+-]\s*\d+)?")
_REPEATED = lazy_pattern(
    r"""["'][^"'{}$]*["'](?:\s*\*.*|\.repeat\(.*\))"""
    r"""|.*\.map\(\s*\(?[\w, ]*\)?\s*=>\s*"""
    r"""(?:["'][^"'$]*["']|`[^`$]*\$?\$\{\s*\w+\s*(?:\+\s*\d+\s*)?\}`)\s*\)\.join\(.*\)""",
    re.DOTALL,
)
_JOINED = lazy_pattern(
    r"""["'][^"'{}]*["']\.join\((?P<python>.*)\)|(?P<list>[\w.]+)\.join(?:ToString)?\(.*\)|(?:strings\.Join|String\.join)\((?P<others>.*)\)""",
    re.DOTALL,
)
_ELEMENTS = lazy_pattern(
    r"[\[(]?\s*(?P<element>.+?)\s+for\s+(?P<name>\w+)(?:\s*,\s*\w+)?\s+in\s+(?P<list>.+?)\s*[\])]?", re.DOTALL
)
_CHOICE = lazy_pattern(
    r"(?P<one>[^?]+?)\s+if\s.+\selse\s+(?P<other>.+)|.+?\?(?P<yes>[^:]+):(?P<no>.+)|(?:.*\bif\s*\([^()]*\)\s*)(?P<then>\S+)\s+else\s+(?P<else>\S+)",
    re.DOTALL,
)
_NUMBER_TYPES = (
    r"\b(?:u?int(?:8|16|32|64)?|long|short|Integer|Long|Int|Short|UUID|[iu](?:8|16|32|64)|[iu]size)\b"
)


_DECLARED = lazy_pattern(
    r"^[ \t]*(?:(?:export|private|internal|public|pub|static|final|const|val|String)[ \t]+){1,5}"
    r"""\w+[ \t]*(?::[ \t]*[\w&' ]+)?=[ \t]*"""
    r"""(?:"[^"$\n]*"|'[^'\n]*'|`[^`$]*`|\[[^\[\]]*\]|\w*[oO]f\([^()]*\));?$"""
    r"""|^[a-z_]\w*[ \t]*=[ \t]*(?:"[^"\n]*"|\[[^\[\]]*\]|\([^()]*\))$""",
    re.MULTILINE,
)


def is_own_statement(text: str, start: int) -> bool:
    """Whether all that is put into the statement which begins at an offset is of our own choice."""
    begin = _scope(text, start)
    # What is declared once for the whole text comes first.
    window = "\n".join((*_DECLARED.findall(text), text[begin:start]))
    form = _FORMAT.search(text, start, start + 120)
    quote = _LITERAL.search(text, start, start + _LONGEST)
    if form is not None and (quote is None or form.start() < quote.start()):
        parts = list(_formatted(text_in_brackets(text[: form.end() + _LONGEST], form.end())))
    elif quote is not None:
        parts = [part for operand in _operands(text, quote.start()) for part in _inserted(operand)]
    else:
        return False
    return bool(parts) and all(_is_own(part, window, _DEEPEST) for part in parts)


_HEAD = lazy_pattern(
    r"[ \t]*(?:async[ \t]+)?def\b|[ \t]*func\b|.*\bfun\b|.*\bfn[ \t]+\w|.*\bfunction\b|.*=>[ \t]*\{?$"
    r"|(?!.*\b(?:if|for|while|switch|catch|try|else|with)\b)[ \t]+[\w<>\[\], ]*\w+[ \t]*\(.*\)?.*\{$"
)


def _scope(text: str, start: int) -> int:
    """Where the outermost function around an offset begins; where the text does if there is none."""
    lines = text[:start].split("\n")
    indent = len(lines[-1]) - len(lines[-1].lstrip()) if lines[-1].strip() else len(lines[-1])
    end = start - len(lines[-1])
    found = 0
    at = end
    for line in reversed(lines[:-1]):
        at -= len(line) + 1
        own = len(line) - len(line.lstrip())
        if line.strip() and own < indent:
            indent = own
            if _HEAD.match(line):
                found = at
        if line.strip() and not own and found:
            break
    return found


def _operands(text: str, start: int) -> Iterator[str]:
    """The parts of a sum of texts."""
    at = begin = start
    depth = 0
    end = min(len(text), start + _LONGEST)
    while at < end:
        literal = _LITERAL.match(text, at) if text[at] in "\"'`fFrRbBuU" else None
        if literal is not None and (literal.start() == begin or not text[at - 1].isalnum()):
            at = literal.end()
            continue
        letter = text[at]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and letter == "+":
            yield text[begin:at]
            begin = at + 1
        elif depth == 0 and (letter in ";," or (letter == "\n" and _ends(text, begin, at))):
            break
        at += 1
    yield text[begin:at]


def _ends(text: str, begin: int, at: int) -> bool:
    """Whether an expression ends with its line."""
    after = text[at : at + 200].lstrip()
    return bool(text[begin:at].strip()) and not after.startswith(("+", ".", '"', "'", 'f"', "f'", "%"))


def _inserted(operand: str) -> Iterator[str]:
    """What an operand of a sum puts into the statement; nothing if it is a plain text."""
    operand = operand.strip()
    literal = _LITERAL.match(operand)
    if literal is None:
        yield operand
        return
    at = 0
    while literal is not None:
        yield from _interpolated(literal)
        at = literal.end()
        literal = _LITERAL.match(operand, at + len(operand[at:]) - len(operand[at:].lstrip()))
    rest = operand[at:].strip()
    if (after := _FORMAT_AFTER.match(rest)) is not None:
        yield from _arguments(text_in_brackets(rest, after.end()))
    elif rest.startswith("%"):
        values = rest[1:].strip()
        yield from _arguments(text_in_brackets(values, 1) if values.startswith("(") else values)


def _interpolated(literal: re.Match[str]) -> Iterator[str]:
    token = literal["token"]
    if "f" in literal["prefix"].lower():
        yield from (part.partition("!")[0] for part in re.findall(r"(?<!\{)\{([^{}]+)\}", token))
    else:
        # Of Kotlin and of templates.
        for match in re.finditer(r"\$\{((?:[^{}]|\{[^{}]*\})*)\}|\$([A-Za-z_]\w*)", token):
            yield match[1] or match[2]


def _formatted(arguments: str) -> Iterator[str]:
    """What a call puts into its first argument."""
    form, *values = _arguments(arguments)
    if "%" in form and _NUMBERS.fullmatch(form):
        yield "0"  # a number is no text
    else:
        yield from values
        yield from re.findall(r"\{([A-Za-z_]\w*)\}", form)


def _arguments(text: str) -> Iterator[str]:
    depth = begin = 0
    at = 0
    while at < len(text):
        literal = _LITERAL.match(text, at) if text[at] in "\"'`" else None
        if literal is not None:
            at = literal.end()
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if text[at] == "," and depth == 0:
            yield _value(text[begin:at])
            begin = at + 1
        at += 1
    if text[begin:].strip():
        yield _value(text[begin:])


def _value(argument: str) -> str:
    return re.sub(r"^\s*\w+\s*=\s*(?!=)|^\s*\*", "", argument).strip()


def _is_own(part: str, window: str, depth: int) -> bool:
    """Whether an expression can have no other value than one that was written here, or a number."""
    part = part.strip()
    if not part or depth < 0:
        return False
    literal = _LITERAL.fullmatch(part)
    if literal is not None:
        return all(_is_own(inner, window, depth - 1) for inner in _interpolated(literal))
    if (
        part.isdigit()
        or _LENGTH.fullmatch(part)
        or any(pattern.fullmatch(part) for pattern in (_CONSTANT, _MARKS, _OWN_FIELD, _SAFE_CALL, _REPEATED))
    ):
        return True
    if (joined := _JOINED.fullmatch(part)) is not None:
        return _is_own_list(joined["python"] or joined["list"] or joined["others"] or "", window, depth - 1)
    if (text := re.fullmatch(r"(?:str|String|f64|i64)\((.*)\)", part, re.DOTALL)) is not None:
        return _is_own(text[1], window, depth - 1)
    if (choice := _CHOICE.fullmatch(part)) is not None:
        return all(_is_own(value, window, depth - 1) for value in choice.groups() if value)
    if (either := re.fullmatch(r"(.+?)\s*(?:\bor\b|\|\||\?\?|\?:)\s*(.+)", part, re.DOTALL)) is not None:
        return all(_is_own(value, window, depth - 1) for value in either.groups())
    return re.fullmatch(r"[A-Za-z_]\w*", part) is not None and _is_own_name(part, window, depth - 1)


def _is_own_list(text: str, window: str, depth: int) -> bool:
    """Whether every element of a list is of our own choice."""
    text = re.sub(r"^\s*[\"'][^\"']*[\"']\s*,|,\s*[\"'][^\"']*[\"']\s*$", "", text).strip()
    elements = None if _JOINED.fullmatch(text) else _ELEMENTS.fullmatch(text)
    if elements is not None:
        inner = window
        is_checked = re.search(rf"\bif\s+{elements['name']}\s+in\b", elements["list"]) is not None
        if is_checked or _is_own_list(elements["list"], window, depth - 1):
            inner += f'\n{elements["name"]} = ""\n'
        return _is_own(elements["element"], inner, depth - 1)
    if text[:1] in "[({" and text[-1:] in "])}":
        return all(_is_own(element, window, depth - 1) for element in _arguments(text[1:-1]))
    return _is_own(text, window, depth)


def _is_own_name(name: str, window: str, depth: int) -> bool:
    """Whether a name of a function has nothing but values of our own choice, or numbers."""
    if depth < 0:
        return False
    # In Python nothing holds a caller to the type of a parameter.
    is_python = re.search(r"^\s*(?:async\s+)?def\b", window, re.MULTILINE) is not None
    if not is_python and re.search(
        rf"{_NUMBER_TYPES}\s+{name}\b|\b{name}\s*:\s*{_NUMBER_TYPES}|\b{name}(?:,\s*\w+)*\s+{_NUMBER_TYPES}",
        window,
    ):
        return True
    if _is_checked(name, window):
        return True
    # At the beginning of a line: a parameter with a default is not set here.
    assigned = re.compile(
        rf"^[ \t]*(?:[\w<>\[\]]+[ \t]+){{0,5}}{name}[ \t]*(?::[^=()\n]+)?:?=[ \t]*(?![=>])", re.MULTILINE
    )
    places = [match.end() for match in assigned.finditer(window)]
    values = [_expression(window, place) for place in places]
    values += re.findall(rf"(?m)\bfor\s+{name}\s+in\s+(.+):$", window)
    values += re.findall(rf"(?m)\bfor\s*\(\w+\s+{name}\s+of\s+(.+)\)\s*\{{$", window)
    values += re.findall(rf"(?m)^[ \t]*{name}\s*,\s*\w+\s*:?=\s*(\[\])\s*,", window)
    if not values:
        return False
    values += [
        text_in_brackets(window, match.end())
        for match in re.finditer(rf"(?<![\w.]){name}\.(?:append|push|add|extend)\(", window)
    ]
    values += re.findall(rf"(?<![\w.]){name}\s*\+=\s*(.+)", window)
    values = [value.strip().rstrip("; ") for value in values]
    return all(_EMPTY.fullmatch(value) or _is_own_list(value, window, depth) for value in values)


_EMPTY = lazy_pattern(
    r"""\[\s*\]|list\(\)|new\s+(?:ArrayList|StringBuilder)(?:<.*>)?\(\)|mutableListOf(?:<.*>)?\(\)|\[\]string\{\}|""|\'\'"""
)


def _expression(window: str, place: int) -> str:
    """What is assigned, to the end of its line, or of its brackets."""
    line = window[place:].partition("\n")[0]
    opening = line[:1]
    if opening and opening in "[({":
        return f"{opening}{text_in_brackets(window, place + 1)}{'])}'['[({'.index(opening)]}"
    return line


def _is_checked(name: str, window: str) -> bool:
    """Whether the function refuses what is not in a list, or not a plain name."""
    return (
        re.search(
            rf"\b(?:if|assert|unless)\b[^\n]*(?<![\w.]){name}\s+(?:not\s+)?in\b"
            rf"|\bif\b[^\n]*(?:[aA]llow\w*|[A-Z][A-Z0-9_]{{2,}}|[vV]alid\w*|[kK]nown\w*|[pP]ermitted\w*|[cC]olumns|[sS]ortable\w*)(?:\.\w+)?[\[(]\s*{name}\s*[\])]"
            rf"|\b{name}\.(?:isidentifier|isalnum|isalpha|isdigit)\(\)|\b(?:fullmatch|match|test|MatchString)\([^()\n]*\b{name}\s*\)",
            window,
        )
        is not None
    )
