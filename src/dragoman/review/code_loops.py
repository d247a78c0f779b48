"""Loops that change what they walk through, or read past its end, in every language with blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeLine, CodeText

_LEAVES = lazy_pattern(r"(?:return|throw|raise|break|continue|panic!?|os\.Exit)\b")


def _hit(rule: str, line: CodeLine) -> CodeHit:
    return CodeHit(rule, line.start, line.start + len(line.text))


_EACH = lazy_pattern(
    r"for\s*\(?\s*(?:final\s+)?(?:[\w<>\[\], ]+\s+)?(?P<item>\w+)(?:\s+(?:in|of)\s+"
    r"|\s*:\s*)(?P<list>[\w.]+)\s*(?:\)\s*\{?|:|\{)?$"
)
# Pairs of a number and an element, of Python.
_NUMBERED = lazy_pattern(r"for\s+(?P<i>\w+)\s*,\s*\w+\s+in\s+enumerate\(\s*(?P<list>[\w.]+)\s*\)\s*:$")
_NUMBERS = lazy_pattern(r"for\s+(?P<i>\w+)\s+in\s+range\(\s*len\(\s*(?P<list>[\w.]+)\s*\)\s*\)\s*:$")
_GO_RANGE = lazy_pattern(
    r"for\s+(?P<i>\w+)(?:\s*,\s*\w+)?\s*:=\s*(?:range\s+(?P<list>[\w.]+)"
    r"|0\s*;\s*(?P=i)\s*<\s*len\((?P<counted>[\w.]+)\)\s*;.*)\s*\{$"
)
_KEYS = lazy_pattern(
    r"for\s*\(\s*(?:final\s+)?[\w<>.,\[\] ?]+\s+(?P<item>\w+)\s*:\s*(?P<list>[\w.]+)\.(?:keySet"
    r"|entrySet|values)\(\)\s*\)"
)
_CALLBACK = lazy_pattern(r"(?P<list>[\w.]+)\.forEach\s*(?:\(|\{)(?P<rest>.*)$")
# The entries of a dictionary of Python: a loop over them fails when one is taken out.
_ENTRIES = lazy_pattern(r"for\s+[\w, ()]+\s+in\s+(?P<list>[\w.]+)\.(?:items|keys|values)\(\)\s*:$")
_COUNTED = lazy_pattern(
    r"for\s*\(\s*(?:let|var|int)\s+(?P<i>\w+)\s*=\s*0\s*;\s*(?P=i)\s*<\s*(?P<list>[\w.]+)\.(?:length"
    r"|size\(\))\s*;\s*(?:(?P=i)\+\+|\+\+(?P=i))\s*\)"
)


def _change_of(text: str, language: str) -> str | None:
    """A pattern of what changes that which the loop walks through; None for another line."""
    pattern = None
    if (each := _EACH.match(text)) is not None and each["list"] not in ("self", "this"):
        name = re.escape(each["list"])
        pattern = (
            rf"(?<![\w.]){name}\.(?:remove|removeAt|pop|popleft|insert|append|add|discard|delete|clear"
            rf"|extend|unshift|splice"
            rf"|addAll|removeAll)\(|\bdel\s+{name}\[[^\[\]]*\]\s*$"
        )
        if language in _LIVE_SETS:
            # Their sets and maps may lose elements while somebody walks through them.
            pattern = rf"(?<![\w.]){name}\.(?:splice|unshift|shift|pop)\("
    elif (numbers := _NUMBERED.match(text) or _NUMBERS.match(text)) is not None:
        name, at = re.escape(numbers["list"]), numbers["i"]
        pattern = rf"(?<![\w.]){name}\.(?:pop|remove|insert)\(|\bdel\s+{name}\[\s*{at}\s*\]"
    elif (keys := _KEYS.match(text)) is not None:
        pattern = rf"(?<![\w.]){re.escape(keys['list'])}\.(?:remove|put|clear)\("
    elif language == "go" and (ranged := _GO_RANGE.match(text)) is not None:
        name, at = re.escape(ranged["list"] or ranged["counted"]), ranged["i"]
        pattern = (
            rf"(?<![\w.]){name}\s*=\s*append\(\s*{name}\[:{at}\]|(?<![\w.]){name}\s*=\s*slices\.Delete\("
        )
    elif (entries := _ENTRIES.match(text)) is not None:
        name = re.escape(entries["list"])
        pattern = rf"(?<![\w.]){name}\.(?:pop|popitem|clear)\(|\bdel\s+{name}\[[^\[\]]*\]\s*$"
    elif (counter := _COUNTED.match(text)) is not None:
        pattern = rf"(?<![\w.]){re.escape(counter['list'])}\.(?:splice|remove)\(\s*{counter['i']}\b"
    return pattern


def changed_loops(code: CodeText) -> Iterator[CodeHit]:
    """Loops that remove from what they walk through."""
    if "for" not in code.code:
        return
    for index in code.indexes_with(("for",)):
        line = code.lines[index]
        if ".forEach" in line.text:
            yield from _changed_in_callback(code, index)
        if not line.text.startswith("for"):
            continue
        body = code.block(index)
        if not body or not _VERBS.search(code.code, body[0].start, body[-1].start + len(body[-1].text)):
            continue
        pattern = _change_of(line.text, code.language)
        if pattern is None:
            continue
        if any(step.indent == body[0].indent and _LEAVES.match(step.text) for step in body):
            continue  # it never comes to a second round
        for at, step in enumerate(body):
            if not re.search(pattern, step.text):
                continue
            # Whoever leaves the loop after it, or steps back, has thought of it.
            near = " ".join(later.text for later in _to_end_of_block(body, at))
            if not re.search(r"\b(?:break|return)\b|--", near):
                yield _hit("logic/changed-while-iterating", step)


def _to_end_of_block(body: Sequence[CodeLine], at: int) -> Iterator[CodeLine]:
    yield body[at]
    for later in body[at + 1 :]:
        if later.indent < body[at].indent:
            return
        yield later


# What the patterns of changes begin with: to compile one of them costs more than to look through a loop.
_VERBS = lazy_pattern(
    r"\.(?:remove|pop|insert|append|add|discard|delete|clear|extend|unshift|shift|splice|put)\w*\("
    r"|\bdel\s|append\(|slices\.Delete"
)
_LIVE_SETS = ("javascript", "typescript", "tsx")


def _changed_in_callback(code: CodeText, index: int) -> Iterator[CodeHit]:
    match = _CALLBACK.search(code.lines[index].text)
    if match is None:
        return
    name = re.escape(match["list"])
    verbs = "splice|unshift" if code.language in _LIVE_SETS else "remove|add|removeAt|clear|put"
    pattern = re.compile(rf"(?<![\w.]){name}\.(?:{verbs})\(")
    if pattern.search(match["rest"]):
        yield _hit("logic/changed-while-iterating", code.lines[index])
    for step in code.block(index):
        if pattern.search(step.text):
            yield _hit("logic/changed-while-iterating", step)


_NEXT = (
    lazy_pattern(r"for\s+(?P<i>\w+)\s*:=\s*range\s+(?P<list>[\w.]+)\s*\{"),
    lazy_pattern(r"for\s*\(?.*?\b(?P<i>\w+)\s*<\s*(?P<list>[\w.]+)\.(?:length(?:\(\))?|size\(\)|size)\s*;.*"),
    # A loop without a step of its own moves as it sees fit.
    lazy_pattern(r"for\s+(?P<i>\w+)\s*:=\s*0\s*;\s*(?P=i)\s*<\s*len\((?P<list>[\w.]+)\)\s*;(?!\s*\{).*"),
    lazy_pattern(
        r"for\s+(?P<i>\w+)\s+in\s+\d+\.\.(?:(?P<list>[\w.]+)\.len\(\)|=\s*\(?(?P<to_last>[\w.]+)\.len\(\)\s*-\s*1\)?)\s*\{"
    ),
    lazy_pattern(r"for\s+(?P<i>\w+)\s+in\s+range\(len\((?P<list>[\w.]+)\)\):"),
    lazy_pattern(r"for\s*\((?P<i>\w+)\s+in\s+(?:0\s+until\s+)?(?P<list>[\w.]+)\.(?:size|indices)\)"),
    # To the last, and that one too.
    lazy_pattern(r"for\s+(?P<i>\w+)\s*:=\s*\d+\s*;\s*(?P=i)\s*<=\s*len\((?P<list>[\w.]+)\)\s*-\s*1\s*;.*"),
    lazy_pattern(r"for\s*\((?P<i>\w+)\s+in\s+\d+\.\.(?P<list>[\w.]+)\.(?:size\s*-\s*1|lastIndex)\)"),
)
_PAST_END = (
    lazy_pattern(
        r"for\s*\(?.*?\b(?P<i>\w+)\s*(?::?=)\s*\d+\s*;\s*(?P=i)\s*<=\s*(?:(?P<list>[\w.]+)\.(?:length(?:\(\))?"
        r"|size\(\)|size|Length|Count)|len\((?P<go>[\w.]+)\))\s*;"
    ),
    lazy_pattern(r"for\s+(?P<i>\w+)\s+in\s+0\.\.=\s*(?P<list>[\w.]+)\.len\(\)\s*\{"),
    lazy_pattern(r"for\s*\((?P<i>\w+)\s+in\s+\d+\.\.(?P<list>[\w.]+)\.(?:size|length|count\(\))\)"),
    lazy_pattern(r"for\s+(?P<i>\w+)\s+in\s+range\(\s*(?:\d+\s*,\s*)?len\((?P<list>[\w.]+)\)\s*\+\s*1\s*\):"),
    lazy_pattern(
        r"while\s*\(?\s*(?P<i>\w+)\s*<=\s*(?:len\((?P<list>[\w.]+)\)|(?P<go>[\w.]+)\.(?:length(?:\(\))?"
        r"|size\(\)|size|len\(\)))\s*\)?\s*[{:]?$"
    ),
    lazy_pattern(
        r"for\s*\(\s*(?:let|var|int)\s+(?P<i>\w+)\s*=\s*(?P<list>[\w.]+)\.(?:length(?:\(\))?"
        r"|size\(\))\s*;\s*(?P=i)\s*>=?\s*0\s*;"
    ),
    # From the end to the beginning.
    lazy_pattern(r"for\s+(?P<i>\w+)\s+in\s+range\(\s*len\((?P<list>[\w.]+)\)\s*,\s*-?\d+\s*,\s*-1\s*\):"),
    lazy_pattern(r"for\s+(?P<i>\w+)\s*:=\s*len\((?P<list>[\w.]+)\)\s*;\s*(?P=i)\s*>=?\s*0\s*;"),
    lazy_pattern(r"for\s*\((?P<i>\w+)\s+in\s+(?P<list>[\w.]+)\.(?:size|length)\s+downTo\s"),
)


# How the patterns above, all of them, name the end.
_LENGTHS = ("len", "range", "size", "Length", "ount", "indices")
_STRIDE = lazy_pattern(r"\+=\s*(?!1\b)\w")


def past_the_end(code: CodeText) -> Iterator[CodeHit]:
    """Loops that read one element more than there is."""
    for index in code.indexes_with(("for", "while")):
        line = code.lines[index]
        if not line.text.startswith(("for", "while")) or not any(word in line.text for word in _LENGTHS):
            continue
        ends = [match for pattern in _PAST_END if (match := pattern.match(line.text))]
        nexts = [match for pattern in _NEXT if (match := pattern.match(line.text))]
        if not ends and not nexts:
            continue
        body = " ".join(
            (
                line.text.split("{", 1)[-1] if "{" in line.text else line.text,
                *(step.text for step in code.block(index)),
            )
        )
        if any(_reads_past_end(match, body) for match in ends):
            yield _hit("logic/off-by-one", line)
        # Whoever takes several elements a round knows that they come in groups.
        if not _STRIDE.search(line.text) and any(
            _reads_next(match, body.replace(line.text, ""), body) for match in nexts
        ):
            yield _hit("logic/off-by-one", line)


def _reads_past_end(match: re.Match[str], body: str) -> bool:
    groups = match.groupdict()
    name, at = re.escape(groups.get("list") or groups.get("go") or ""), match["i"]
    read = rf"(?<![\w.]){name}(?:\[\s*{at}\s*\]|\.(?:get|charAt|at)\(\s*{at}\s*\))"
    guard = rf"\b{at}\s*(?:===?|!==?|>=|<)\s*(?:len\(\s*{name}\s*\)|{name}\.(?:length|size|len)\b)"
    return re.search(read, body) is not None and re.search(guard, body) is None


def _reads_next(match: re.Match[str], inside: str, body: str) -> bool:
    """Whether the element behind the current one is read, and nothing inside of the loop sees to the last."""
    groups = match.groupdict()
    name, at = re.escape(groups["list"] or groups["to_last"]), match["i"]
    read = rf"(?<![\w.]){name}(?:\[\s*{at}\s*\+\s*1\s*\]|\.(?:get|charAt)\(\s*{at}\s*\+\s*1\s*\))"
    guard = (
        rf"\b{at}\s*\+\s*1\s*(?:<|>=|==|!=)|\b{at}\s*(?:<|>=|==|!=|>)\s*(?:len\({name}\)"
        rf"|{name}\.(?:length|size\(\)|len\(\)))\s*-\s*1"
    )
    if re.search(read, body) is None or re.search(guard, inside) is not None:
        return False
    # In a script there is undefined behind the end, and whoever asks for it has thought of it.
    kept = re.search(rf"(?:const|let|var)\s+(?P<kept>\w+)\s*=\s*{read}", body)
    return (
        kept is None
        or re.search(rf"\bif\s*\(\s*!?{kept['kept']}\b|\b{kept['kept']}\s*(?:&&|\?)", body) is None
    )


_BOUND = lazy_pattern(
    r"(?:(?:let|var|int|const|mut|val)\s+)*(?:\w+\s*,\s*)?(?P<name>hi|high|right|end|upper|r"
    r"|h)\s*(?::\s*\w+\s*)?:?=\s*(?:0\s*,\s*)?"
    r"(?:len\((?P<list>[\w.]+)\)|(?P<other>[\w.]+)\.(?:length|size\(\)|size|len\(\)))\s*;?"
)
_UNTIL = lazy_pattern(r"(?:while|for)\s*\(?\s*(?P<low>\w+)\s*<=\s*(?P<name>\w+)\s*\)?\s*[{:]")


def inclusive_bounds(code: CodeText) -> Iterator[CodeHit]:
    """Searches whose upper bound is the length, and may be reached."""
    if "<=" not in code.code:
        return
    for function in code.functions_with(("<=",)):
        bounds: dict[str, str] = {}
        for index, line in enumerate(function.body):
            if (bound := _BOUND.fullmatch(line.text)) is not None:
                bounds[bound["name"]] = bound["list"] or bound["other"]
            until = _UNTIL.match(line.text)
            if until is None or until["name"] not in bounds:
                continue
            body = " ".join(step.text for step in function.body[index + 1 :])
            if re.search(rf"(?<![\w.]){re.escape(bounds[until['name']])}(?:\[|\.get\()", body):
                yield _hit("logic/off-by-one", line)


_FOR = lazy_pattern(
    r"for\s*\(?\s*(?:(?:let|var|int|long|const|size_t|final)\s+)?(?P<first>\w+)\s*:?=[^;]*;"
    r"\s*(?P<left>\w+)\s*(?P<sign><=?|>=?)\s*(?P<bound>[^;]+);"
    r"\s*(?:(?P<moved>\w+)\s*(?P<after>\+\+|--|[+-]=\s*\d+)|(?P<before>\+\+|--)\s*(?P<moved2>\w+))"
)


def wrong_ways(code: CodeText) -> Iterator[CodeHit]:
    """Loops that count away from their end, or count one variable and ask another."""
    if code.language in ("python", "rust", "kotlin", "bash") or "for" not in code.code:
        return
    around: list[tuple[int, str]] = []
    for index, line in enumerate(code.lines):
        around = [(indent, name) for indent, name in around if indent < line.indent]
        match = _FOR.match(line.text)
        if match is None:
            continue
        moved, step = match["moved"] or match["moved2"], match["after"] or match["before"]
        is_away = match["left"] == moved and (step[0] == "-") is (match["sign"][0] == "<")
        is_other = (
            match["left"] != moved
            and match["first"] in (moved, match["left"])
            and re.search(rf"\b{moved}\b", match["bound"]) is None
            and not _sets(match["left"], line.text.rpartition(";")[2])
            and not any(_sets(match["left"], step.text) for step in code.block(index))
        )
        is_outer = any(name == moved for _, name in around)
        if (
            is_away
            or is_other
            or is_outer
            or (code.language in _LIVE_SETS and _counts_to_list(match, code, index))
        ):
            yield _hit("logic/wrong-loop", line)
        around.append((line.indent, moved))


def _sets(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){name}\s*(?:\+\+|--|[-+*/]?=(?!=))|(?:\+\+|--){name}\b", text) is not None


def _counts_to_list(match: re.Match[str], code: CodeText, index: int) -> bool:
    """Whether the bound is the list itself, and not its length."""
    name = match["bound"].strip()
    if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        return False
    read = re.compile(rf"(?<![\w.]){re.escape(name)}\[\s*{match['left']}\s*\]")
    return any(read.search(step.text) for step in code.block(index))


_WINDOWS = lazy_pattern(
    r"for\s+(?P<i>\w+)\s+in\s+range\(\s*len\(\s*(?P<list>[\w.]+)\s*\)\s*-\s*(?P<width>\w+)\s*\)\s*:$"
)


def lost_windows(code: CodeText) -> Iterator[CodeHit]:
    """Loops of Python over parts of a list that leave the last part out."""
    if code.language != "python" or "range(" not in code.code:
        return
    for index, line in enumerate(code.lines):
        match = _WINDOWS.match(line.text) if line.text.startswith("for") else None
        if match is None:
            continue
        name, at, width = (re.escape(match[group]) for group in ("list", "i", "width"))
        part = re.compile(rf"(?<![\w.]){name}\[\s*{at}\s*:\s*{at}\s*\+\s*{width}\s*\]")
        if any(part.search(step.text) for step in code.block(index)):
            yield _hit("logic/off-by-one", line)
