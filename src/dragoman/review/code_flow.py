"""What is opened and never closed, locked and never unlocked, started and never awaited, within one
function. Pure.

Each rule is a function over `CodeText`; its words are in `code_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.review.code_text import CodeHit, CodeText, Function, Statement

_OPENERS = {
    "python": r"(?:open|os\.fdopen|socket\.socket|socket\.create_connection|sqlite3\.connect"
    r"|psycopg2?\.connect|tempfile\.(?:NamedTemporaryFile|TemporaryFile)"
    r"|gzip\.open|bz2\.open|lzma\.open|codecs\.open|io\.open|zipfile\.ZipFile|tarfile\.open"
    r"|smtplib\.SMTP(?:_SSL)?|ftplib\.FTP|urllib\.request\.urlopen|urlopen|mmap\.mmap)\(",
    "go": r"(?:os\.(?:Open|Create|OpenFile|CreateTemp)|http\.(?:Get|Post|Head|PostForm)|\w+\.(?:Do"
    r"|QueryContext|Query)|net\.(?:Dial|Listen)|sql\.Open|zip\.OpenReader|gzip\.NewReader)\(",
    "java": r"(?:new\s+(?:FileInputStream|FileOutputStream|FileReader|FileWriter"
    r"|BufferedReader(?!\(new InputStreamReader\(\w+[,)])|BufferedWriter|PrintWriter|Scanner"
    r"|Socket|ServerSocket|RandomAccessFile|ZipFile|JarFile|ObjectInputStream"
    r"|InputStreamReader|DataInputStream|ZipInputStream|BufferedInputStream"
    r"|BufferedOutputStream)\("
    r"|[\w.]+\.(?:getConnection|prepareStatement|createStatement|executeQuery|openStream"
    r"|newInputStream|newOutputStream|newBufferedReader|newBufferedWriter|openConnection)\("
    r"|Files\.(?:lines|list|walk)\()",
    "kotlin": r"(?:(?:FileInputStream|FileOutputStream|FileReader|FileWriter|Scanner|Socket|ZipFile"
    r"|RandomAccessFile|PrintWriter|BufferedWriter)\(|[\w.()]+\.(?:inputStream"
    r"|outputStream|bufferedReader|bufferedWriter|reader|writer|rawQuery|openStream"
    r"|getConnection|openFileInput|openInputStream)\()",
    "javascript": r"(?:await\s+(?:fs\.|fsp\.|fsPromises\.|fs\.promises\.)?open\(|fs\.openSync\("
    r"|await\s+pool\.connect\(|await\s+\w+\.getConnection\()",
}
_OPENED = {
    language: re.compile(
        rf"(?:(?:const|let|var|val"
        rf"|final)\s+)?(?:[\w<>\[\].?]+\s+)?(?P<name>\w+)(?:\s*,\s*(?P<error>\w+))?(?:\s*:\s*[\w<>?.]"
        rf"+)?\s*:?=\s*(?P<call>{opener})"
    )
    for language, opener in _OPENERS.items()
}
_OPENING_WORDS = {
    "python": ("open(", "socket(", "connect", "TemporaryFile(", "ZipFile(", "SMTP", "FTP(", "mmap("),
    "go": ("os.", "http.", ".Do(", ".Query", "net.", "sql.Open", "OpenReader", "NewReader"),
    "java": ("new ", "getConnection", "Statement(", "executeQuery", "Stream(", "newBuffered", "Files."),
    "kotlin": (
        "Stream",
        "eader",
        "riter",
        "Scanner(",
        "Socket(",
        "ZipFile(",
        "rawQuery",
        "getConnection",
        "AccessFile(",
    ),
    "javascript": ("open", "connect", "getConnection"),
}
_CLOSES = (
    r"\b{0}\b(?:\.\w+)*(?:\?|!!)?\.(?:close|Close|release|destroy|end|use|dispose|disconnect"
    r"|shutdown|detach|closeQuietly)\b"
)
_HANDED_ON = (
    r"\breturn\s+(?:await\s+)?(?:&?(?:new\s+)?[A-Z]\w*[({{][^;]*?)?(?<![\w.]){0}\s*(?:[,;)}}]|$)"
    r"|\b(?:self|this)\.\w+\s*=\s*{0}\b|\byield\s+{0}\b|\.(?:add|append|push|put|set|enter_context"
    r"|push_async_exit|callback|register)\([^()]*\b{0}\b"
    r"|\b(?:closing|closeQuietly|close|with|using|aclosing|addFinalizer|finish)\s*\(?[^;]*\b{0}\b"
    r"|=\s*(?:new\s+)?[A-Z]\w*\([^()]*\b{0}\b|\[\w*\]\s*=\s*{0}\b|\btry\s*\([^)]*\b{0}\b"
    r"|&\w+\{{[^}}]*\b{0}\b"
)
_READ_CHAIN = {
    "python": re.compile(
        r"(?<![\w.])open\([^()]*(?:\([^()]*\)[^()]*)*\)\.(?:read|readlines|write|readline)\("
    ),
    "java": re.compile(
        r"\bFiles\.(?:lines|list|walk)\([^()]*\)\.|\bnew\s+(?:FileInputStream|FileReader"
        r"|Scanner)\([^;]*?\)\.(?:read|next)\w*\("
    ),
    "kotlin": re.compile(
        r"(?<![\w.])(?:FileInputStream|FileReader|Scanner)\([^()]*\)\.(?!use\b|bufferedReader|reader"
        r"|buffered)\w+"
    ),
}


def leaks(code: CodeText) -> Iterator[CodeHit]:
    """Files, sockets and connections that no way through the function closes."""
    language = _family(code.language)
    opened, chain = _OPENED.get(language), _READ_CHAIN.get(language)
    if opened is None or not any(word in code.code for word in _OPENING_WORDS[language]):
        return
    if chain is not None:
        for found in chain.finditer(code.code):
            line = code.code[code.code.rfind("\n", 0, found.start()) + 1 : found.start()]
            if not re.search(r"\b(?:with|try)\b", line):
                yield CodeHit("flow/resource-leak", found.start(), found.end())
    for function in code.functions:
        yield from _leaks_in(function, opened, language)


def _leaks_in(function: Function, opened: re.Pattern[str], language: str) -> Iterator[CodeHit]:
    statements = function.statements
    for index, statement in enumerate(statements):
        found = opened.match(statement.text)
        if found is None or found["name"] in ("_", "return"):
            continue
        rest = "\n".join(later.text for later in statements[index + 1 :])
        name = re.escape(found["name"])
        call = found["call"]
        if (
            language == "go"
            and call.startswith(("http.", "gzip")) is False
            and re.match(r"\w+\.(?:Do|Query)", call)
        ):
            name_closed = re.search(_CLOSES.format(name), rest)
            if name_closed or re.search(rf"\breturn\b[^\n]*(?<![\w.]){name}\b(?!\.)", rest):
                continue
            if not re.search(rf"\b{name}\.(?:Next|Body|StatusCode|Scan)\b", rest):
                continue
            yield _hit("flow/resource-leak", statement)
            continue
        if re.search(_CLOSES.format(name), rest) or re.search(_HANDED_ON.format(name), rest):
            continue
        yield _hit("flow/resource-leak", statement)


_LOCKED = re.compile(r"(?:await\s+)?(?P<lock>[\w.]*\w)\.(?P<verb>lock|Lock|RLock|acquire)\(\)(?:;|$)")
_LEAVING = re.compile(r"\b(?:return|raise|throw)\b")


def locks(code: CodeText) -> Iterator[CodeHit]:
    """Locks that a return or an error leaves locked."""
    if code.language == "rust" or not re.search(r"\.(?:lock|Lock|RLock|acquire)\(\)", code.code):
        return
    for function in code.functions:
        statements = function.statements
        for index, statement in enumerate(statements):
            found = _LOCKED.match(statement.text)
            if found is not None and _stays_locked(re.escape(found["lock"]), statements[index + 1 :]):
                yield _hit("flow/lock-not-released", statement)


def _stays_locked(lock: str, later: Sequence[Statement]) -> bool:
    unlock = re.compile(rf"\b{lock}\.(?:unlock|Unlock|RUnlock|release)\(\)")
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


_ASYNC_NAMES = {
    "python": re.compile(r"\basync\s+def\s+(\w+)"),
    "javascript": re.compile(
        r"\basync\s+(?:function\s*\*?\s*)?(\w+)\s*(?:<[^>]*>)?\(|\b(\w+)\s*(?::[^=\n]+)?=\s*async\b"
    ),
    "rust": re.compile(r"\basync\s+fn\s+(\w+)"),
}
_ASYNC_CALLS = {
    "python": r"asyncio\.(?:sleep|wait_for|gather|wait|open_connection|start_server|to_thread"
    r"|create_subprocess_\w+)|anyio\.sleep|trio\.sleep",
    "javascript": r"(?:window\.)?fetch|Promise\.(?:all|allSettled|race|any)|(?:fs\.promises|fsp"
    r"|fsPromises)\.\w+|axios(?:\.\w+)?|navigator\.clipboard\.\w+",
    "rust": r"tokio::time::sleep|sleep_until|tokio::fs::\w+|tokio::time::timeout",
}
_FS_PROMISES = re.compile(
    r"""promises\s+as\s+fs\b|import\s+(?:\*\s+as\s+)?fs\s+from\s+["'](?:node:)?fs/promises|fs\s*=\s*require\(["'](?:node:)?fs(?:/promises["']|["']\)\.promises)"""
)
_IS_ASYNC = re.compile(r"\basync\b")
_RECEIVER = r"(?:self\.|this\.|Self::)?"
_UNUSED = r"(?:let\s+_\s*=\s*)?"
_ARGUMENTS = r"\s*(?:::<[^>]*>)?\("
_CALL = re.compile(rf"{_UNUSED}{_RECEIVER}(\w+){_ARGUMENTS}")
_CONDITION = re.compile(rf"(?:if|while|elif|}}\s*else\s+if)\s*\(?\s*(?:not\s+|!)?{_RECEIVER}(\w+)\(")
_HEAD_WORDS = ("async", "def ", "fn ", "function")
_PLAIN_NAMES = re.compile(r"(?<!async )(?:\bdef|\bfn|\bfunction)\s+(\w+)")


def _async_calls(names: str) -> re.Pattern[str]:
    """Calls of libraries that must be awaited, at the beginning of a statement."""
    return re.compile(rf"{_UNUSED}(?:{names}){_ARGUMENTS}")


_CALLS = {language: _async_calls(names) for language, names in _ASYNC_CALLS.items()}
_CALLS_WITH_FS = _async_calls(
    _ASYNC_CALLS["javascript"]
    + r"|fs\.(?:writeFile|readFile|unlink|mkdir|rm|rename|appendFile|copyFile|access|stat)"
)


def missing_awaits(code: CodeText) -> Iterator[CodeHit]:
    """Coroutines and promises that nobody waits for."""
    language = _family(code.language)
    names_of = _ASYNC_NAMES.get(language)
    if names_of is None or not any(word in code.code for word in ("async", ".then(", "fetch(")):
        return
    heads = [line.text for line in code.lines if any(word in line.text for word in _HEAD_WORDS)]
    names = {name for head in heads for found in names_of.finditer(head) for name in found.groups() if name}
    names -= {name for head in heads for name in _PLAIN_NAMES.findall(head)}
    calls = _CALLS[language]
    if language == "javascript" and _FS_PROMISES.search(code.text):
        calls = _CALLS_WITH_FS
    # A statement begins with its line. Where no line begins with such a call, nothing is left to look at.
    if not any(_begins_with_call(line.text, names, calls) for line in code.lines):
        return
    for function in code.functions:
        if not _IS_ASYNC.search(function.head.text) and language != "python":
            continue
        for step in function.statements:
            if step.line is function.head:
                continue
            if _is_dropped(step, names, calls, language) or _is_condition(step.text, names):
                yield _hit("flow/missing-await", step)


def _begins_with_call(text: str, names: set[str], calls: re.Pattern[str]) -> bool:
    called = _CALL.match(text)
    return bool(called and called[1] in names) or bool(calls.match(text)) or _is_condition(text, names)


def _is_condition(text: str, names: set[str]) -> bool:
    found = _CONDITION.match(text)
    return found is not None and found[1] in names


def _is_dropped(step: Statement, names: set[str], calls: re.Pattern[str], language: str) -> bool:
    called = _CALL.match(step.text)
    if not (called and called[1] in names) and not calls.match(step.text):
        return False
    if language == "rust":
        return ".await" not in step.text and step.text.endswith(";") and "block_on" not in step.text
    text = step.text.rstrip(";")
    if language == "javascript" and (".catch(" in text or text.endswith(("{", ","))):
        return False
    return text.endswith(")")


_JSON_OF = re.compile(r"(?:const|let|var)\s+(\w+)\s*(?::[^=]+)?=\s*await\s+(?:\w+\.)?fetch\(")
_FETCH_CHAIN = re.compile(
    r"(?<!await )(?<!\w)fetch\([^()]*(?:\([^()]*\)[^()]*)*\)\.(?:json|text|blob|ok|status|headers)\b"
)
_THEN = re.compile(r"[\w.]+(?:\([^()]*\))?(?:\.\w+\([^()]*\))*\.then\(")
_ASYNC_FILTER = re.compile(r"\.(?:filter|some|every|find|findIndex|sort)\(\s*async\b")
_ASYNC_MAP = re.compile(r"(?:const|let|var)\s+(\w+)\s*=\s*[\w.]+\.map\(\s*async\b")
_ASYNC_EACH = re.compile(r"\.forEach\(\s*async\b")


def script_promises(code: CodeText) -> Iterator[CodeHit]:
    """Promises that are taken for what they will be."""
    if _family(code.language) != "javascript":
        return
    for found in _FETCH_CHAIN.finditer(code.code):
        yield CodeHit("flow/missing-await", found.start(), found.end())
    for found in _ASYNC_FILTER.finditer(code.code):
        yield CodeHit("flow/async-callback", found.start(), found.end())
    for found in _ASYNC_MAP.finditer(code.code):
        if re.search(
            rf"\b{found[1]}\.(?:reduce|filter|join|forEach|length|map|sort)\b", code.code[found.end() :]
        ):
            yield CodeHit("flow/async-callback", found.start(), found.end())
    for function in code.functions:
        yield from _promises_in(function)


def _promises_in(function: Function) -> Iterator[CodeHit]:
    replies: set[str] = set()
    is_async = bool(_IS_ASYNC.search(function.head.text))
    steps = function.statements
    for step in steps:
        if found := _JSON_OF.match(step.text):
            replies.add(found[1])
        for name in replies:
            if re.search(rf"=\s*{name}\.(?:json|text|blob|arrayBuffer|formData)\(\)", step.text):
                yield _hit("flow/missing-await", step)
        if not is_async and step.line is not function.head:
            is_then = (
                _THEN.match(step.text) and ".catch(" not in step.text and step.text.endswith((")", ");"))
            )
            is_fetch = (
                re.match(r"fetch\(", step.text)
                and ".catch(" not in step.text
                and step.text.endswith((")", ");"))
            )
            if is_then or is_fetch:
                yield _hit("flow/floating-promise", step)


_BLOCKING = {
    "rust": r"\b(?:std::)?thread::sleep\(|\bstd::fs::\w+\(|\breqwest::blocking::",
    "kotlin": r"\bThread\.sleep\(|\brunBlocking\b",
}
_SUSPENDS = {"rust": r"\basync\s+(?:move\s+)?(?:fn|\{)", "kotlin": r"\bsuspend\s+fun\b"}


def blocking_calls(code: CodeText) -> Iterator[CodeHit]:
    """Calls that stop the thread which an asynchronous function shares with others."""
    pattern = _BLOCKING.get(code.language)
    if pattern is None or not re.search(pattern, code.code):
        return
    for function in code.functions:
        if not re.search(_SUSPENDS[code.language], function.head.text):
            continue
        for step in function.statements:
            if (
                step.line is not function.head
                and re.search(pattern, step.text)
                and "spawn_blocking" not in step.text
            ):
                yield _hit("flow/blocking-in-async", step)


def _family(language: str) -> str:
    return "javascript" if language in ("typescript", "tsx") else language


def _hit(rule: str, statement: Statement) -> CodeHit:
    return CodeHit(rule, statement.start, statement.start + len(statement.line.text))


_WEAK_RANDOM = {
    "python": r"\brandom\.(?:random|choice|choices|randint|randrange|getrandbits|sample|randbytes)\("
    r"|(?<![\w.])(?:randint|choice|choices|getrandbits|randrange)\(",
    "javascript": r"\bMath\.random\(",
    "go": r"\brand\.(?:Int\w*|Read|Uint\w*|Float\w*|Perm|Intn|N)\(",
    "java": r"\bnew\s+Random\(|\bMath\.random\(|\bThreadLocalRandom\b|\bRandomStringUtils\.random",
    "kotlin": r"(?<!Secure)\bRandom\.next\w+\(|(?<!Secure)(?:\bjava\.util\.)?\bRandom\(\s*\)"
    r"|\bMath\.random\(|\.random\(\)",
    "rust": r"\bSmallRng\b|\bseed_from_u64\(|\bfastrand::|\bStdRng::seed|\bXorShiftRng\b",
}
_SECRET_NAME = re.compile(
    r"(?i)token|secret|passw|session_?(?:id|key)|(?<![a-z])otp(?![a-z])|nonce|csrf|api_?key"
    r"|(?<![a-z])salt|reset_?code|reset|verif|invite|access_?code|session_key|new_?session|one_?time"
    r"|(?<![a-z])pin(?![a-z])|(?<![a-z])iv(?![a-z])|private_?key|coupon"
)


def weak_random(code: CodeText) -> Iterator[CodeHit]:
    """Numbers that can be guessed, where their name says that nobody may."""
    language = _family(code.language)
    pattern = _WEAK_RANDOM.get(language)
    if (
        pattern is None
        or not ("rand" in code.code or "Rand" in code.code or "Rng" in code.code)
        or not re.search(pattern, code.code)
    ):
        return
    if language == "python" and not re.search(r"^\s*(?:import|from)\s+random\b", code.code, re.MULTILINE):
        return
    if language == "go" and '"crypto/rand"' in code.text:
        return
    weak = re.compile(pattern)
    for function in code.functions:
        is_secret = _SECRET_NAME.search(function.head.text.split("{")[0])
        for step in function.statements:
            # Of a statement, what is before the call: the name that it is given to.
            found = weak.search(step.text)
            if found and (is_secret or _SECRET_NAME.search(step.text[: found.start()])):
                yield _hit("flow/weak-random", step)


_PURE = {
    "python": r"(?:sorted|reversed|map|filter|zip|len|sum|str|int|list|set|tuple)\(.*\)"
    r"|[\w.]+\.replace\([^,]+,.+\)|[\w.]+\.(?:strip|lstrip|rstrip|lower|upper|title"
    r"|capitalize|removesuffix|removeprefix|encode|decode|split|format|zfill|union"
    r"|intersection|difference|copy|with_suffix|casefold)\(.*\)",
    "javascript": r"[\w.]+\.(?:trim|toLowerCase|toUpperCase|replace|replaceAll|slice|substring"
    r"|concat|map|filter|padStart|padEnd|flat|toFixed|toString|repeat|split|trimEnd"
    r"|trimStart|toSorted|with)\(.*\);?",
    "java": r"\w+\.(?:trim|strip|toLowerCase|toUpperCase|replace|replaceAll|substring|concat|add"
    r"|subtract|multiply|divide|negate|plusDays|plusHours|minusDays|plus|minus|with\w*"
    r"|resolve|normalize|map|filter)\(.*\);",
    "kotlin": r"[a-z]\w*\.(?:trim|lowercase|uppercase|replace|substring|plus|minus|filter|map|sorted"
    r"|sortedBy|reversed|distinct|drop|take|removePrefix|removeSuffix|copy|toList"
    r"|padStart)\b[({].*[)}]",
    "go": r"strings\.(?:ReplaceAll|Replace|ToLower|ToUpper|Trim\w*|Split|Join|Title|Repeat"
    r"|Fields)\(.*\)|\w+\.(?:Add|Truncate|Round|In|UTC)\(time\..*\)",
    "rust": r"\w+\.(?:trim|replace|to_lowercase|to_uppercase|to_string|to_owned|clone|saturating_\w+"
    r"|wrapping_\w+|checked_\w+|abs|min|max|pow)\(.*\);",
}
# Of Java, whether add changes the receiver or not is a question of its type: only of numbers and dates it
# does not.
_JAVA_ADD = re.compile(r"(\w+)\.(?:add|subtract|multiply|divide|negate|map|filter|resolve|plus|minus)\(")
_NUMBERS = (
    r"\b(?:BigDecimal|BigInteger|LocalDate|LocalDateTime|Instant|Duration|Path|Stream<[^>]*>"
    r"|Optional<[^>]*>)\s+{}\b"
)
_CONTINUES = ("(", "[", ",", "=", "=>", "+", "&&", "||", "?", ":", "return", "->", "{{", ".")


def unused_results(code: CodeText) -> Iterator[CodeHit]:
    """Calls that change nothing, and whose result nobody takes."""
    language = _family(code.language)
    pattern = _PURE.get(language)
    if pattern is None:
        return
    pure = re.compile(pattern)
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
        if (
            index
            and lines[index - 1].text.endswith(_CONTINUES)
            and not lines[index - 1].text.endswith(("):", "else:", "try:", "finally:"))
        ):
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


_FALLIBLE = re.compile(r"->\s*(?:\w+::)*(?:Result|Option)\b|->\s*impl IntoResponse")
_UNWRAPS = re.compile(r"\.(?:unwrap\(\)|expect\()")
_FINE_UNWRAP = re.compile(
    r"\.(?:lock|read|write|borrow|borrow_mut)\(\)\.(?:unwrap|expect)|Regex::new\("
    r"|\.try_into\(\)\.unwrap|Mutex|NonZero"
)


def panics(code: CodeText) -> Iterator[CodeHit]:
    """Unwraps in functions that could say what went wrong."""
    if code.language != "rust" or ("unwrap()" not in code.code and "expect(" not in code.code):
        return
    for function in code.functions:
        if not _FALLIBLE.search(function.head.text) or "test" in code.above(function.head):
            continue
        for step in function.statements:
            if _UNWRAPS.search(step.text) and not _FINE_UNWRAP.search(step.text):
                yield _hit("flow/panic-instead-of-error", step)
    for found in re.finditer(r"\b(\w+)\.is_none\(\)\s*\{\s*[^{}]*\b\1\.unwrap\(\)", code.code):
        yield CodeHit("logic/null-dereference", found.start(), found.end())
