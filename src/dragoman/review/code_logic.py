"""Logic that cannot be meant: branches that are the same, conditions asked twice, steps that nothing
reaches, loops that change what they walk through. The same in every language with blocks. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeLine, CodeText, Statement

_IF = lazy_pattern(
    r"(?:\}\s*)?(?:(?:return|val \w+ =|let \w+ =)\s+)?(?P<else>else\s+)?(?P<word>if"
    r"|elif)\b\s*(?P<test>.*?)\s*(?:\{|:|;\s*then|then)?$"
)
_ELSE = lazy_pattern(r"(?:\}\s*)?else\s*[{:]?$")
_LEAVES = lazy_pattern(r"(?:return|throw|raise|break|continue|panic!?|os\.Exit)\b")
_GOES_ON = lazy_pattern(
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
        # A condition that goes on in the next line is not known here.
        if match is not None and match["test"] and line.balance == 0:
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
    # Lines within texts of several lines are none of code.
    has_long_texts = any(quote in _source(code, step) for step in code.block(index) for quote in ('"""', "`"))
    if has_long_texts or not above or above[::-1] != below:
        return
    if re.search(r"\bif\b", head) and "else" not in head:
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
        if line.text == "return" and code.language == "java":
            continue  # what is returned follows
        if not line.text.startswith(("return", "throw", "break", "continue")) and after.text.startswith(
            "return"
        ):
            continue  # it satisfies a compiler that does not know of the exit
        if line.text == "return" and code.language in ("rust", "kotlin", "go") and after.text.startswith("}"):
            continue
        if index and _is_unbraced_if(lines[index - 1], line):
            continue
        yield _hit("logic/unreachable", after)


_CATCHES_ALL = lazy_pattern(r"except\s+(?:Base)?Exception(?:\s+as\s+\w+)?\s*:")
# Others need not be exceptions in the narrow sense: those that end a program are none.
_CATCHES_ERROR = lazy_pattern(r"except\s+\(?\s*(?:\w+\.)*(?!Cancelled)\w+Error\b")


def unreachable_handlers(code: CodeText) -> Iterator[CodeHit]:
    """Handlers of Python behind one that takes every error."""
    if code.language != "python" or not _CATCHES_ALL.search(code.code):
        return
    # The indentations of tries that take every error.
    full: set[int] = set()
    for line in code.lines:
        full = {indent for indent in full if indent <= line.indent}
        is_handler = line.text.startswith("except")
        if line.indent in full and _CATCHES_ERROR.match(line.text):
            yield _hit("logic/unreachable", line)
        elif not is_handler and not line.text.startswith(("else", "finally")):
            full.discard(line.indent)
        if is_handler and _CATCHES_ALL.match(line.text):
            full.add(line.indent)


_LEAVES_PYTHON = lazy_pattern(r"(?:return|raise|break|continue)\b|.*[:;]\s*(?:return|raise|break|continue)\b")


def may_leave_early(code: CodeText) -> bool:
    """Whether a step of Python may follow one that leaves its block.

    With ruff at hand that is all that our rules on the tree look for, and a parse costs more than all else.
    """
    lines = code.lines
    for index in code.indexes_with(("return", "raise", "break", "continue")):
        line = lines[index]
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


_NEXT_BRANCH = lazy_pattern(r"(?:else|elif|except|finally|case)\b")


def _is_unbraced_if(before: CodeLine, line: CodeLine) -> bool:
    return (
        before.indent < line.indent
        and re.match(r"(?:\}\s*)?(?:else\s+)?(?:if|for|while|else)\b", before.text) is not None
        and not before.text.endswith("{")
    )


_CASE = lazy_pattern(r"(?:case\b.+|default\s*):$|(?:case\b[^:]+|default):(?!:)\s*(?P<rest>.*)$")
_ENDS = lazy_pattern(r"\b(?:break|return|throw|continue|yield|process\.exit|System\.exit|never)\b|\bfall")


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
    # The last step begins where the body is indented least; what follows it there closes its brackets.
    least = min(line.indent for line in body[1:] or body)
    steps = [
        line for line in body if line.indent == least and not line.text.startswith((")", "]", "}", "<", "/"))
    ]
    if steps and _ENDS.match(steps[-1].text):
        return True
    if last.text in ("}", "};") and len(body) > 1:
        # The block of the case in braces, or an if whose every way ends: trust the last step.
        return any(_ENDS.search(line.text) for line in body[-3:])
    if last.text.startswith(("||", "&&", ".", "?", ":", "+", ")", "]")):
        return any(_ENDS.search(line.text) for line in body[-4:])
    return _ENDS.search(last.text) is not None


_NULLS = r"(?:null|nil|None|undefined)"
_IS_NULL = lazy_pattern(
    rf"(?:\}}\s*)?(?:else\s+)?if\s*\(?\s*(?P<name>[\w.]+)\s*(?:===?|is)\s*{_NULLS}\s*\)?\s*[{{:]$"
)


def used_though_null(code: CodeText) -> Iterator[CodeHit]:
    """Values that are used in the branch that is taken when they are null."""
    for index in code.indexes_with(("null", "nil", "None", "undefined")):
        line = code.lines[index]
        match = _IS_NULL.match(line.text) if line.text[-1] in "{:" and "if" in line.text else None
        if match is None:
            continue
        name = re.escape(match["name"])
        owner = re.escape(match["name"].rpartition(".")[0])
        for step in code.block(index):
            if re.search(rf"(?<![\w.]){name}\s*:?=(?!=)|(?<![\w.]){name}\s*,", step.text):
                break
            if owner and re.search(rf"(?<![\w.]){owner}\.#?\w+\(", step.text):
                break  # a method of its owner may have set it
            if re.search(rf"(?<![\w.&#$]){name}\.\w", step.text):
                yield _hit("logic/null-dereference", step)
                break


def _hit(rule: str, line: CodeLine) -> CodeHit:
    return CodeHit(rule, line.start, line.start + len(line.text))


_RANGE = lazy_pattern(
    r"(?<![\w.])(?P<name>[A-Za-z_][\w.]*)\s*(?P<first><=?)\s*(?P<low>-?\d+(?:\.\d+)?)\s*(?:&&"
    r"|\band\b)\s*(?P=name)\s*(?P<second>>=?)\s*(?P<high>-?\d+(?:\.\d+)?)"
    r"|(?<![\w.])(?P<name2>[A-Za-z_][\w.]*)\s*(?P<first2>>=?)\s*(?P<high2>-?\d+(?:\.\d+)?)\s*(?:&&"
    r"|\band\b)\s*(?P=name2)\s*(?P<second2><=?)\s*(?P<low2>-?\d+(?:\.\d+)?)"
)


_BOUND = lazy_pattern(r"[<>]=?\s*-?\d[\d.]*\s*(?:&&|and\b)")


def contradictions(code: CodeText) -> Iterator[CodeHit]:
    """Conditions on a range that no number meets."""
    if not _BOUND.search(code.code):
        return
    for match in _RANGE.finditer(code.code):
        low = float(match["low"] or match["low2"])
        high = float(match["high"] or match["high2"])
        if low <= high and not (low == high and "=" in (match["first"] or "") + (match["second"] or "")):
            yield CodeHit("logic/contradiction", match.start(), match.end())


_TUPLE = lazy_pattern(r"[\w.]+ = [^=({\[,:]+,$")


def accidental_tuples(code: CodeText) -> Iterator[CodeHit]:
    """A comma at the end of an assignment."""
    if code.language != "python":
        return
    if not any(line.text[-1] == "," and _TUPLE.fullmatch(line.text) for line in code.lines):
        return
    depth = 0
    for line in code.lines:
        before = depth
        depth += line.balance + line.text.count("{") - line.text.count("}")
        if (
            not before
            and line.text.endswith(",")
            and _TUPLE.fullmatch(line.text)
            and not _is_tuple(line.text)
        ):
            yield _hit("logic/accidental-tuple", line)


def _is_tuple(text: str) -> bool:
    """Whether the name is one that holds a tuple."""
    return re.match(r"(?:\w+\.)*(?:__\w+__|args|_?[A-Z][A-Z0-9_]*) =", text) is not None


_PLACEHOLDER = lazy_pattern(r"\$\{[A-Za-z_][\w.]*\}")


def placeholders_in_quotes(code: CodeText) -> Iterator[CodeHit]:
    """Placeholders of a template in quotes that are none."""
    if code.language not in ("javascript", "typescript", "tsx") or "${" not in code.text:
        return
    for span in code.spans:
        token = code.text[span.start : span.end]
        if span.kind != "string" or token[0] not in "\"'":
            continue
        names = {
            name for placeholder in _PLACEHOLDER.findall(token) for name in [placeholder[2:-1].split(".")[0]]
        }
        # A name that the code has nowhere is for somebody else who fills in placeholders.
        if any(re.search(rf"(?<![\w.$]){name}\b", code.code) for name in names):
            yield CodeHit("logic/placeholder-in-quotes", span.start, span.end)


def equals_without_hash(code: CodeText) -> Iterator[CodeHit]:
    """Java classes that define `equals` and not `hashCode`."""
    if code.language != "java" or "int hashCode(" in code.code:
        return
    for match in re.finditer(r"\bboolean equals\(\s*(?:final\s+)?Object\b", code.code):
        yield CodeHit("logic/equals-without-hash", match.start(), match.end())


_FIELD = lazy_pattern(r"(?:self|this)\.(?P<field>\w+)\s*=\s*(?P<value>\w+)\s*;?")
_PARAMETER = lazy_pattern(
    r"(?:^|[,(])\s*(?:[\w<>\[\]?.]+\s+)*(?P<name>\w+)\s*(?::[^,=]+)?(?:=[^,]+)?(?=[,)]|$)"
)


def crossed_fields(code: CodeText) -> Iterator[CodeHit]:
    """Fields that are set from another parameter, while the parameter of their name is never used."""
    if "self." not in code.code and "this." not in code.code:
        return
    for function in code.functions:
        head = function.head.text
        inside = head[head.find("(") + 1 : head.rfind(")")]
        names = {match["name"] for match in _PARAMETER.finditer(inside)}
        if len(names) < 2:
            continue
        body = [line for line in function.body if line is not function.head]
        for line in body:
            match = _FIELD.fullmatch(line.text)
            if match is None or match["field"] == match["value"] or not {*match.groups()} <= names:
                continue
            used = re.compile(rf"(?<![\w.]){match['field']}\b")
            if not any(used.search(step.text) for step in body):
                yield _hit("logic/crossed-field", line)


_ONE_PASS = lazy_pattern(
    r"(?P<name>\w+)\s*=\s*(?:(?:map|filter|zip|reversed|csv\.reader|enumerate)\(.*\)|\(.*\bfor\b.*\bin\b.*\))"
)


_ONE_PASS_WORDS = ("map(", "filter(", "zip(", "reversed(", "csv.reader(", "enumerate(", "= (")


def exhausted_iterators(code: CodeText) -> Iterator[CodeHit]:
    """Iterators of Python that are walked through a second time, when nothing is left in them."""
    if code.language != "python":
        return
    for function in code.functions_with(_ONE_PASS_WORDS):
        statements = function.statements
        for index, statement in enumerate(statements):
            match = _ONE_PASS.fullmatch(statement.text)
            if match is None:
                continue
            name = re.escape(match["name"])
            walk = re.compile(
                rf"\bfor\b[^:]*?\bin\s+{name}(?![\w.\[(])|(?:list|sum|sorted|set|tuple|max|min|any|all|len)\(\s*{name}\s*[,)]"
            )
            walks = branch = 0
            for at, later in enumerate(statements[index + 1 :], index + 1):
                if re.match(rf"{name}\s*=(?!=)", later.text) or later.line.indent < statement.line.indent:
                    break
                if later.line.indent < branch and later.text.startswith(("else", "elif")):
                    walks = 0  # of two branches only one is taken
                found = len(walk.findall(later.text))
                branch = max(branch, later.line.indent) if found else branch
                walks += found
                if found and later.text.startswith("for") and _leaves_loop(statements, at):
                    break  # the second loop goes on where the first one stopped
                if walks > 1 and not re.search(r"\breturn\b", "".join(statements[index + 1].text)):
                    yield CodeHit("logic/exhausted-iterator", later.start, later.start + len(later.line.text))
                    break


def _leaves_loop(statements: Sequence[Statement], index: int) -> bool:
    """Whether a loop may be left before its end."""
    indent = statements[index].line.indent
    for later in statements[index + 1 :]:
        if later.line.indent <= indent:
            return False
        if later.text.startswith("break"):
            return True
    return False


_NAMED_RANGE = lazy_pattern(
    r"(?<![\w.])(?P<name>[A-Za-z_][\w.]*)\s*<=?\s*(?P<low>[\w.]*(?:min|low|lower|start|begin|from|first)\w*)\s*(?:&&|\band\b)"
    r"\s*(?P=name)\s*>=?\s*[\w.]*(?:max|high|upper|end|until|last)\w*"
    r"|(?<![\w.])(?P<name2>[A-Za-z_][\w.]*)\s*>=?\s*[\w.]*(?:max|high|upper|end|until)\w*\s*(?:&&|\band\b)"
    r"\s*(?P=name2)\s*<=?\s*[\w.]*(?:min|low|lower|start|begin)\w*",
    re.IGNORECASE,
)


def named_contradictions(code: CodeText) -> Iterator[CodeHit]:
    """Conditions that ask for less than the lower and more than the upper bound at once."""
    if "<" not in code.code or ">" not in code.code:
        return
    for line in code.lines:
        if "<" in line.text and ">" in line.text and (match := _NAMED_RANGE.search(line.text)) is not None:
            yield CodeHit("logic/contradiction", line.start + match.start(), line.start + match.end())
