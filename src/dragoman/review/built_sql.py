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
    r"""(?P<prefix>[fFrRbBuU]{0,2})(?P<token>\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:\$\{[^{}\n]*\}|[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""",
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
    r"(?:[\w.]+\.)?(?:int|float|len|Number|Math\.\w+|parseInt|parseFloat|Itoa|FormatInt|toInt|toLong|\w*[qQ]uote\w*|\w*[iI]dent(?:ifier)?|escapeId|\w*[pP]laceholders?|Repeat|nCopies|size|length|count)\(.*\)",
    re.DOTALL,
)
_LENGTH = lazy_pattern(r"[\w.]+\.(?:length|size|count|Length|Count)(?:\s*[+-]\s*\d+)?")
_REPEATED = lazy_pattern(
    r"""["'][^"'{}$]*["'](?:\s*\*.*|\.repeat\(.*\))|.*\.fill\(["'][^"'$]*["']\)\.join\(.*\)"""
    r"""|.*\.joinToString(?:\(.*\))?\s*\{\s*"[^"$]*"\s*\}"""
    r"""|.*\.map\(\s*\(?[\w, ]*\)?\s*=>\s*"""
    r"""(?:["'][^"'$]*["']|`[^`$]*\$?\$\{\s*\w+\s*(?:\+\s*\d+\s*)?\}`)\s*\)\.join\(.*\)""",
    re.DOTALL,
)
_JOINED = lazy_pattern(
    r"""["'][^"'{}]*["']\.join\((?P<python>.*)\)|(?:strings\.Join|String\.join)\((?P<others>.*)\)|(?P<list>[\w.]+)\.join(?:ToString)?\(.*\)""",
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
    r"^[ \t]*(?:(?:export|private|internal|public|pub|static|final|const|val|var|String|Map<\w+, ?\w+>)"
    r"[ \t]+){1,5}"
    r"""\w+[ \t]*(?::[ \t]*[\w&'<>\[\], ]+)?=[ \t]*"""
    r"""(?:"[^"$\n]*"|'[^'\n]*'|`[^`$]*`|(?:new[ ]\w+\()?\[[^\[\]]*\]\)?"""
    r"""|(?:map\[string\]\w+)?\{[^{}]*\}(?:[ ]as[ ]const)?"""
    r"""|\w*\.?[oO]f\([^()]*\));?$"""
    r"""|^[a-z_]\w*[ \t]*=[ \t]*(?:"[^"\n]*"|\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\})$""",
    re.MULTILINE,
)
_ENUM = lazy_pattern(r"\benum\s+(?:class\s+)?(\w+)|\bclass\s+(\w+)\([^()]*Enum\)")


def is_own_statement(text: str, start: int) -> bool:
    """Whether all that is put into the statement which begins at an offset is of our own choice."""
    begin = _scope(text, start)
    # What is declared once for the whole text comes first.
    enums = (f"enum {one or other}" for one, other in _ENUM.findall(text))
    declared = (match[0] for match in _DECLARED.finditer(text))
    window = "\n".join((*enums, *declared, text[begin:start]))
    form = _FORMAT.search(text, start, start + 120)
    quote = _LITERAL.search(text, start, start + _LONGEST)
    if form is not None and (quote is None or form.start() < quote.start()):
        parts = list(_formatted(text_in_brackets(text[: form.end() + _LONGEST], form.end())))
    elif quote is not None:
        parts = [part for operand in _operands(text, quote.start()) for part in _inserted(operand)]
    else:
        return False
    if not parts or all(_is_own(part, window, _DEEPEST) for part in parts):
        return bool(parts)
    answered = _ANSWERED.sub(lambda match: _answer(match, text), window)
    return answered != window and all(_is_own(part, answered, _DEEPEST) for part in parts)


_ANSWERED = lazy_pattern(
    r"^(?P<indent>[ \t]*)(?P<names>\w+(?:, ?\w+){0,3}) = (?P<function>[a-z_]\w*)\(.*\)$", re.MULTILINE
)
"""Names that a function of Python gives values to, one or several at once."""


def _answer(match: re.Match[str], text: str) -> str:
    """The same names, with a text of our own for each that the function never gives anything else to."""
    defined = re.search(
        rf"^def {match['function']}\(.*\n(?P<body>(?:[ \t].*\n|\).*:\n|\n)*)", text, re.MULTILINE
    )
    body = defined["body"] if defined is not None else ""
    names = match["names"].replace(" ", "").split(",")
    answers = [list(_arguments(given)) for given in re.findall(r"(?m)^[ \t]+return\b[ \t]*(.*)$", body)]
    if not answers or any(len(answer) != len(names) for answer in answers):
        return match[0]
    window = defined[0] if defined is not None else ""
    values = (
        '""' if all(_is_own(answer[place], window, _DEEPEST) for answer in answers) else "?"
        for place in range(len(names))
    )
    return "\n".join(f"{match['indent']}{name} = {value}" for name, value in zip(names, values, strict=True))


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
    if literal is None or operand.startswith((".join(", ".repeat("), literal.end()):
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
        or any(pattern.fullmatch(part) for pattern in (_CONSTANT, _OWN_FIELD, _SAFE_CALL, _REPEATED))
    ):
        return True
    if _MARKS.fullmatch(part) and not _values(part, window):
        return True
    if _is_enum(part, window):
        return True
    if (lookup := _LOOKUP.fullmatch(part)) is not None:
        names = (lookup["table"], *([lookup["default"]] if lookup["default"] else ()))
        return all(_is_own(name, window, depth - 1) for name in names)
    if (joined := _JOINED.fullmatch(part)) is not None:
        return _is_own_list(joined["python"] or joined["list"] or joined["others"] or "", window, depth - 1)
    if (form := _FORMAT.match(part)) is not None and part.endswith(")"):
        return all(_is_own(value, window, depth - 1) for value in _formatted(part[form.end() : -1]))
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
    if (made := _LIST.fullmatch(text)) is not None:
        return all(
            _is_own(_KEY.sub("", element), window, depth - 1)
            for element in _arguments(made["square"] or made["round"] or made["curly"] or "")
        )
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
    values = _values(name, window)
    return bool(values) and all(
        _EMPTY.fullmatch(value) or _is_own_list(value, window, depth) for value in values
    )


def _values(name: str, window: str) -> list[str]:
    """All that a function gives to a name, or puts into the list of that name; nothing if it never does."""
    # At the beginning of a line: a parameter with a default is not set here.
    assigned = re.compile(
        rf"^[ \t]*(?:[\w<>\[\]]+[ \t]+){{0,5}}{name}[ \t]*(?::[^=()\n]+)?:?=[ \t]*(?![=>])", re.MULTILINE
    )
    values = [_expression(window, match.end()) for match in assigned.finditer(window)]
    values += re.findall(rf"(?m)\bfor\s+{name}\s+in\s+(.+):$", window)
    values += re.findall(rf"(?m)\bfor\s*\(\w+\s+{name}\s+of\s+(.+)\)\s*\{{$", window)
    for match in re.finditer(
        rf"(?m)^[ \t]*(?P<before>(?:\w+\s*,\s*)*){name}(?P<after>(?:\s*,\s*\w+)*)\s*:?=(?!=)(?P<values>.+)$",
        window,
    ):
        before, after = match["before"].count(","), match["after"].count(",")
        if before or after:
            parts = list(_arguments(match["values"]))
            is_looked_up = len(parts) == after == 1 and not before
            values.append(parts[before] if is_looked_up or len(parts) == before + after + 1 else "?")
    if not values:
        return []
    values += [
        text_in_brackets(window, match.end())
        for match in re.finditer(rf"(?<![\w.]){name}\.(?:append|push|add|extend)\(", window)
    ]
    values += re.findall(rf"(?<![\w.]){name}(?:\[[^\]\n]*\]\s*=(?!=)|\s*\+=)\s*(.+)", window)
    values = [value.strip().rstrip("; ") for value in values]
    # Of a list that is made of itself and more, only the more counts.
    return [re.sub(rf"^append\(\s*{name}\s*,(.*)\)$", r"[\1]", value) for value in values]


def _is_enum(part: str, window: str) -> bool:
    """Whether an expression is of a type that has no other values than those that are written in the text."""
    made = re.fullmatch(r"([A-Z]\w*)(?:\.valueOf)?[\[(].*[\])](?:\.\w+(?:\(\))?)*", part, re.DOTALL)
    if made is not None:
        return f"enum {made[1]}\n" in window
    field = re.fullmatch(r"(\w+)(?:\.\w+(?:\(\))?)+", part)
    if field is None:
        return False
    kinds = re.findall(rf"\b([A-Z]\w*)\s+{field[1]}\b|\b{field[1]}\s*:\s*([A-Z]\w*)", window)
    values = _values(field[1], window)
    return any(f"enum {one or other}\n" in window for one, other in kinds) or (
        bool(values) and all(_is_enum(value, window) for value in values)
    )


_LOOKUP = lazy_pattern(
    r"(?P<table>[A-Za-z_]\w*)"
    r"(?:\[[^\[\]]*(?:\[[^\[\]]*\])?[^\[\]]*\]|\.(?:get|getOrDefault|getValue)\((?:[^(),]|\([^()]*\))*(?:,(?P<default>[^()]*))?\))",
    re.DOTALL,
)
_LIST = lazy_pattern(
    r"(?:(?:\[\]|map\[string\])\w+|new\s+\w+(?:<.*?>)?|\w*(?:[lL]ist|[mM]ap|[sS]et|array|\.)[oO]f(?:<.*?>)?|(?:new\s+)?StringBuilder)?"
    r"(?:\[(?P<square>.*)\]|\((?P<round>.*)\)|\{(?P<curly>.*)\})(?:\s*\*.+|\s+as\s+const)?",
    re.DOTALL,
)
_KEY = lazy_pattern(r"""^\s*["']?\w+["']?\s*(?::|\bto\b)\s*""")


_EMPTY = lazy_pattern(
    r"""\[\s*\]|list\(\)|make\(.*\)|new\s+\w+\[.*\]|new\s+(?:ArrayList|StringBuilder)(?:<.*>)?\(\)|mutableListOf(?:<.*>)?\(\)|\[\]string\{\}|""|\'\'"""
)


_LEAVES = lazy_pattern(r"throw\b|return\b|error\(|panic!|raise\b")


def _expression(window: str, place: int) -> str:
    """What is assigned, to the end of its line, or of its brackets."""
    line = window[place:].partition("\n")[0]
    if re.match(r"(?:when|match|switch)\b.*\{$", line):
        inside = text_in_brackets(window, place + len(line))
        branches = re.findall(r"(?m)(?:->|=>)\s*(.+?)[,;]?$", inside)
        return f"[{', '.join(branch for branch in branches if not _LEAVES.match(branch))}]"
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
            rf"|\bif\b[^\n]*\bok\s*:?=\s*\w+\[\s*{name}\s*\]|\brequire\(\s*{name}\s+in\b"
            rf"|\bif\b[^\n]*(?:\.(?:includes|contains|has|containsKey|contains_key)\(\s*&?|\bContains\([^()\n]*,\s*){name}\s*\)"
            rf"|\b{name}\.(?:isidentifier|isalnum|isalpha|isdigit)\(\)|\b(?:fullmatch|match|test|MatchString)\([^()\n]*\b{name}\s*\)",
            window,
        )
        is not None
    )
