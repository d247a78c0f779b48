"""Logic that cannot be meant: branches that are the same, conditions asked twice, steps that nothing
reaches, loops that change what they walk through. The same in every language with blocks. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_text import CodeHit, CodeLine, CodeText

_IF = re.compile(
    r"(?:\}\s*)?(?:(?:return|val \w+ =|let \w+ =)\s+)?(?P<else>else\s+)?(?P<word>if"
    r"|elif)\b\s*(?P<test>.*?)\s*(?:\{|:|;\s*then|then)?$"
)
_ELSE = re.compile(r"(?:\}\s*)?else\s*[{:]?$")
_LEAVES = re.compile(r"(?:return|throw|raise|break|continue|panic!?|os\.Exit)\b")
_GOES_ON = re.compile(
    r"[}\])]|(?:case|default|else|elif|except|finally|catch|when|loop|\w+:$|#|@|\.|\?|\|\||&&|\+|-|:"
    r"|then|fi|esac|done|,|function\b|async function\b|fn\b|func\b|fun\b|def\b|class\b)"
)


def chains(code: CodeText) -> Iterator[CodeHit]:
    """Conditions that an earlier branch has asked already, and branches that are all the same."""
    if "else" not in code.code and "elif" not in code.code:
        return
    conditions: dict[int, set[str]] = {}
    for index, line in enumerate(code.lines):
        for indent in [indent for indent in conditions if indent > line.indent]:
            del conditions[indent]
        match = _IF.match(line.text) if "if" in line.text else None
        # Strings are blank in `code`; two conditions are the same only if their texts are.
        if match is not None and match["test"]:
            test = _source(code, line).strip(" {:")
            test = re.sub(r"^.*?\b(?:if|elif)\b\s*", "", test)
            if match["else"] or match["word"] == "elif":
                if test in conditions.get(line.indent, ()):
                    yield _hit("logic/repeated-condition", line)
                conditions.setdefault(line.indent, set()).add(test)
            elif not line.text.startswith("}"):
                conditions[line.indent] = {test.split(") return")[0] + ")" if ") return" in test else test}
        elif line.indent in conditions and not line.text.startswith(("}", "else", "elif")):
            del conditions[line.indent]
        if _ELSE.match(line.text):
            yield from _same_branches(code, index)


def _same_branches(code: CodeText, index: int) -> Iterator[CodeHit]:
    line = code.lines[index]
    at = index - 1
    above: list[str] = []
    while at >= 0 and code.lines[at].indent > line.indent:
        above.append(_source(code, code.lines[at]).strip())
        at -= 1
    head = code.lines[at].text if at >= 0 else ""
    below = [_source(code, later).strip() for later in code.block(index)]
    if above and above[::-1] == below and re.search(r"\bif\b", head) and "else" not in head:
        yield _hit("logic/same-branches", line)


def _source(code: CodeText, line: CodeLine) -> str:
    return code.text[line.start : line.start + len(line.text)]


def unreachable(code: CodeText) -> Iterator[CodeHit]:
    """What follows a return. Python has a rule of its own."""
    if code.language in ("python", "bash"):
        return
    needs_end = code.language in ("rust", "java", "javascript", "typescript", "tsx")
    lines = code.lines
    for index in range(len(lines) - 1):
        line, after = lines[index], lines[index + 1]
        if after.indent != line.indent or not _LEAVES.match(line.text) or _GOES_ON.match(after.text):
            continue
        if line.text.endswith(
            ("{", ",", "(", "&&", "||", "+", "=", "->", "=>", "?:", "[")
        ) or line.text.count("(") != line.text.count(")"):
            continue
        if needs_end and not line.text.endswith(";") and line.text not in ("return", "break", "continue"):
            continue
        if line.text == "return" and code.language in ("rust", "kotlin", "go") and after.text.startswith("}"):
            continue
        if index and _is_unbraced_if(lines[index - 1], line):
            continue
        yield _hit("logic/unreachable", after)


_LEAVES_PYTHON = re.compile(r"(?:return|raise|break|continue)\b|.*[:;]\s*(?:return|raise|break|continue)\b")


def may_leave_early(code: CodeText) -> bool:
    """Whether a step of Python may follow one that leaves its block.

    With ruff at hand that is all that our rules on the tree look for, and a parse costs more than all else.
    """
    lines = code.lines
    for index, line in enumerate(lines):
        if not _LEAVES_PYTHON.match(line.text):
            continue
        if ";" in line.text:
            return True
        # The statement may go on in lines that are indented deeper, or end in one that is not.
        depth = line.balance + line.text.count("{") - line.text.count("}")
        at = index + 1
        while at < len(lines) and (depth > 0 or lines[at].indent > line.indent):
            depth += lines[at].balance + lines[at].text.count("{") - lines[at].text.count("}")
            at += 1
        after = lines[at] if at < len(lines) else None
        if after is not None and after.indent == line.indent and not _NEXT_BRANCH.match(after.text):
            return True
    return False


_NEXT_BRANCH = re.compile(r"(?:else|elif|except|finally|case)\b")


def _is_unbraced_if(before: CodeLine, line: CodeLine) -> bool:
    return (
        before.indent < line.indent
        and re.match(r"(?:\}\s*)?(?:else\s+)?(?:if|for|while|else)\b", before.text) is not None
        and not before.text.endswith("{")
    )


_CASE = re.compile(r"(?:case\b.+|default\s*):$|(?:case\b[^:]+|default):(?!:)\s*(?P<rest>.*)$")
_ENDS = re.compile(r"\b(?:break|return|throw|continue|yield|process\.exit|System\.exit|never)\b|\bfall")


def fallthroughs(code: CodeText) -> Iterator[CodeHit]:
    """A case that runs into the next one."""
    if code.language not in ("java", "javascript", "typescript", "tsx") or "switch" not in code.code:
        return
    for index, line in enumerate(code.lines):
        match = _CASE.match(line.text)
        if match is None or "->" in line.text:
            continue
        body = [*code.block(index)]
        if match["rest"]:
            body = [line._replace(text=match["rest"]), *body]
        after = index + 1 + len(code.block(index))
        if not body or after >= len(code.lines) or not _CASE.match(code.lines[after].text):
            continue
        source = code.text[line.start : code.lines[after].start]
        if not _ends(body) and not re.search(
            r"falls?[ -]?through|FALLTHROUGH|no break", source, re.IGNORECASE
        ):
            yield _hit("logic/fallthrough", line)


def _ends(body: Sequence[CodeLine]) -> bool:
    last = body[-1]
    if last.text in ("}", "};") and len(body) > 1:
        # The block of the case in braces, or an if whose every way ends: trust the last step.
        return any(_ENDS.search(line.text) for line in body[-3:])
    if last.text.startswith(("||", "&&", ".", "?", ":", "+", ")", "]")):
        return any(_ENDS.search(line.text) for line in body[-4:])
    return _ENDS.search(last.text) is not None


_EACH = re.compile(
    r"for\s*\(?\s*(?:final\s+)?(?:[\w<>\[\], ]+\s+)?(?P<item>\w+)\s*(?:in|of"
    r"|:)\s*(?P<list>[\w.]+)\s*(?:\)\s*\{?|:|\{)?$"
)
# The entries of a dictionary of Python: a loop over them fails when one is taken out.
_ENTRIES = re.compile(r"for\s+[\w, ()]+\s+in\s+(?P<list>[\w.]+)\.(?:items|keys|values)\(\)\s*:$")
_COUNTED = re.compile(
    r"for\s*\(\s*(?:let|var|int)\s+(?P<i>\w+)\s*=\s*0\s*;\s*(?P=i)\s*<\s*(?P<list>[\w.]+)\.(?:length"
    r"|size\(\))\s*;\s*(?:(?P=i)\+\+|\+\+(?P=i))\s*\)"
)


def changed_loops(code: CodeText) -> Iterator[CodeHit]:
    """Loops that remove from what they walk through."""
    if "for" not in code.code:
        return
    for index, line in enumerate(code.lines):
        if not line.text.startswith("for"):
            continue
        if (each := _EACH.match(line.text)) is not None:
            name = re.escape(each["list"])
            pattern = (
                rf"(?<![\w.]){name}\.(?:remove|removeAt|pop|insert|append|add|delete|clear)\("
                rf"|\bdel\s+{name}\["
            )
        elif (entries := _ENTRIES.match(line.text)) is not None:
            name = re.escape(entries["list"])
            pattern = rf"(?<![\w.]){name}\.(?:pop|popitem|clear)\(|\bdel\s+{name}\["
        elif (counter := _COUNTED.match(line.text)) is not None:
            pattern = rf"(?<![\w.]){re.escape(counter['list'])}\.(?:splice|remove)\(\s*{counter['i']}\b"
        else:
            continue
        body = code.block(index)
        if any(step.indent == body[0].indent and _LEAVES.match(step.text) for step in body):
            continue  # it never comes to a second round
        for at, step in enumerate(body):
            if not re.search(pattern, step.text):
                continue
            # Whoever leaves the loop at once, or steps back, has thought of it.
            near = " ".join(later.text for later in body[at : at + 2])
            if not re.search(r"\b(?:break|return)\b|--", near):
                yield _hit("logic/changed-while-iterating", step)


_NEXT = (
    re.compile(r"for\s*\(?.*?\b(?P<i>\w+)\s*<\s*(?P<list>[\w.]+)\.(?:length|size\(\)|size)\s*;.*"),
    re.compile(r"for\s+(?P<i>\w+)\s*:=\s*0\s*;\s*(?P=i)\s*<\s*len\((?P<list>[\w.]+)\)\s*;.*"),
    re.compile(r"for\s+(?P<i>\w+)\s+in\s+0\.\.(?P<list>[\w.]+)\.len\(\)\s*\{"),
    re.compile(r"for\s+(?P<i>\w+)\s+in\s+range\(len\((?P<list>[\w.]+)\)\):"),
    re.compile(r"for\s*\((?P<i>\w+)\s+in\s+(?:0\s+until\s+)?(?P<list>[\w.]+)\.(?:size|indices)\)"),
)
_PAST_END = (
    re.compile(
        r"for\s*\(?.*?\b(?P<i>\w+)\s*(?::?=)\s*0\s*;\s*(?P=i)\s*<=\s*(?:(?P<list>[\w.]+)\.(?:length"
        r"|size\(\)|size|Length|Count)|len\((?P<go>[\w.]+)\))\s*;"
    ),
    re.compile(r"for\s+(?P<i>\w+)\s+in\s+0\.\.=\s*(?P<list>[\w.]+)\.len\(\)\s*\{"),
    re.compile(r"for\s*\((?P<i>\w+)\s+in\s+0\.\.(?P<list>[\w.]+)\.(?:size|length|count\(\))\)"),
    re.compile(r"for\s+(?P<i>\w+)\s+in\s+range\(\s*(?:0\s*,\s*)?len\((?P<list>[\w.]+)\)\s*\+\s*1\s*\):"),
    re.compile(
        r"while\s*\(?\s*(?P<i>\w+)\s*<=\s*(?:len\((?P<list>[\w.]+)\)|(?P<go>[\w.]+)\.(?:length"
        r"|size\(\)|size|len\(\)))\s*\)?\s*[{:]?$"
    ),
    re.compile(
        r"for\s*\(\s*(?:let|var|int)\s+(?P<i>\w+)\s*=\s*(?P<list>[\w.]+)\.(?:length"
        r"|size\(\))\s*;\s*(?P=i)\s*>=\s*0\s*;"
    ),
)


def past_the_end(code: CodeText) -> Iterator[CodeHit]:
    """Loops that read one element more than there is."""
    for index, line in enumerate(code.lines):
        if not line.text.startswith(("for", "while")):
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
        if any(_reads_next(match, body.replace(line.text, ""), body) for match in nexts):
            yield _hit("logic/off-by-one", line)


def _reads_past_end(match: re.Match[str], body: str) -> bool:
    groups = match.groupdict()
    name, at = re.escape(groups.get("list") or groups.get("go") or ""), match["i"]
    read = rf"(?<![\w.]){name}(?:\[\s*{at}\s*\]|\.(?:get|charAt|at)\(\s*{at}\s*\))"
    return re.search(read, body) is not None


def _reads_next(match: re.Match[str], inside: str, body: str) -> bool:
    """Whether the element behind the current one is read, and nothing inside of the loop sees to the last."""
    name, at = re.escape(match["list"]), match["i"]
    read = rf"(?<![\w.]){name}(?:\[\s*{at}\s*\+\s*1\s*\]|\.(?:get|charAt)\(\s*{at}\s*\+\s*1\s*\))"
    guard = (
        rf"\b{at}\s*\+\s*1\s*(?:<|>=|==|!=)|\b{at}\s*(?:<|>=|==|!=|>)\s*(?:len\({name}\)"
        rf"|{name}\.(?:length|size\(\)|len\(\)))\s*-\s*1"
    )
    return re.search(read, body) is not None and re.search(guard, inside) is None


_NULLS = r"(?:null|nil|None|undefined)"
_IS_NULL = re.compile(
    rf"(?:\}}\s*)?(?:else\s+)?if\s*\(?\s*(?P<name>[\w.]+)\s*(?:===?|is)\s*{_NULLS}\s*\)?\s*[{{:]$"
)


def used_though_null(code: CodeText) -> Iterator[CodeHit]:
    """Values that are used in the branch that is taken when they are null."""
    for index, line in enumerate(code.lines):
        match = _IS_NULL.match(line.text) if line.text[-1] in "{:" and "if" in line.text else None
        if match is None:
            continue
        name = re.escape(match["name"])
        for step in code.block(index):
            if re.search(rf"(?<![\w.]){name}\s*:?=(?!=)|(?<![\w.]){name}\s*,", step.text):
                break
            if re.search(rf"(?<![\w.&]){name}\.\w", step.text):
                yield _hit("logic/null-dereference", step)
                break


def _hit(rule: str, line: CodeLine) -> CodeHit:
    return CodeHit(rule, line.start, line.start + len(line.text))


_RANGE = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z_][\w.]*)\s*(?P<first><=?)\s*(?P<low>-?\d+(?:\.\d+)?)\s*(?:&&"
    r"|\band\b)\s*(?P=name)\s*(?P<second>>=?)\s*(?P<high>-?\d+(?:\.\d+)?)"
    r"|(?<![\w.])(?P<name2>[A-Za-z_][\w.]*)\s*(?P<first2>>=?)\s*(?P<high2>-?\d+(?:\.\d+)?)\s*(?:&&"
    r"|\band\b)\s*(?P=name2)\s*(?P<second2><=?)\s*(?P<low2>-?\d+(?:\.\d+)?)"
)


_BOUND = re.compile(r"[<>]=?\s*-?\d[\d.]*\s*(?:&&|and\b)")


def contradictions(code: CodeText) -> Iterator[CodeHit]:
    """Conditions on a range that no number meets."""
    if not _BOUND.search(code.code):
        return
    for match in _RANGE.finditer(code.code):
        low = float(match["low"] or match["low2"])
        high = float(match["high"] or match["high2"])
        if low <= high and not (low == high and "=" in (match["first"] or "") + (match["second"] or "")):
            yield CodeHit("logic/contradiction", match.start(), match.end())


_TUPLE = re.compile(r"[\w.]+ = [^=({\[,:]+,$")


def accidental_tuples(code: CodeText) -> Iterator[CodeHit]:
    """A comma at the end of an assignment."""
    if code.language != "python":
        return
    depth = 0
    for line in code.lines:
        before = depth
        depth += line.balance + line.text.count("{") - line.text.count("}")
        if not before and line.text.endswith(",") and _TUPLE.fullmatch(line.text):
            yield _hit("logic/accidental-tuple", line)


_PLACEHOLDER = re.compile(r"\$\{[A-Za-z_][\w.]*\}")


def placeholders_in_quotes(code: CodeText) -> Iterator[CodeHit]:
    """Placeholders of a template in quotes that are none."""
    if code.language not in ("javascript", "typescript", "tsx") or "${" not in code.text:
        return
    for span in code.spans:
        token = code.text[span.start : span.end]
        if span.kind == "string" and token[0] in "\"'" and _PLACEHOLDER.search(token):
            yield CodeHit("logic/placeholder-in-quotes", span.start, span.end)


def equals_without_hash(code: CodeText) -> Iterator[CodeHit]:
    """Java classes that define `equals` and not `hashCode`."""
    if code.language != "java" or "int hashCode(" in code.code:
        return
    for match in re.finditer(r"\bboolean equals\(\s*(?:final\s+)?Object\b", code.code):
        yield CodeHit("logic/equals-without-hash", match.start(), match.end())
