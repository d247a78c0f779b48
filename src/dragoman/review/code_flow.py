"""What is opened and never closed, locked and never unlocked, started and never awaited, within one
function. Pure.

Each rule is a function over `CodeText`; its words are in `code_rules`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import family, flow_patterns, lazy_pattern, patterns_for
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement


def leaks(code: CodeText) -> Iterator[CodeHit]:
    """Files, sockets and connections that no way through the function closes."""
    patterns = patterns_for(code.language)
    if not any(word in code.code for word in patterns.opening_words):
        return
    opener, chain = patterns.opener, patterns.read_chain
    if opener is None:
        return
    if chain is not None and (code.language != "python" or "open(" in code.code):
        for match in chain.finditer(code.code):
            line = code.code[code.code.rfind("\n", 0, match.start()) + 1 : match.start()]
            if not re.search(r"\b(?:with|try)\b", line):
                yield CodeHit("flow/resource-leak", match.start(), match.end())
    for function in code.functions_with(patterns.opening_words):
        yield from _leaks_in(function, opener, patterns.opening_words, code.language)


def _leaks_in(
    function: Function, opener: re.Pattern[str], opening_words: Sequence[str], language: str
) -> Iterator[CodeHit]:
    statements, words = function.statements, flow_patterns()
    for index, statement in enumerate(statements):
        if not any(word in statement.text for word in opening_words):
            continue
        match = opener.match(statement.text)
        if match is None or match["name"] in ("_", "return", "err"):
            continue
        if language == "kotlin" and not statement.text.startswith(("val ", "var ")):
            continue  # a field, which another function closes
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
        if language == "java" and _is_in_try_head(statements, index):
            continue
        if re.search(words.handed_on.format(name), rest):
            continue
        if re.search(words.closes.format(name), rest) and not _leaves_open(
            name, statements[index + 1 :], language
        ):
            continue
        yield _hit("flow/resource-leak", statement)


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
            return not any(failed.search(before.text) for before in later[max(0, index - 1) : index + 1])
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
            if not is_half and match["lock"] != "self" and _stays_locked(unlock, statements[index + 1 :]):
                yield _hit("flow/lock-not-released", statement)


def _rest(statements: Sequence[Statement], index: int) -> str:
    return "\n".join(later.text for later in statements[index + 1 :])


def _stays_locked(unlock: re.Pattern[str], later: Sequence[Statement]) -> bool:
    if later and later[0].text.startswith(("try", "defer")):
        return False
    for statement in later:
        if statement.text.startswith(("defer", "try", "finally", "} finally")):
            return False
        if unlock.search(statement.text):
            return False
        if _LEAVING.search(statement.text):
            return True
    return True


_FS_PROMISES = lazy_pattern(
    r"""promises\s+as\s+fs\b|import\s+(?:\*\s+as\s+)?fs\s+from\s+["'](?:node:)?fs/promises|fs\s*=\s*require\(["'](?:node:)?fs(?:/promises["']|["']\)\.promises)"""
)
_IS_ASYNC = lazy_pattern(r"\basync\b")
_RECEIVER = r"(?:self\.|this\.|Self::)?"
_UNUSED = r"(?:let\s+_\s*=\s*)?"
_ARGUMENTS = r"\s*(?:::<[^>]*>)?\("
_CALL = lazy_pattern(rf"{_UNUSED}{_RECEIVER}(\w+){_ARGUMENTS}")
_CONDITION = lazy_pattern(rf"(?:if|while|elif|}}\s*else\s+if)\s*\(?\s*(?:not\s+|!)?{_RECEIVER}(\w+)\(")
_WRAPPERS = lazy_pattern(r"@[\w.]*\b(?:work|task|shared_task|actor|asynccontextmanager|fixture)\b")
_KEPT_CALL = lazy_pattern(
    r"(?:(?:const|let|var)\s+)?(?P<name>\w+)\s*(?::[^=]+)?=\s*(?:(?:self|this)\.|\[\s*(?:self\.)?(?=.*\bfor\b))?(?P<called>\w+)"
    r"\(.*[)\]];?"
)
_HEAD_WORDS = ("async", "def ", "fn ", "function")
_PLAIN_NAMES = lazy_pattern(r"(?<!async )(?:\bdef|\bfn|\bfunction)\s+(\w+)")


@functools.cache
def _async_calls(names: str) -> re.Pattern[str]:
    """Calls of libraries that must be awaited, at the beginning of a statement."""
    return re.compile(rf"{_UNUSED}(?:{names}){_ARGUMENTS}")


_CALLS_OF_FS = r"|fs\.(?:writeFile|readFile|unlink|mkdir|rm|rename|appendFile|copyFile|access|stat)"


def missing_awaits(code: CodeText) -> Iterator[CodeHit]:
    """Coroutines and promises that nobody waits for."""
    language, patterns = family(code.language), patterns_for(code.language)
    names_of = patterns.async_names
    if names_of is None or not any(word in code.code for word in ("async", ".then(", "fetch(")):
        return
    heads = [line.text for line in code.lines if any(word in line.text for word in _HEAD_WORDS)]
    names = {name for head in heads for match in names_of.finditer(head) for name in match.groups() if name}
    names -= {name for head in heads for name in _PLAIN_NAMES.findall(head)}
    if language == "python":
        names -= {name for name in names if _is_wrapped(code, name)}
        names -= _generators(code)
    names -= _methods(code, language)
    has_fs = language == "javascript" and _FS_PROMISES.search(code.text) is not None
    calls = _async_calls(patterns.async_calls + (_CALLS_OF_FS if has_fs else ""))
    # A statement begins with its line. Where no line begins with such a call, nothing is left to look at.
    if not any(_begins_with_call(line.text, names, calls) for line in code.lines):
        return
    for function in code.functions:
        if not _IS_ASYNC.search(function.head.text) and language != "python":
            continue
        for index, step in enumerate(function.statements):
            if step.line is function.head:
                continue
            if language == "javascript" and _drops_callback(function.statements, index, names):
                yield _hit("flow/missing-await", step)
            if _is_dropped(step, names, calls, language) or _is_condition(step.text, names):
                yield _hit("flow/missing-await", step)
        if language in ("python", "javascript"):
            yield from _used_coroutines(function, names)


def _is_wrapped(code: CodeText, name: str) -> bool:
    """Whether a decorator starts the coroutine by itself, or makes something else of it."""
    head = f"async def {name}("
    return any(_WRAPPERS.search(code.above(line)) for line in code.lines if line.text.startswith(head))


_METHODS = {
    "python": lazy_pattern(r"async\s+def\s+(\w+)\(\s*(?:self|cls)\b"),
    "javascript": lazy_pattern(
        r"^\s+(?:static\s+)?async\s+(?!function\b)(\w+)\s*(?:<[^>]*>)?\(", re.MULTILINE
    ),
}


def _methods(code: CodeText, language: str) -> set[str]:
    """Methods that nobody calls by their object: a bare call of such a name is one of something else."""
    pattern = _METHODS.get(language)
    names = set(pattern.findall(code.code)) if pattern is not None else set()
    return {name for name in names if not re.search(rf"\b(?:self|cls|this)\.{name}\(", code.code)}


def _generators(code: CodeText) -> set[str]:
    """The names of asynchronous generators of Python: they are walked through, not awaited."""
    if "yield" not in code.code:
        return set()
    return {
        match[1]
        for function in code.functions
        if (match := _ASYNC_DEF.match(function.head.text)) is not None
        and any(_YIELDS.match(line.text) for line in function.body)
    }


_ASYNC_DEF = lazy_pattern(r"async\s+def\s+(\w+)")
_YIELDS = lazy_pattern(r"(?:\w+\s*=\s*\(?)?yield\b")


def _used_coroutines(function: Function, names: set[str]) -> Iterator[CodeHit]:
    """Coroutines of this file that are kept under a name, and used as if they were their result."""
    for index, step in enumerate(function.statements):
        assignment = _KEPT_CALL.fullmatch(step.text)
        if assignment is None or assignment["called"] not in names:
            continue
        name = re.escape(assignment["name"])
        for later in function.statements[index + 1 :]:
            if re.search(
                rf"\bawait\b.*\b{name}\b|(?<![\w.]){name}\s*=(?!=)|[(,\[]\s*(?:\*|\.\.\.)?{name}\s*[,)\]]",
                later.text,
            ):
                break
            if re.search(
                rf"(?<![\w.]){name}(?:\.(?!close\b|send\b|throw\b|then\b|catch\b|finally\b)\w|\[)|\bfor\s+\w+\s+in\s+{name}:"
                rf"|(?<![\w.]){name}\s*(?:[!=]==?|is(?:\s+not)?)\s*(?:null|undefined|None)\b"
                rf"|\bif\s*\(?\s*(?:!\s*|not\s+)?{name}\s*[):]",
                later.text,
            ):
                yield _hit("flow/missing-await", step)
                break


def _begins_with_call(text: str, names: set[str], calls: re.Pattern[str]) -> bool:
    call, assignment = _CALL.match(text), _KEPT_CALL.match(text)
    if (call and call[1] in names) or (assignment and assignment["called"] in names):
        return True
    return calls.match(text) is not None or _is_condition(text, names)


def _drops_callback(statements: Sequence[Statement], index: int, names: set[str]) -> bool:
    """Whether a call of several lines, with a function among its arguments, is left alone when it ends."""
    step = statements[index]
    call = _CALL.match(step.text)
    if call is None or call[1] not in names or not re.search(r"(?:=>|\bfunction\b[^{]*)\s*\{$", step.text):
        return False
    for later in statements[index + 1 :]:
        if later.line.indent <= step.line.indent:
            return re.fullmatch(r"\}\s*(?:,[^.]*)?\);?", later.text) is not None
    return False


def _is_condition(text: str, names: set[str]) -> bool:
    match = _CONDITION.match(text)
    return match is not None and match[1] in names


def _is_dropped(step: Statement, names: set[str], calls: re.Pattern[str], language: str) -> bool:
    call = _CALL.match(step.text)
    if not (call and call[1] in names) and not calls.match(step.text):
        return False
    if language == "rust":
        return ".await" not in step.text and step.text.endswith(";") and "block_on" not in step.text
    text = step.text.rstrip(";")
    if language == "javascript" and (".catch(" in text or text.endswith(("{", ","))):
        return False
    return text.endswith(")")


_JSON_OF = lazy_pattern(r"(?:const|let|var)\s+(\w+)\s*(?::[^=]+)?=\s*await\s+(?:\w+\.)?fetch\(")
_FETCH_CHAIN = lazy_pattern(
    r"(?<!await )(?<!\w)fetch\([^()]*(?:\([^()]*\)[^()]*)*\)\.(?:json|text|blob|ok|status|headers)\b"
)
_THEN = lazy_pattern(r"[\w.]+(?:\([^()]*\))?(?:\.\w+\([^()]*\))*\.then\(")
# A second argument of then takes the rejection.
_HANDLES_BOTH = lazy_pattern(r"\.then\(.*,\s*(?:\w+|\(?\w*\)?\s*=>.*)\s*\);?$")
_ASYNC_FILTER = lazy_pattern(r"\.(?:filter|some|every|find|findIndex|sort)\(\s*async\b")
_ASYNC_MAP = lazy_pattern(r"(?:const|let|var)\s+(\w+)\s*=\s*[\w.]+\.map\(\s*async\b")
_ASYNC_EACH = lazy_pattern(r"\.forEach\(\s*async\b")


def script_promises(code: CodeText) -> Iterator[CodeHit]:
    """Promises that are used as if they were their results."""
    if family(code.language) != "javascript":
        return
    if not any(word in code.code for word in ("async", "fetch(", ".then(")):
        return
    for match in _FETCH_CHAIN.finditer(code.code):
        yield CodeHit("flow/missing-await", match.start(), match.end())
    for match in _ASYNC_FILTER.finditer(code.code):
        yield CodeHit("flow/async-callback", match.start(), match.end())
    for match in _ASYNC_MAP.finditer(code.code):
        if re.search(
            rf"\b{match[1]}\.(?:reduce|filter|join|forEach|length|map|sort)\b", code.code[match.end() :]
        ):
            yield CodeHit("flow/async-callback", match.start(), match.end())
    for function in code.functions if "fetch(" in code.code or ".then(" in code.code else ():
        yield from _promises_in(function)


def _promises_in(function: Function) -> Iterator[CodeHit]:
    replies: set[str] = set()
    # What an arrow without braces computes is given back.
    is_async = bool(_IS_ASYNC.search(function.head.text)) or function.head.text.endswith("=>")
    steps = function.statements
    for step in steps:
        if match := _JSON_OF.match(step.text):
            replies.add(match[1])
        for name in replies:
            if re.search(rf"=\s*{name}\.(?:json|text|blob|arrayBuffer|formData)\(\)", step.text):
                yield _hit("flow/missing-await", step)
        if not is_async and step.line is not function.head:
            is_then = (
                _THEN.match(step.text)
                and ".catch(" not in step.text
                and step.text.endswith((")", ");"))
                and not _HANDLES_BOTH.search(step.text)
            )
            is_fetch = (
                re.match(r"fetch\(", step.text)
                and ".catch(" not in step.text
                and step.text.endswith((")", ");"))
                and not _HANDLES_BOTH.search(step.text)
            )
            if is_then or is_fetch:
                yield _hit("flow/floating-promise", step)


def blocking_calls(code: CodeText) -> Iterator[CodeHit]:
    """Calls that stop the thread which an asynchronous function shares with others."""
    pattern, suspends = patterns_for(code.language).blocking, patterns_for(code.language).suspends
    if pattern is None or suspends is None or not pattern.search(code.code):
        return
    for function in code.functions:
        if not suspends.search(function.head.text):
            continue
        for step in function.statements:
            if (
                step.line is not function.head
                and pattern.search(step.text)
                and "spawn_blocking" not in step.text
            ):
                yield _hit("flow/blocking-in-async", step)


def _hit(rule: str, statement: Statement) -> CodeHit:
    return CodeHit(rule, statement.start, statement.start + len(statement.line.text))


@functools.cache
def _secret_name() -> re.Pattern[str]:
    return re.compile(flow_patterns().secret_name)


def weak_random(code: CodeText) -> Iterator[CodeHit]:
    """Weak random numbers that are used as secrets, by their names."""
    language = family(code.language)
    if not any(word in code.code for word in ("rand", "Rand", "Rng")):
        return
    weak = patterns_for(code.language).weak_random
    if weak is None or not weak.search(code.code):
        return
    if language == "python" and not re.search(r"^\s*(?:import|from)\s+random\b", code.code, re.MULTILINE):
        return
    if language == "go" and '"crypto/rand"' in code.text:
        return
    secret_name = _secret_name()
    for function in code.functions:
        is_secret = secret_name.search(function.head.text.split("{")[0])
        for step in function.statements:
            # Of a statement, what is before the call: the name that it is given to.
            match = weak.search(step.text)
            if match and (is_secret or secret_name.search(step.text[: match.start()])):
                yield _hit("flow/weak-random", step)


# Of Java, whether add changes the receiver or not is a question of its type: only of numbers and dates it
# does not.
_JAVA_ADD = lazy_pattern(r"(\w+)\.(?:add|subtract|multiply|divide|negate|map|filter|resolve|plus|minus)\(")
_NUMBERS = (
    r"\b(?:BigDecimal|BigInteger|LocalDate|LocalDateTime|Instant|Duration|Path|Stream<[^>]*>"
    r"|Optional<[^>]*>)\s+{}\b"
)
_CONTINUES = ("(", "[", ",", "=", "=>", "+", "&&", "||", "?", ":", "return", "->", "{{", ".")


def unused_results(code: CodeText) -> Iterator[CodeHit]:
    """Calls that change nothing, and whose result nobody takes."""
    language, pure = family(code.language), patterns_for(code.language).pure
    if pure is None:
        return
    lines = code.lines
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
        if before or not pure.fullmatch(line.text) or line.text.count("(") != line.text.count(")"):
            continue
        # In Python a colon opens a block; what goes on in brackets was seen above.
        goes_on = _CONTINUES if language != "python" else "\\"
        if index and lines[index - 1].text.endswith(goes_on):
            continue
        following = lines[index + 1] if index + 1 < len(lines) else None
        if following is not None and following.text.startswith((".", "?.", "+", "&&", "||")):
            continue
        if (
            language in ("kotlin", "javascript")
            and (following is None or following.indent != line.indent)
            and not line.text.endswith(";")
        ):
            continue  # the last line of a block may be its value
        if (
            language == "java"
            and (add := _JAVA_ADD.match(line.text))
            and not re.search(_NUMBERS.format(add[1]), code.code)
        ):
            continue
        yield CodeHit("flow/unused-result", line.start, line.start + len(line.text))
