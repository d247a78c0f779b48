"""Coroutines and promises that nobody waits for, and calls that block those who wait. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence

from dragoman.review.code_patterns import family, lazy_pattern, patterns_for
from dragoman.review.code_text import CodeHit, CodeText, Function, Statement, text_in_brackets

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
    if names_of is None or not code.has_any(("async", ".then(", "fetch(")):
        return
    if language == "python":
        names = _coroutine_names(code)
    else:
        heads = [line.text for line in code.lines if any(word in line.text for word in _HEAD_WORDS)]
        names = {
            name for head in heads for match in names_of.finditer(head) for name in match.groups() if name
        }
        names -= {name for head in heads for name in _PLAIN_NAMES.findall(head)}
        names -= _methods(code, language, names)
    has_fs = language == "javascript" and _FS_PROMISES.search(code.text) is not None
    calls = _async_calls(patterns.async_calls + (_CALLS_OF_FS if has_fs else ""))
    marks = sorted((*code.places_of_own(names), *code.places(patterns.async_words)))
    # A statement begins with its line. Where no line begins with such a call, nothing is left to look at.
    if not any(_begins_with_call(code.lines[index].text, names, calls) for index in code.indexes_at(marks)):
        return
    for function in code.functions_at(marks):
        if not _IS_ASYNC.search(function.head.text) and language != "python":
            if _HANDLER.search(function.head.text):
                yield from _dropped_in_handler(code, function, names)
            continue
        indexes = function.statements_at(marks)
        for index in indexes:
            step = function.statements[index]
            if step.line is function.head:
                continue
            if language == "javascript" and _drops_callback(function.statements, index, names):
                yield _hit("flow/missing-await", step)
            if _is_dropped(step, names, calls, language) or _is_condition(step.text, names):
                yield _hit("flow/missing-await", step)
        if language in ("python", "javascript"):
            yield from _used_coroutines(function, indexes, names)


_HANDLER = lazy_pattern(
    r"\.(?:on|once|addListener|addEventListener)\(.*=>\s*\{$|\bsetInterval\(\s*\(\)\s*=>\s*\{$"
)
_OWN_CALL = lazy_pattern(r"(?:this\.)?(?P<name>\w+)\((?:[^()]|\([^()]*\))*\);")


def _dropped_in_handler(code: CodeText, function: Function, names: set[str]) -> Iterator[CodeHit]:
    """Calls of an asynchronous method in a handler of events, if that method lets its failures out."""
    for step in function.statements[1:]:
        match = _OWN_CALL.fullmatch(step.text)
        if match is None or match["name"] not in names:
            continue
        if not step.text.startswith("this.") and "setInterval(" not in function.head.text:
            continue
        own = re.compile(rf"(?:[\w#]+\s+)*{match['name']}\s*(?:<[^>]*>)?\(")
        bodies = [code.part(other) for other in code.functions if own.match(other.head.text)]
        if bodies and not any("catch" in body for body in bodies):
            yield _hit("flow/floating-promise", step)


def _is_wrapped(code: CodeText, name: str) -> bool:
    """Whether a decorator starts the coroutine by itself, or makes something else of it."""
    head = f"async def {name}("
    lines = (code.lines[index] for index in code.indexes_at(code.places_of_own((head,))))
    return any(_WRAPPERS.search(code.above(line)) for line in lines if line.text.startswith(head))


_METHODS = {
    "python": lazy_pattern(r"async\s+def\s+(\w+)\(\s*(?:self|cls)\b"),
    "javascript": lazy_pattern(
        r"^\s+(?:static\s+)?async\s+(?!function\b)(\w+)\s*(?:<[^>]*>)?\(", re.MULTILINE
    ),
}


def _methods(code: CodeText, language: str, names: set[str]) -> set[str]:
    """Methods, of some names, that nobody calls by their object: a bare call of such a name means something
    else."""
    pattern = _METHODS.get(language)
    methods = names.intersection(pattern.findall(code.code)) if pattern is not None and names else set()
    return {
        name
        for name in methods
        if not any(code.has_word(f"{owner}.{name}(") for owner in ("self", "cls", "this"))
    }


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


def _used_coroutines(function: Function, indexes: Iterable[int], names: set[str]) -> Iterator[CodeHit]:
    """Coroutines of this file that are kept under a name, and used as if they were their result."""
    for index in indexes:
        step = function.statements[index]
        assignment = _KEPT_CALL.fullmatch(step.text)
        if assignment is None or assignment["called"] not in names:
            continue
        if _is_used_as_result(assignment["name"], function.statements[index + 1 :]):
            yield _hit("flow/missing-await", step)


# What a coroutine or promise is given to only by mistake: these ask for the value itself.
_TAKES_VALUE = (
    r"(?:\.extend|\.update|(?<![\w.])(?:len|sorted|list|dict|set|tuple|sum|max|min|int|float|str|any|all|enumerate"
    r"|json\.(?:loads|dumps)|JSON\.(?:parse|stringify)|Object\.(?:keys|values|entries)|parseInt|Number))"
    r"\(\s*{0}\s*[,)]|(?<![\w.]){0}\s*[<>+*/%-]|[<>+*/%]=?\s*{0}\b(?!\s*\()|\*\*{0}\b"
    r"|(?<![\w.])zip\([^()]*(?<![\w.*]){0}\s*[,)]"
)


def _is_used_as_result(name: str, later: Sequence[Statement]) -> bool:
    """Whether the first use of what a call gave back is one of its result, and not of the promise of it."""
    name = re.escape(name)
    takes_value = re.compile(_TAKES_VALUE.format(name))
    hands_on = re.compile(
        rf"\bawait\b.*\b{name}\b|(?<![\w.]){name}\s*=(?!=)|[(,\[]\s*(?:\*|\.\.\.)?{name}\s*[,)\]]"
    )
    looks_inside = re.compile(
        rf"(?<![\w.]){name}(?:\.(?!close\b|send\b|throw\b|then\b|catch\b|finally\b|add_done_callback\b|cancel\b)\w|\[)"
        rf"|\bfor\s+\w+\s+in\s+{name}:"
        rf"|(?<![\w.]){name}\s*(?:[!=]==?|is(?:\s+not)?)\s*(?:null|undefined|None)\b"
        rf"|\bif\s*\(?\s*(?:!\s*|not\s+)?{name}\s*[):]"
    )
    for step in later:
        if "await" not in step.text and takes_value.search(step.text):
            return True
        if hands_on.search(step.text):
            return False
        if looks_inside.search(step.text):
            return True
    return False


# Objects of libraries by what makes them, each with a word of that and its methods that must be awaited.
_ASYNC_OBJECTS = (
    (
        ("Lock", "Semaphore", "Condition"),
        r"asyncio\.(?:Lock|(?:Bounded)?Semaphore|Condition)",
        r"acquire|wait",
    ),
    (("Event", "Barrier"), r"asyncio\.(?:Event|Barrier)", r"wait"),
    (("Queue",), r"asyncio\.(?:Priority|Lifo)?Queue", r"get|put|join"),
    (
        ("AsyncClient",),
        r"(?:httpx\.)?AsyncClient",
        r"get|post|put|patch|delete|head|options|request|send|aclose",
    ),
    (
        ("AsyncSession",),
        r"(?:\w+\.)?AsyncSession",
        r"execute|commit|rollback|flush|refresh|scalars?|get|delete|close|merge",
    ),
    (
        ("asyncpg.",),
        r"asyncpg\.(?:connect|create_pool|Connection|Pool)",
        r"execute|executemany|fetch|fetchrow|fetchval|close",
    ),
)
_ASYNC_REDIS = (
    ("Redis", "from_url"),
    r"(?:\w+\.)?(?:Redis|StrictRedis|from_url|Redis\.from_url)",
    r"get|set|setex|setnx|delete|exists|incr|incrby|decr|expire|ttl|[hl](?:get|set|getall|del|len)|[lr]p(?:ush|op)|lrange"
    r"|s(?:add|rem|members|ismember)|z(?:add|rem|range)|publish|ping|mget|mset|aclose",
)
_ASYNC_OBJECT_WORDS = ("asyncio.", "AsyncClient", "AsyncSession", "asyncpg", "aioredis", "redis.asyncio")


def dropped_library_calls(code: CodeText) -> Iterator[CodeHit]:
    """Calls of asynchronous libraries of Python that nobody awaits, by what their objects were made from."""
    if code.language != "python" or not code.has_any(_ASYNC_OBJECT_WORDS):
        return
    has_redis = "redis.asyncio" in code.code or "aioredis" in code.code
    kinds = (*_ASYNC_OBJECTS, _ASYNC_REDIS) if has_redis else _ASYNC_OBJECTS
    # A text has few lines with the words of a library, and the patterns take long on all others.
    words = (*_ASYNC_OBJECT_WORDS, "Redis", "from_url", "pipeline") if has_redis else _ASYNC_OBJECT_WORDS
    lines = [code.lines[index].text for index in code.indexes_with(words)]
    objects = {
        name: methods
        for kind_words, makers, methods in kinds
        for name in _made_by((line for line in lines if any(word in line for word in kind_words)), makers)
    }
    if has_redis:
        # Commands of a pipeline wait in it; only these reach the server.
        objects.update(dict.fromkeys(_made_by(lines, r"[\w.]+\.pipeline"), r"execute|watch|unwatch"))
    marks = code.places_of_own([f"{name}." for name in objects])
    for function in code.functions_at(marks):
        if not function.head.text.startswith("async"):
            continue
        for index in function.statements_at(marks):
            step = function.statements[index]
            match = _OBJECT_CALL.match(step.text)
            if match is None or not re.fullmatch(objects.get(match["object"], "(?!)"), match["method"]):
                continue
            rest = step.text[match.end() + len(text_in_brackets(step.text, match.end())) + 1 :]
            name = match["name"]
            if rest or name is None or _is_used_as_result(name, function.statements[index + 1 :]):
                yield _hit("flow/missing-await", step)


def opened_coroutines(code: CodeText) -> Iterator[CodeHit]:
    """Calls of asynchronous functions of a file of Python that are looked into at once."""
    if code.language != "python" or "async def" not in code.code:
        return
    names = _coroutine_names(code)
    for line in code.lines if names else ():
        for match in _CALLED.finditer(line.text) if _OPENED_CALL.search(line.text) else ():
            if match[1] not in names:
                continue
            inside = text_in_brackets(line.text, match.end())
            rest = line.text[match.end() + len(inside) + 1 :]
            is_awaited = re.search(r"\bawait\s*\(?\s*$", line.text[: match.start()]) is not None
            if not is_awaited and _LOOKS_INSIDE.match(rest):
                yield CodeHit("flow/missing-await", line.start, line.start + len(line.text))
                break


_OPENED_CALL = lazy_pattern(r"\)[\[.]")
_CALLED = lazy_pattern(r"(?<![\w.])(?<!def )(?:self\.)?(\w+)\(")
_LOOKS_INSIDE = lazy_pattern(r"\)*\[|\.(?!close\b|send\b|throw\b|__)\w")


@functools.lru_cache(maxsize=1)
def _coroutine_names(code: CodeText) -> set[str]:
    """The asynchronous functions of a text of Python that have to be awaited, and somewhere are not.

    Two rules ask for them, one after the other.
    """
    lines = (code.lines[index].text for index in code.indexes_with(("async", "def")))
    heads = [text for text in lines if text.startswith(("async", "def"))]
    names = {match[1] for head in heads if (match := _ASYNC_DEF.match(head)) is not None}
    names = {name for name in names if _is_called_without_await(name, code.code)}
    if not names:
        return names
    names -= {name for head in heads for name in _PLAIN_NAMES.findall(head)}
    names -= _generators(code)
    names -= _methods(code, "python", names)
    return names - {name for name in names if _is_wrapped(code, name)}


def _is_called_without_await(name: str, text: str) -> bool:
    """Whether a text has calls of a function beside those that are awaited. Rather yes than no."""
    call = f"{name}("
    at = text.find(call)
    while at >= 0 and text.endswith(("def ", "await ", "await self."), max(0, at - 11), at):
        at = text.find(call, at + 1)
    return at >= 0


_OBJECT_CALL = lazy_pattern(
    r"(?:(?P<name>\w+)\s*(?::[^=]+)?=\s*)?(?P<object>(?:self\.)?\w+)\.(?P<method>\w+)\("
)


@functools.cache
def _makes(makers: str) -> re.Pattern[str]:
    return re.compile(
        rf"((?:self\.)?\w+)\s*(?::[^=\n]+)?=\s*(?:await\s+)?{makers}\(|\b{makers}\([^\n]*\)\s+as\s+(\w+)\s*[:,)]"
        rf"|(?:[(,]|^)\s*(\w+)\s*:\s*{makers}\s*[,)=|]"
    )


def _made_by(lines: Iterable[str], makers: str) -> Iterator[str]:
    """Names of what some lines make with some calls, or take as parameters of these types."""
    for line in lines:
        for match in _makes(makers).finditer(line):
            yield next(name for name in match.groups() if name)


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
    return match is not None and match[1] in names and ".await" not in text


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


_AWAITED = lazy_pattern(r"\bawait\s+(?P<object>(?:\w+\.)*\w+)\.(?P<method>\w+)\(")
_BARE_CALL = lazy_pattern(r"(?P<object>(?:\w+\.)*\w+)\.(?P<method>\w+)\(.*\)")
# Methods that do their work also where nobody awaits them.
_WORKS_AT_ONCE = frozenset({"release", "cancel", "close", "set_result"})


def sometimes_awaited(code: CodeText) -> Iterator[CodeHit]:
    """Methods of Python that a text awaits in one place, and drops in another."""
    if code.language != "python" or "await" not in code.code:
        return
    awaited = {
        (match["object"], match["method"])
        for at in code.places(("await",))
        if (match := _AWAITED.match(code.code, at)) is not None and match["method"] not in _WORKS_AT_ONCE
    }
    beginnings = tuple(f"{name}.{method}(" for name, method in awaited)
    for function in code.functions if awaited else ():
        if not function.head.text.startswith("async"):
            continue
        for step in function.statements:
            match = _BARE_CALL.fullmatch(step.text) if step.text.startswith(beginnings) else None
            if match is None or (match["object"], match["method"]) not in awaited:
                continue
            if (
                text_in_brackets(step.text, match.end("method") + 1)
                == step.text[match.end("method") + 1 : -1]
            ):
                yield _hit("flow/missing-await", step)


def blocking_calls(code: CodeText) -> Iterator[CodeHit]:
    """Calls that stop the thread which an asynchronous function shares with others."""
    pattern, suspends = patterns_for(code.language).blocking, patterns_for(code.language).suspends
    if pattern is None or suspends is None or not pattern.search(code.code):
        return
    reported: set[int] = set()
    for index, line in enumerate(code.lines):
        if not suspends.search(line.text) or _MAY_BLOCK.search(line.text):
            continue
        # Lines that may block end where they are indented no deeper than the one that says so.
        allowed = -1
        for step in code.block(index):
            if 0 <= allowed < step.indent:
                continue
            allowed = step.indent if _MAY_BLOCK.search(step.text) else -1
            if allowed < 0 and pattern.search(step.text) and step.start not in reported:
                reported.add(step.start)
                yield CodeHit("flow/blocking-in-async", step.start, step.start + len(step.text))


# Where a call that blocks has a thread of its own.
_MAY_BLOCK = lazy_pattern(
    r"spawn_blocking|block_in_place|thread::spawn|Dispatchers\.IO|\bioDispatcher\b|\bthread\s*(?:\([^()]*\))?\s*\{|asCoroutineDispatcher"
)


def _hit(rule: str, statement: Statement) -> CodeHit:
    return CodeHit(rule, statement.start, statement.start + len(statement.line.text))
