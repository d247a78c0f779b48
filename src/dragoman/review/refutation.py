"""What stands around a finding may refute it: a pattern sees a line, a reader sees the function. Pure.

Each entry of `_REFUTATIONS` is for the findings of one rule: whether the lines around one say that it is no
mistake.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from dragoman.review.built_sql import is_own_statement
from dragoman.review.code_patterns import lazy_pattern
from dragoman.review.finding import Finding
from dragoman.review.text_edits import TextLines


def without_refuted(findings: Iterable[Finding], lines: TextLines) -> Iterator[Finding]:
    """The findings that nothing around them refutes."""
    texts: Sequence[str] = ()
    for finding in findings:
        refute = _REFUTATIONS.get(finding.rule)
        if refute is not None:
            texts = texts or lines.text.split("\n")
            if refute(texts, finding.line - 1):
                continue
        if finding.rule.endswith(_BUILT_SQL) and is_own_statement(
            lines.text, lines.offset(finding.line, finding.place.column)
        ):
            continue
        yield finding


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _function_above(texts: Sequence[str], at: int) -> int:
    """The line on which the function of Python around a line begins; -1 if there is none."""
    indent = _indent(texts[at])
    for index in range(at, -1, -1):
        text = texts[index]
        if text.strip() and _indent(text) < indent:
            indent = _indent(text)
            if re.match(r"\s*(?:async\s+)?def\b", text):
                return index
    return -1


_PLACEHOLDER = lazy_pattern(r"\{([a-z_]\w*)(?:\.\w+)*\}")


def _is_filled_in_later(texts: Sequence[str], at: int) -> bool:
    """Whether the names in braces are none of this function, or the text is given to `format`."""
    begin = _function_above(texts, at)
    if begin < 0:
        return True
    indent = _indent(texts[begin])
    end = at + 1
    while end < len(texts) and (not texts[end].strip() or _indent(texts[end]) > indent):
        end += 1
    if any(".format" in text for text in texts[begin:end]):
        return True
    before = "\n".join(texts[begin:at])
    return not any(
        re.search(
            rf"[(,*\s]{name}\s*(?:[,):=]|$)|\bfor\b[^\n]*\b{name}\b|\bas\s+{name}\b", before, re.MULTILINE
        )
        for name in _PLACEHOLDER.findall(texts[at])
    )


def _is_own_cancel(texts: Sequence[str], at: int) -> bool:
    """Whether the function has cancelled by itself what it waits for here."""
    indent = _indent(texts[at])
    begin = at - 1
    while begin > 0 and not (_indent(texts[begin]) == indent and texts[begin].strip() == "try:"):
        begin -= 1
    return any(".cancel(" in text for text in texts[max(0, begin - 4) : at])


def _is_in_rust_test(texts: Sequence[str], at: int) -> bool:
    """Whether a line stands below the mark of the tests, which end a file of Rust."""
    return any(text.strip() == "#[cfg(test)]" for text in texts[:at])


_TESTED = lazy_pattern(r"\[\s+(?:!\s+)?\$\{?(\w+)\}?\s+-(?:eq|ne|lt|le|gt|ge)\s")
_NUMBER = lazy_pattern(
    r"\"?(?:\d+|\$\?|\$#|\$\(\(.*\)\)|\$\(.*\b(?:wc|date \+%s)\b.*\))\"?\s*(?:;.*|#.*|\|\|.*|&&.*)?"
)


def _is_number(texts: Sequence[str], at: int) -> bool:
    """Whether the script itself gives the variable nothing but numbers, so that it is one word."""
    match = _TESTED.search(texts[at])
    if match is None:
        return False
    assigned = re.compile(rf"(?:^|[;&|]|\bthen|\bdo|\belse|\blocal|\{{)\s*{match[1]}=(.*)")
    values = [value[1].strip() for text in texts if (value := assigned.search(text)) is not None]
    return bool(values) and all(_NUMBER.fullmatch(value) for value in values)


_ERREXIT = re.compile(r"\s*set\s+(?:-\w+\s+)*(?:-[a-z]*e|-o\s+errexit)|#!\S*sh\s+-\w*e|#!.*\bbash\s+-\w*e")


def _ends_with_error(texts: Sequence[str], at: int) -> bool:
    """Whether the script ends when a command fails, from a line above."""
    state = False
    for text in texts[:at]:
        if _ERREXIT.match(text):
            state = True
        elif re.match(r"\s*set\s+\+[a-z]*e", text):
            state = False
    return state


def _is_argument(texts: Sequence[str], at: int) -> bool:
    """Whether a line goes on with what the line above began."""
    return at > 0 and texts[at - 1].partition("//")[0].rstrip().endswith((",", "(", "=", "+", "["))


def _is_new_object(texts: Sequence[str], at: int) -> bool:
    """Whether the keys are copied to an object that the function has just made for itself."""
    body = "\n".join(texts[at : at + 8])
    target = re.search(r"\b(\w+)\[\w+\]\s*=", body)
    if target is None:
        return False
    made = re.compile(rf"\b(?:const|let|var)\s+{target[1]}\b[^=\n]*=\s*\{{\s*\}}")
    return any(made.search(text) for text in texts[max(0, at - 10) : at])


def _returns_no_error(texts: Sequence[str], at: int) -> bool:
    """Whether the function of Go around a line cannot say that something failed: then nil is an answer."""
    for index in range(at, -1, -1):
        if re.match(r"\s*func\b|.*\bfunc\(", texts[index]):
            return "error" not in texts[index].rpartition(")")[2] and "error)" not in texts[index]
    return False


_DIFFERENCE = lazy_pattern(
    r"(?P<left>[\w.]+?)(?:\.len\(\))?\s*-\s*(?P<right>[\w.]+?)(?:\.len\(\))?(?![\w.(])"
)
_BOUNDED = lazy_pattern(
    r"\s[<>]=?\s|[!=]=|\bmatch\b|\b(?:min|max|clamp|find|position|split_at|ends_with|starts_with|is_empty)\("
    r"|strip_|assert|checked_|saturating_|is_some|\bfor\b|\bwhile\b|\.\."
)


def _is_shorter(texts: Sequence[str], at: int) -> bool:
    """Whether the function of Rust around a line has asked anything about the size of one of the two. Where
    neither is a parameter it is taken to know their sizes."""
    begin = next(
        (index for index in range(at, -1, -1) if re.match(r"\s*(?:pub\b.*)?.*\bfn\s+\w+", texts[index])), -1
    )
    if begin < 0 or begin == at or _is_in_rust_test(texts, at):
        return begin < 0 or _is_in_rust_test(texts, at)
    head = " ".join(texts[begin:at]).partition("{")[0]
    for match in _DIFFERENCE.finditer(texts[at]):
        if ".len()" not in match[0]:
            continue
        names = [match["left"], match["right"]]
        lengths = match[0].count(".len()")
        if lengths == 1 and not any(
            re.search(rf"\b{re.escape(name)}\s*:\s*u(?:size|8|16|32|64)\b", head) for name in names
        ):
            continue
        mention = re.compile("|".join(rf"(?<![\w.]){re.escape(name)}\b" for name in names))
        before = (*texts[begin + 1 : at], texts[at][: match.start()])
        if not any(_BOUNDED.search(text) and mention.search(text) for text in before):
            return False
    return True


_ALWAYS_A_ROW = lazy_pattern(
    r"\bselect\s+(?:distinct\s+)?(?:count|sum|max|min|avg|exists|coalesce|total)\s*\(|\breturning\b|\bpragma\b",
    re.IGNORECASE,
)


def _has_a_row(texts: Sequence[str], at: int) -> bool:
    """Whether the statement of SQL above gives a row, whatever the tables hold."""
    return "fetchone" in texts[at] and any(
        _ALWAYS_A_ROW.search(text) for text in texts[max(0, at - 4) : at + 1]
    )


_BUILT_SQL = (
    "/built-sql",
    "/built-statement",
    "/built-clause",
    "/sql-in-raw-text",
    "/raw-unsafe-sql",
    "/sql-clause",
)


def _has_pipefail(texts: Sequence[str], at: int) -> bool:
    """Whether a script has said above that a pipe fails with any of its commands."""
    return any(re.match(r"\s*set\s.*\bpipefail\b", text) for text in texts[:at])


_RANGE = lazy_pattern(r"range\s+(?:\w+\.)*(\w+)\s*\{")


_ALWAYS_SET = frozenset({"HOME", "PWD", "OLDPWD", "TMPDIR", "DESTDIR", "RPM_BUILD_ROOT", "VIRTUAL_ENV"})
_STRICT = lazy_pattern(r"\s*set\s+(?:-\w+\s+)*-(?:\w*u|o\s+nounset)|#!.*\s-\w*u")


def _is_set(texts: Sequence[str], at: int) -> bool:
    """Whether a script sets a variable above a line, or ends where one has no value."""
    removed = re.search(r"\brm\s[^$]*\$\{?(\w+)", texts[at])
    if removed is None or removed[1] in _ALWAYS_SET or removed[1].startswith(("XDG_", "CI_", "GITHUB_")):
        return True
    given = re.compile(
        rf"\b{removed[1]}=|\b(?:read|for|getopts)\b.*\b{removed[1]}\b|\$\{{{removed[1]}:\?"
        rf"|-[nz]\s+\"?\$\{{?{removed[1]}\b"
    )
    is_option = f"{removed[1]}=$OPTARG"
    return any(_STRICT.match(text) or (given.search(text) and is_option not in text) for text in texts[:at])


def _may_be_pointers(texts: Sequence[str], at: int) -> bool:
    """Whether nothing in a text of Go says that the elements of a list are values and no pointers."""
    match = _RANGE.search(texts[at])
    if match is None:
        return False
    values = re.compile(
        rf"\b{match[1]}\s+\[\][A-Za-z]|\b{match[1]}\s*:?=\s*(?:\[\]|make\(\[\])[A-Za-z]|\b{match[1]}\s*=\s*append\(.*[A-Z]\w*\{{"
    )
    return not any(values.search(text) for text in texts)


_NAMED_FILE = lazy_pattern(r"(\w+)\.(?:getName\(\)|name)\s*\)")


def _names_file(texts: Sequence[str], at: int) -> bool:
    """Whether the name is one of a file of the disk, and no entry of an archive."""
    match = _NAMED_FILE.search(texts[at])
    if match is None:
        return False
    entry = re.compile(rf"\b\w*Entry\s+{match[1]}\b|\b{match[1]}\s*(?::\s*\w*Entry\b|=.*Entry)")
    file = re.compile(rf"\bFile\s+{match[1]}\b|\b{match[1]}\s*:\s*File\b|\b{match[1]}\b.*listFiles\(")
    return not any(map(entry.search, texts)) and (
        any(map(file.search, texts))
        or re.search(r"(?i)file|dir$|folder|source$|src$|child", match[1]) is not None
    )


_MAP_NAME = lazy_pattern(r"\bMap<.*>\s+(\w+)")


def _asks_for_key(texts: Sequence[str], at: int) -> bool:
    """Whether each get of a map of Java whose result is used at once follows a question for the key."""
    match = _MAP_NAME.search(texts[at])
    if match is None:
        return False
    used = re.compile(rf"\b{match[1]}\.get\([^()]*\)\.\w")
    asked = re.compile(rf"\b{match[1]}\.(?:containsKey|computeIfAbsent|putIfAbsent|put|keySet)\(")
    places = [index for index in range(at, len(texts)) if used.search(texts[index])]
    return bool(places) and all(
        any(map(asked.search, _above_in_function(texts, index, 4))) for index in places
    )


def _above_in_function(texts: Sequence[str], at: int, most: int) -> Sequence[str]:
    """A line and at most so many above it, none of them of another function."""
    first = at
    while first > 0 and at - first < most:
        before = texts[first - 1]
        if before.strip() == "}" and _indent(before) < _indent(texts[at]):
            break
        first -= 1
    return texts[first : at + 1]


_PRODUCT = lazy_pattern(r"=\s*(\d+(?:\s*\*\s*\d+)+)\s*;?")


def _fits_int(texts: Sequence[str], at: int) -> bool:
    """Whether a product of numbers is small enough for an int."""
    match = _PRODUCT.search(texts[at])
    return match is not None and math.prod(int(factor) for factor in match[1].split("*")) < 2**31


def _filters_classes(texts: Sequence[str], at: int) -> bool:
    """Whether a stream of Java is told which classes it may make."""
    return any("ObjectInputFilter" in text or "ValidatingObjectInputStream" in text for text in texts)


def _is_whole_match(texts: Sequence[str], at: int) -> bool:
    """Whether an unwrap of Rust is of the first group of a match, which every match has."""
    return _is_in_rust_test(texts, at) or (
        ".get(0).unwrap()" in texts[at] and any("aptures" in text for text in texts)
    )


_COMMENT = lazy_pattern(r"\s*(?://|#)\s*\w+(?:\W+\w+){2,}|.*[;})\w]\s+(?://|#)\s*\w+(?:\W+\w+){2,}")


def _says_why(texts: Sequence[str], at: int) -> bool:
    """Whether a comment at an ignored error says why it is ignored."""
    return _is_in_rust_test(texts, at) or any(
        _COMMENT.match(text)
        for text in (texts[at], texts[at - 1] if at and _opens_none(texts[at - 1]) else "")
    )


def _opens_none(text: str) -> bool:
    return text.strip().startswith(("//", "#"))


_MARKUP_NAME = lazy_pattern(r"(?:=|__html:|,)\s*(\w+)\s*(?:;|\}|\)|$)")


def _is_sanitized(texts: Sequence[str], at: int) -> bool:
    """Whether the markup is a name that was given what a sanitizer made."""
    match = _MARKUP_NAME.search(texts[at])
    if match is None:
        return False
    made = re.compile(rf"\b{match[1]}\s*(?::[^=]+)?=(?!=).*(?i:saniti[sz]e|purif|escape)")
    return any(made.search(text) for text in texts[:at])


def _has_no_cookie(texts: Sequence[str], at: int) -> bool:
    """Whether what is called secure has nothing to do with cookies."""
    return not any("ookie" in text or "ession" in text for text in texts)


_BLOCK_HEAD = lazy_pattern(r"\s*(?:\}\s*)?(?:if|else|for|while|try|catch|finally|fun|do|when)\b|.*\bfun\b")


def _is_value(texts: Sequence[str], at: int) -> bool:
    """Whether a line is all that a lambda of Kotlin has: then it is its value."""
    indent = _indent(texts[at])
    return (
        0 < at < len(texts) - 1
        and texts[at + 1].strip().startswith("}")
        and _indent(texts[at - 1]) < indent
        and texts[at - 1].rstrip().endswith(("{", "->"))
        and not texts[at].rstrip().endswith(";")
        and not _BLOCK_HEAD.match(texts[at - 1])
    )


def _cleans_up(texts: Sequence[str], at: int) -> bool:
    """Whether a file of Go is removed on the way out, or was one for a moment."""
    removes = re.search(r"\bos\.Remove(?:All)?\(\s*(.*)\)", texts[at])
    following = texts[at + 1].strip() if at + 1 < len(texts) else ""
    return _says_why(texts, at) or (
        removes is not None
        and (following.startswith(("return", "log.Fatal", "os.Exit")) or "mp" in removes[1].lower())
    )


_REFUTATIONS: dict[str, Callable[[Sequence[str], int], bool]] = {
    "go/empty-error-branch": _returns_no_error,
    "go/ignored-error": _says_why,
    "go/range-copy": _may_be_pointers,
    "go/unchecked-call": _cleans_up,
    "go/unused-append": _is_argument,
    "go/unused-errorf": _is_argument,
    "java/map-get-chain": _asks_for_key,
    "java/overflowing-product": _fits_int,
    "javascript/inner-html": _is_sanitized,
    "javascript/raw-markup": _is_sanitized,
    "logic/lost-exception": _is_value,
    "security/fixed-key": _is_in_rust_test,
    "security/insecure-cookie": _has_no_cookie,
    "security/unsafe-deserialization": _filters_classes,
    "security/zip-slip": _names_file,
    "secrets/assigned": _is_in_rust_test,
    "flow/blocking-in-async": _is_in_rust_test,
    "rust/dropped-result": _says_why,
    "python/get-chain": _has_a_row,
    "python/missing-f": _is_filled_in_later,
    "python/swallowed-cancellation": _is_own_cancel,
    "rust/unfinished": _is_in_rust_test,
    "rust/unwrapped-search": _is_whole_match,
    "flow/panic-instead-of-error": _is_whole_match,
    "rust/unsigned-subtraction": _is_shorter,
    "shell/unchecked-cd": _ends_with_error,
    "shell/failure-in-pipe": _has_pipefail,
    "shell/remove-below-unset": _is_set,
    "shell/unquoted-test": _is_number,
    "javascript/prototype-pollution": _is_new_object,
}
