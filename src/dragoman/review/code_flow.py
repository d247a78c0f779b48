"""What is opened and never closed, locked and never unlocked, computed and never used, within one
function. Pure.

Each rule is a function over `CodeText`; its words are in `code_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import family, flow_patterns, lazy_pattern, patterns_for
from dragoman.review.code_text import (
    CodeHit,
    CodeLine,
    CodeText,
    Function,
    Statement,
    text_in_brackets,
)


def leaks(code: CodeText) -> Iterator[CodeHit]:
    """Files, sockets and connections that no way through the function closes."""
    patterns = patterns_for(code.language)
    # A line may end within a phrase of two words.
    places = code.places(tuple(word.rstrip() for word in patterns.opening_words))
    if not places:
        return
    opener, chain = patterns.opener, patterns.read_chain
    if opener is None:
        return
    if chain is not None and _may_chain(code, chain):
        for match in chain.finditer(code.code):
            line = code.code[code.code.rfind("\n", 0, match.start()) + 1 : match.start()]
            if not re.search(r"\b(?:with|try)\b", line):
                yield CodeHit("flow/resource-leak", match.start(), match.end())
    for function in code.functions_at(places):
        yield from _leaks_in(function, places, opener, code.language)
    if code.language == "go" and "*http.Client" in code.code:
        for function in code.functions_with(("*http.Client",)):
            yield from _unread_replies(function)


def _may_chain(code: CodeText, chain: re.Pattern[str]) -> bool:
    """Whether a chain may be in a text; a look at each of its words takes less time than the pattern."""
    if code.language != "python":
        return code.has_any(("Files.", "FileInputStream", "FileReader", "Scanner"))
    for at in code.places(("open(",)):
        before = code.code[max(0, at - 80) : at].rstrip()
        if not before or before.endswith(("(", ",", "in")) or chain.match(code.code, at):
            return True
    return False


_GO_CLIENT = lazy_pattern(r"\b(\w+)\s+\*http\.Client\b")


def _unread_replies(function: Function) -> Iterator[CodeHit]:
    """Replies of Go to a client that is a parameter, whatever its name, which nobody closes."""
    statements = function.statements
    names = "|".join(name for name in _GO_CLIENT.findall(function.head.text) if not name.endswith("lient"))
    for index, statement in enumerate(statements if names else ()):
        match = re.match(rf"(\w+), \w+ :?= (?:{names})\.(?:Get|Post|Head|PostForm)\(", statement.text)
        if match is not None and not re.search(
            rf"\b{match[1]}\.Body\.Close\(|\breturn\b.*(?<![\w.]){match[1]}\b(?!\.)|\({match[1]}[,)]",
            _rest(statements, index),
        ):
            yield _hit("flow/resource-leak", statement)


def _leaks_in(
    function: Function, places: Sequence[int], opener: re.Pattern[str], language: str
) -> Iterator[CodeHit]:
    statements, words = function.statements, flow_patterns()
    for index in function.statements_at(places):
        statement = statements[index]
        match = opener.match(statement.text)
        if match is None or match["name"] in ("_", "return", "err"):
            continue
        if language in ("java", "kotlin") and _is_closed_elsewhere(
            statements, index, match["name"], language
        ):
            continue
        rest = _rest(statements, index)
        name = re.escape(match["name"])
        call = match["call"]
        if (
            language == "go"
            and call.startswith(("http.", "gzip")) is False
            and re.match(r"\w+(?:\.\w+)*\.(?:Do|Query)", call)
        ):
            name_closed = re.search(words.closes.format(name), rest)
            if name_closed or re.search(rf"\breturn\b[^\n]*(?<![\w.]){name}\b(?!\.)", rest):
                continue
            if not re.search(rf"\b{name}\.(?:Next|Body|StatusCode|Scan)\b", rest):
                continue
            yield _hit("flow/resource-leak", statement)
            continue
        if re.search(words.handed_on.format(name), rest):
            continue
        if re.search(words.closes.format(name), rest) and not _leaves_open(
            name, statements[index + 1 :], language
        ):
            continue
        yield _hit("flow/resource-leak", statement)


def _is_closed_elsewhere(statements: Sequence[Statement], index: int, name: str, language: str) -> bool:
    """Whether what a statement of Java or Kotlin opens is a field, stands in the head of a try, or needs
    no closing."""
    text = statements[index].text
    if text.endswith("{") or _is_in_memory(text, statements[:index]):
        return True
    if language == "kotlin":
        return not text.startswith(("val ", "var "))
    declared = re.compile(rf"[\w>\]]\s+{name}\s*[;=]")
    is_field = re.match(rf"{name}\s*=", text) and not any(
        declared.search(step.text) for step in statements[:index]
    )
    return bool(is_field) or _is_in_try_head(statements, index)


def _is_in_memory(text: str, before: Sequence[Statement]) -> bool:
    """Whether what wraps a stream wraps one that has nothing to close."""
    if re.search(
        r"\bSystem\.(?:`?in`?|out|err)\b|\b(?:String|ByteArray|CharArray)\w*(?:Reader|Writer|Stream)\(", text
    ):
        return True
    wrapped = re.search(r"\((\w+)(?:,[^()]*)?\);?$", text)
    return wrapped is not None and any(
        re.search(
            rf"\b{wrapped[1]}\s*(?::[^=]+)?=\s*(?:new\s+)?(?:String|ByteArray|CharArray)\w+\(", step.text
        )
        for step in before
    )


def _is_in_try_head(statements: Sequence[Statement], index: int) -> bool:
    """Whether a line is one of several in the parentheses of a try, which closes them."""
    for before in reversed(statements[max(0, index - 4) : index]):
        if before.text.startswith("try (") and not before.text.endswith("{"):
            return True
        if not before.text.endswith(";"):
            return False
    return False


def _leaves_open(name: str, later: Sequence[Statement], language: str) -> bool:
    """Whether the function may be left before what it opened is closed, and no handler closes it then."""
    closes = re.compile(flow_patterns().closes.format(name))
    if language in ("javascript", "typescript", "tsx"):
        # A rejected promise leaves the function too.
        is_guarded = any(re.match(r"(?:\}\s*)?(?:finally|catch)\b", step.text) for step in later)
        return not is_guarded and any("await" in step.text for step in later)
    handlers = [
        index
        for index, step in enumerate(later)
        if re.match(r"(?:\}\s*)?(?:finally|defer|catch|except)\b", step.text)
    ]
    if handlers:
        return language == "python" and _returns_open(later, handlers, closes)
    for index, step in enumerate(later):
        if closes.search(step.text):
            return False
        if re.match(r"(?:return|raise|throw)\b", step.text) or re.search(
            r"[):]\s*(?:return|raise|throw)\b", step.text
        ):
            # A branch of its own, right after the opening, is for what could not be opened.
            failed = re.compile(
                rf"\berr\b|\bnot\s+{name}\b|!{name}\b|\b{name}\s*(?:[!=]==?\s*null\b|is\s+None\b)"
            )
            head = later[0] if later[0].line.indent < step.line.indent else step
            return not any(
                failed.search(before.text) for before in (head, *later[max(0, index - 1) : index + 1])
            )
    return False


def _returns_open(later: Sequence[Statement], handlers: Sequence[int], closes: re.Pattern[str]) -> bool:
    """Whether one of some handlers of Python leaves the function and closes nothing."""
    if any(later[index].text.startswith("finally") for index in handlers):
        return False
    for index in handlers:
        body = _block_of(later, index)
        if any(step.text.startswith("return") for step in body) and not any(
            closes.search(step.text) for step in body
        ):
            return not any(closes.search(step.text) for step in later[:index])
    return False


def _block_of(statements: Sequence[Statement], index: int) -> Sequence[Statement]:
    """The statements below one that are indented deeper."""
    indent = statements[index].line.indent
    end = index + 1
    while end < len(statements) and statements[end].line.indent > indent:
        end += 1
    return statements[index + 1 : end]


_LOCKED = lazy_pattern(r"(?:await\s+)?(?P<lock>[\w.]*\w)\.(?P<verb>lock|Lock|RLock|acquire)\(\)(?:;|$)")
_LEAVING = lazy_pattern(r"\b(?:return|raise|throw)\b")


def locks(code: CodeText) -> Iterator[CodeHit]:
    """Locks that a return or an error leaves locked."""
    if code.language == "rust" or not re.search(r"\.(?:lock|Lock|RLock|acquire)\(\)", code.code):
        return
    for function in code.functions_with(("ock()", "acquire()")):
        statements = function.statements
        for index, statement in enumerate(statements):
            match = _LOCKED.match(statement.text)
            if match is None:
                continue
            unlock = re.compile(rf"(?<![\w.]){re.escape(match['lock'])}\.(?:unlock|Unlock|RUnlock|release)\(")
            # Where only another function unlocks it, this one is half of a pair: acquire and release.
            before = "\n".join(earlier.text for earlier in statements[:index])
            is_half = unlock.search(code.part(function)) is None and unlock.search(code.code) is not None
            is_half = is_half or (
                unlock.search(before) is not None and unlock.search(_rest(statements, index)) is None
            )
            if (
                not is_half
                and match["lock"] != "self"
                and _stays_locked(unlock, statements[index + 1 :], code.language)
            ):
                yield _hit("flow/lock-not-released", statement)


def _rest(statements: Sequence[Statement], index: int) -> str:
    return "\n".join(later.text for later in statements[index + 1 :])


# Calls that hardly fail: whoever makes no others between lock and unlock needs no handler.
_QUIET_CALL = (
    r"(?:append|add|put|push|pop|remove|discard|clear|get|set|size|length|len|contains\w*|is\w*|items|keys|values"
    r"|log\w*|debug|info|print\w*|signal\w*|notify\w*|copy|list|dict|int|str|time|now|update|max|min)"
)
_LOUD_CALL = lazy_pattern(rf"\b(?!(?:if|for|while|switch|when|return|not|and|or|in|{_QUIET_CALL})\b)\w+\s*\(")


def _stays_locked(unlock: re.Pattern[str], later: Sequence[Statement], language: str) -> bool:
    may_raise = False
    free_indent: int | None = None
    if later and later[0].text.startswith(("try", "defer")):
        return False
    for index, statement in enumerate(later):
        if statement.text.startswith(("defer", "try", "finally", "} finally")):
            return False
        if free_indent is not None and statement.line.indent >= free_indent:
            continue
        free_indent = None
        if unlock.search(statement.text):
            # A branch that unlocks and leaves says nothing of the others.
            if language != "go" or may_raise or not _leaves_branch(later, index):
                return may_raise
            free_indent = statement.line.indent
            continue
        if _LEAVING.search(statement.text):
            return True
        # In Go only a panic leaves a function so.
        may_raise = may_raise or (language != "go" and _LOUD_CALL.search(statement.text) is not None)
    return True


def _leaves_branch(later: Sequence[Statement], index: int) -> bool:
    """Whether a statement stands deeper than the first, and the last of its branch leaves the function."""
    indent = later[index].line.indent
    last = index
    while last + 1 < len(later) and later[last + 1].line.indent >= indent:
        last += 1
    return indent > later[0].line.indent and later[last].text.startswith(("return", "panic("))


def _hit(rule: str, statement: Statement) -> CodeHit:
    return CodeHit(rule, statement.start, statement.start + len(statement.line.text))


# Of Java, whether add changes the receiver or not is a question of its type: only of numbers and dates it
# does not.
_JAVA_ADD = lazy_pattern(r"(\w+)\.(?:add|subtract|multiply|divide|negate|map|filter|resolve|plus|minus)\(")
_NUMBERS = (
    r"\b(?:BigDecimal|BigInteger|LocalDate|LocalDateTime|Instant|Duration|Path|Stream<[^>]*>"
    r"|Optional<[^>]*>)\s+{}\b"
)
_CONTINUES = ("(", "[", ",", "=", "=>", "+", "&&", "||", "?", ":", "return", "->", "{{", ".")


def _may_be_value(lines: Sequence[CodeLine], index: int, language: str) -> bool:
    """Whether a line ends a block, whose value it may be. An if of Kotlin without else has none."""
    line = lines[index]
    following = lines[index + 1] if index + 1 < len(lines) else None
    if line.text.endswith(";") or (following is not None and following.indent == line.indent):
        return False
    head = next((before for before in reversed(lines[:index]) if before.indent < line.indent), None)
    if language != "kotlin" or head is None or following is None or following.text != "}":
        return True
    has_else = index + 2 < len(lines) and lines[index + 2].text.startswith("else")
    return has_else or re.match(r"(?:if|for|while)\b.*\{$", head.text) is None


# Of a text two arguments: what is replaced, and by what. Builders take a range too, and trees nothing else.
_REPLACES = lazy_pattern(r"[\w.]+\.replace\(")


def _has_two_arguments(arguments: str) -> bool:
    depth = commas = 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        commas += letter == "," and depth == 0
    return commas == 1


def unused_results(code: CodeText) -> Iterator[CodeHit]:
    """Calls that change nothing, and whose result nobody takes."""
    language, pure = family(code.language), patterns_for(code.language).pure
    if pure is None:
        return
    lines = code.lines
    # In Kotlin a sum may be dropped, too; elsewhere what is dropped is a call.
    is_kotlin = language == "kotlin"
    if not any((is_kotlin or line.text[-1] in ");}") and pure.fullmatch(line.text) for line in lines):
        return
    depth = 0
    for index, line in enumerate(lines):
        before = depth
        depth += line.balance
        if language == "python":
            depth += line.text.count("{") - line.text.count("}")
        depth = (
            max(0, depth)
            if language == "python"
            else 0
            if line.text.endswith(("{", "}", "};", ";"))
            else max(0, depth)
        )
        if (
            before
            or not (is_kotlin or line.text[-1] in ");}")
            or not pure.fullmatch(line.text)
            or line.text.count("(") != line.text.count(")")
        ):
            continue
        if (replaced := _REPLACES.match(line.text)) is not None and not _has_two_arguments(
            text_in_brackets(line.text, replaced.end())
        ):
            continue
        if language == "python" and index and lines[index - 1].text == "try:":
            continue  # whether it can be done is the question
        # In Python a colon opens a block; what goes on in brackets was seen above.
        goes_on = _CONTINUES if language != "python" else "\\"
        if index and lines[index - 1].text.endswith(goes_on):
            continue
        following = lines[index + 1] if index + 1 < len(lines) else None
        if following is not None and following.text.startswith((".", "?.", "+", "&&", "||")):
            continue
        if language in ("kotlin", "javascript") and _may_be_value(lines, index, language):
            continue
        if (
            language == "java"
            and (add := _JAVA_ADD.match(line.text))
            and not re.search(_NUMBERS.format(add[1]), code.code)
        ):
            continue
        yield CodeHit("flow/unused-result", line.start, line.start + len(line.text))
