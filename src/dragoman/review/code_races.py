"""Variables that several threads or coroutines change at once without a lock. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.code_text import CodeHit, CodeLine, CodeText

_GUARDED = lazy_pattern(
    r"\bR?Lock\(\)|\batomic\.|\bwithLock\b|\bsynchronized\b|\block\b|\bmutex\b|\bwith\b.*lock", re.I
)
_GO_START = lazy_pattern(r".*\b(?:go func|\w+\.Go\(func)\s*\(")
_CHANGE = lazy_pattern(
    r"(?P<name>[A-Za-z_]\w*)(?:\.\w+)*\s*(?:\+\+|--|[-+*/|]=)|(?P<list>[A-Za-z_]\w*)\s*=\s*append\(\s*(?P=list)\b"
)
_LAUNCHED = lazy_pattern(r".*\b(?:launch|async|thread|submit|execute|Thread)\b\s*(?:\([^()]*\))?\s*\{")
_STARTS = ("launch", "async", "thread", "submit", "execute", "Thread")
_COUNTED = lazy_pattern(r"(?<![\w.])(\w+)\s*(?:\+\+|--|[-+*/]=|=\s*\1\s*[-+*/])")


def races(code: CodeText) -> Iterator[CodeHit]:
    """What is changed in a thread of its own and belongs to somebody outside."""
    if code.language == "go":
        if "go func" in code.code or ".Go(func" in code.code:
            yield from _in_goroutines(code)
        yield from _in_handlers(code)
    elif code.language == "kotlin" and code.has_any(_STARTS):
        yield from _in_coroutines(code)
    elif code.language == "python" and "global " in code.code and "hread" in code.code:
        yield from _globals_in_threads(code)
    elif code.language == "java":
        if "volatile" in code.code:
            yield from _volatile_counters(code)
        if "static" in code.code:
            yield from _lazy_statics(code)
        if "synchronized" in code.code:
            yield from _changing_locks(code)
        yield from _in_servlets(code)
        yield from _in_lambdas(code)
    if code.language == "python" and "await" in code.code:
        yield from _asked_before_await(code)
    if code.language == "python" and "hread" in code.code:
        yield from _fields_in_threads(code)
    if "tomic" in code.code:
        yield from _lost_updates(code)


def stale_values(code: CodeText) -> Iterator[CodeHit]:
    """What is written back, changed, after others may have changed it, too."""
    if code.language in _STALE_WORDS and "await " in code.code:
        yield from _kept_over_await(code)
    if code.language == "python" and code.has_any((".map(", ".submit(", "target=")):
        yield from _entries_in_threads(code)


def _hit(line: CodeLine) -> CodeHit:
    return CodeHit("flow/data-race", line.start, line.start + len(line.text))


def _in_goroutines(code: CodeText) -> Iterator[CodeHit]:
    for index, line in enumerate(code.lines):
        if not _GO_START.match(line.text):
            continue
        body = code.block(index) or (line,)
        if any(_GUARDED.search(step.text) for step in body):
            continue
        own_names = _own_names(line.text, body)
        if len(body) == 1 and (last := re.search(r"[;{]\s*(\w+)\s*=\s*[^=;]*\}", line.text)) is not None:
            # The same variable in another goroutine.
            if len(re.findall(rf"\bgo func\(\) \{{[^\n]*[;{{]\s*{last[1]}\s*=[^=]", code.code)) > 1:
                yield _hit(line)
            continue
        for step in body:
            match = _CHANGE.match(step.text)
            if match is not None and (match["name"] or match["list"]) not in own_names:
                yield _hit(step)
                break


def _own_names(head: str, body: Sequence[CodeLine]) -> set[str]:
    names = set(re.findall(r"[(,]\s*(\w+)(?=[\s,)])", head[head.find("func") :]))
    for step in body:
        if (match := re.match(r"(?:for\s+|if\s+)?([\w, ]+?)\s*:=", step.text)) is not None:
            names |= {name.strip() for name in match[1].split(",")}
        if (match := re.match(r"var\s+(\w+)", step.text)) is not None:
            names.add(match[1])
    return names


_KOTLIN_COLLECTION = lazy_pattern(
    r"val\s+(\w+)(?:\s*:[^=]+)?\s*=\s*(?:mutable(?:List|Map|Set)Of|ArrayList|HashMap|HashSet|hashMapOf|arrayListOf)\b"
)
_KOTLIN_GROWN = lazy_pattern(
    r"(?<![\w.])(\w+)(?:\.(?:add|addAll|put|remove)\(|\[[^\]]*\]\s*[-+]?=(?!=)|\s*\+=)"
)
# Handlers of requests, each of which runs in a goroutine or a thread of its own.
_GO_HANDLER = lazy_pattern(r".*(?:http\.ResponseWriter|\*gin\.Context|echo\.Context|\*fiber\.Ctx)\b")
_GO_GLOBAL = lazy_pattern(r"^var\s+(\w+)\s+(?:=\s*0\b|=\s*(?:make\()?map\[|u?int\d*\b|map\[)", re.MULTILINE)
_SERVLET = lazy_pattern(r"\bextends\s+HttpServlet\b|@(?:Rest)?Controller\b|@Path\(")


def _in_handlers(code: CodeText) -> Iterator[CodeHit]:
    """Variables of a package of Go that a handler of requests changes."""
    if not code.has_any(("http.ResponseWriter", "gin.Context", "echo.Context", "fiber.Ctx")):
        return
    names = set(_GO_GLOBAL.findall(code.code))
    for function in code.functions if names else ():
        if not _GO_HANDLER.match(function.head.text) or _GUARDED.search(code.part(function)):
            continue
        for line in function.body[1:]:
            match = re.match(r"(\w+)(?:\[[^\]]*\])?\s*(?:\+\+|--|[-+]=|=(?!=))", line.text)
            if match is not None and match[1] in names:
                yield _hit(line)
                break


def _in_servlets(code: CodeText) -> Iterator[CodeHit]:
    """Fields of Java that a class counts whose methods serve many requests at once."""
    if not _SERVLET.search(code.code):
        return
    counters = set(_PLAIN_FIELD.findall(code.code))
    for line in code.lines if counters else ():
        match = re.match(r"(?:this\.)?(\w+)(?:\+\+|--|\s*[-+]=)", line.text)
        if match is not None and match[1] in counters and "synchronized" not in code.code:
            yield _hit(line)


_STALE_WORDS = ("python", "javascript", "typescript", "tsx")
_KEPT = lazy_pattern(r"(?:const\s+|let\s+)?(?P<name>\w+)\s*=\s*(?P<field>(?:self|this)\.\w+|\w+);?$")


def _kept_over_await(code: CodeText) -> Iterator[CodeHit]:
    """Values that are read before others run, and written back, changed, after it."""
    shared = set(re.findall(r"^(?:let|var)\s+(\w+)", code.code, re.MULTILINE))
    for function in code.functions_with(("await ",)):
        if any(_GUARDED.search(line.text) or "runExclusive" in line.text for line in function.body):
            continue
        kept: dict[str, str] = {}
        waited: dict[str, str] = {}
        for statement in function.statements:
            text = statement.text
            for name, field in waited.items():
                if re.match(rf"{re.escape(field)}\s*=\s*{name}\s*[-+*/]", text):
                    yield _hit(statement.line)
            grown = re.match(r"(\w+)\s*[-+]=\s*await\b", text)
            if grown is not None and grown[1] in shared and statement.line.indent > 0:
                yield _hit(statement.line)
            if "await " in text:
                waited |= kept
            match = _KEPT.match(text)
            if match is not None and ("." in match["field"] or match["field"] in shared):
                kept[match["name"]] = match["field"]


def _entries_in_threads(code: CodeText) -> Iterator[CodeHit]:
    """Entries of a dictionary of the module that a function counts which runs in several threads."""
    for function in code.functions_with(("] =", "] +=")):
        target = re.match(r"def\s+(\w+)\(", function.head.text)
        if target is None or any(_GUARDED.search(line.text) for line in function.body):
            continue
        started = rf"target\s*=\s*{target[1]}\b|(?:pool|executor|ex)\.(?:submit|map)\(\s*{target[1]}\b"
        if "Process" in code.code or not re.search(started, code.code):
            continue
        for line in function.body:
            match = re.match(r"(\w+)\[[^\]]*\]\s*(?:[-+]=|=\s*\1(?:\.get\(|\[).*[-+])", line.text)
            if match is not None and re.search(rf"^{match[1]}\b.*=", code.code, re.MULTILINE):
                yield _hit(line)
                break


def _in_coroutines(code: CodeText) -> Iterator[CodeHit]:
    for function in code.functions:
        variables = {
            match[1] for line in function.body if (match := re.match(r"var\s+(\w+)\b", line.text)) is not None
        }
        collections = {
            match[1]: line.indent
            for line in function.body
            if (match := _KOTLIN_COLLECTION.match(line.text)) is not None
        }
        if not (variables or collections) or any(_GUARDED.search(line.text) for line in function.body):
            continue
        inside = -1
        for line in function.body:
            if inside >= 0 and line.indent <= inside:
                inside = -1
            launched = _LAUNCHED.match(line.text)
            text = line.text[launched.end() :] if launched else line.text if inside >= 0 else ""
            if launched and inside < 0:
                inside = line.indent
            if any(match[1] in variables for match in _COUNTED.finditer(text)) or (
                line is not function.head
                and any(collections.get(match[1], 999) <= inside for match in _KOTLIN_GROWN.finditer(text))
            ):
                yield _hit(line)
                break


def _globals_in_threads(code: CodeText) -> Iterator[CodeHit]:
    for function in code.functions:
        names = {
            name
            for line in function.body
            if line.text.startswith("global ")
            for name in re.findall(r"\w+", line.text[7:])
        }
        target = re.match(r"(?:async\s+)?def\s+(\w+)", function.head.text)
        if not names or target is None or any(_GUARDED.search(line.text) for line in function.body):
            continue
        if not re.search(
            rf"target\s*=\s*{target[1]}\b|\bsubmit\(\s*{target[1]}\b|\.map\(\s*{target[1]}\b", code.code
        ):
            continue
        for line in function.body:
            match = _COUNTED.match(line.text)
            if match is not None and match[1] in names:
                yield _hit(line)
                break


_STARTED = lazy_pattern(r"(?:\btarget\s*=\s*|\.(?:submit|map)\(\s*)self\.(\w+)")
_COUNTED_FIELD = lazy_pattern(r"self\.\w+\s*[-+*/]=")


def _fields_in_threads(code: CodeText) -> Iterator[CodeHit]:
    """Fields of Python that a method counts which runs in several threads."""
    started = (
        set(_STARTED.findall(code.code)) if re.search(r"\bfor\b|\.(?:submit|map)\(", code.code) else set()
    )
    for function in code.functions if started else ():
        target = re.match(r"def\s+(\w+)", function.head.text)
        if target is None or target[1] not in started:
            continue
        if any(_GUARDED.search(line.text) for line in function.body):
            continue
        for line in function.body:
            if _COUNTED_FIELD.match(line.text):
                yield _hit(line)
                break


# A value of an atomic that is read, changed and written back: two threads may read the same.
_LOADED = lazy_pattern(
    r"(?:let\s+|int\s+|long\s+|var\s+|val\s+)?(\w+)\s*=\s*([\w.]+)\.(?:load|get)\([^()]*\);?"
)
_STORED_AT_ONCE = lazy_pattern(
    r"([\w.]+)\.(?:store|set)\(\s*\1\.(?:load|get)\([^()]*\)\s*[-+*]"
    r"|atomic\.Store\w+\(&([\w.]+),\s*atomic\.Load\w+\(&\2\)\s*[-+*]"
)


def _lost_updates(code: CodeText) -> Iterator[CodeHit]:
    for function in code.functions_with((".store(", ".set(", "atomic.Store")):
        if any(_GUARDED.search(line.text.replace("atomic.", "")) for line in function.body):
            continue
        loaded: dict[str, str] = {}
        for line in function.body:
            if (match := _LOADED.match(line.text)) is not None:
                loaded[match[1]] = match[2]
            is_lost = _STORED_AT_ONCE.search(line.text) is not None or any(
                re.search(rf"(?<![\w.]){re.escape(atomic)}\.(?:store|set)\(\s*{name}\s*[-+*]", line.text)
                for name, atomic in loaded.items()
            )
            if is_lost:
                yield _hit(line)


def _volatile_counters(code: CodeText) -> Iterator[CodeHit]:
    names = set(re.findall(r"\bvolatile\s+(?:int|long|short|Integer|Long)\s+(\w+)", code.code))
    for line in code.lines:
        match = re.search(
            r"(?<![\w.])(?:this\.)?(\w+)\s*(?:\+\+|--|[-+]=)|(?:\+\+|--)(?:this\.)?(\w+)", line.text
        )
        if match is not None and (match[1] or match[2]) in names and "synchronized" not in line.text:
            yield _hit(line)


_STATIC = lazy_pattern(r"\bstatic\s+(?!final\b)(?:\w+\s+)*?[A-Z][\w<>,\[\] ]*\s+(\w+)\s*(?:=\s*null\s*)?;")


def _lazy_statics(code: CodeText) -> Iterator[CodeHit]:
    """Static fields that the first caller fills in, while a second one may do the same."""
    names = {
        match[1]
        for match in _STATIC.finditer(code.code)
        if "volatile" not in match[0] and "ThreadLocal" not in match[0]
    }
    for function in code.functions if names else ():
        if "synchronized" in function.head.text:
            continue
        for index, line in enumerate(function.body):
            match = re.match(r"if\s*\(\s*(?:\w+\.)?(\w+)\s*==\s*null\s*\)", line.text)
            if match is None or match[1] not in names:
                continue
            near = " ".join(step.text for step in function.body[index : index + 3])
            is_set = re.search(rf"(?<!\w){match[1]}\s*=(?!=)", near[match.end() :]) is not None
            if is_set and not any("synchronized" in step.text for step in function.body[: index + 2]):
                yield _hit(line)


def _changing_locks(code: CodeText) -> Iterator[CodeHit]:
    """Locks that are fields which somebody sets: two threads may hold two of them."""
    for line in code.lines:
        match = re.search(r"\bsynchronized\s*\(\s*(?:this\.)?(\w+)\s*\)", line.text)
        if match is None or match[1] == "this":
            continue
        name = match[1]
        declared = re.search(
            rf"\b(?:private|protected|public|static)\s[\w<>\[\], ]*\b{name}\s*[;=]", code.code
        )
        if declared is None or "final" in declared[0] or "transient" in declared[0]:
            continue
        sets = re.findall(rf"(?<![\w.])(?:this\.)?{name}\s*(?:=(?!=)|\+\+|--|[-+]=)", code.code)
        if len(sets) > ("=" in declared[0]) or re.search(r"\b(?:Integer|Long|Boolean|String)\b", declared[0]):
            yield _hit(line)


_ASKS = lazy_pattern(
    r"(?:if|elif)\s(?P<test>.*\bself\.(?P<field>\w+)\b.*[<>].*|.*[<>].*\bself\.(?P<other>\w+)\b.*)"
)
_COUNTS = lazy_pattern(r"self\.(?P<field>\w+)\s*[-+]=\s*(?P<amount>[A-Za-z_]\w*)$")


def _asked_before_await(code: CodeText) -> Iterator[CodeHit]:
    """Fields that a coroutine asks for an amount, and changes by it after it has let others run."""
    for function in code.functions_with(("+=", "-=")):
        if not function.head.text.startswith("async") or any(
            _GUARDED.search(line.text) or "emaphore" in line.text for line in function.body
        ):
            continue
        asked: dict[str, str] = {}
        waited: dict[str, str] = {}
        for statement in function.statements:
            text = statement.text
            match = _COUNTS.match(text)
            if match is not None and re.search(rf"\b{match['amount']}\b", waited.get(match["field"], "")):
                yield _hit(statement.line)
                break
            if "await " in text:
                waited |= asked
            if (match := _ASKS.match(text)) is not None:
                asked[match["field"] or match["other"]] = match["test"]


_JAVA_START = lazy_pattern(
    r".*(?:\.(?:submit|execute|runAsync|supplyAsync)\(|\bnew Thread\(|\.parallel(?:Stream)?\(\).*\.forEach\()"
    r"\s*(?:\(\s*\)|\w+)\s*->"
)
_PLAIN_FIELD = lazy_pattern(
    r"^[ \t]+(?:(?:private|protected|public|static)\s+)*(?:int|long|double)\s+(\w+)\s*(?:=[^;()]*)?;",
    re.MULTILINE,
)
_PLAIN_COLLECTION = lazy_pattern(
    r"\b(\w+)\s*=\s*new\s+(?:ArrayList|LinkedList|HashMap|HashSet|TreeMap|StringBuilder)\b"
)


def _in_lambdas(code: CodeText) -> Iterator[CodeHit]:
    """Fields and collections of Java that lambdas change in threads of their own."""
    if "->" not in code.code or not any(
        word in code.code for word in ("submit(", "execute(", "Async(", "Thread(", "parallel")
    ):
        return
    counters = set(_PLAIN_FIELD.findall(code.code))
    collections = set(_PLAIN_COLLECTION.findall(code.code))
    for index, line in enumerate(code.lines):
        start = _JAVA_START.match(line.text)
        if start is None:
            continue
        body = (line._replace(text=line.text[start.end() :]), *code.block(index))
        if any(_GUARDED.search(step.text) for step in body):
            continue
        own_names = {name for step in body for name in re.findall(r"\b[\w<>]+\s+(\w+)\s*=", step.text)}
        for step in body:
            changed = {match[1] for match in _COUNTED.finditer(step.text)} & counters
            changed |= (
                set(re.findall(r"(?<![\w.])(\w+)\.(?:add|put|append|remove)\(", step.text)) & collections
            )
            if changed - own_names:
                yield _hit(line)
                break
