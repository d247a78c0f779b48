"""Rules that match the structure of code, by ast-grep. Only this module uses that library.

Where it is not installed, as in `dragoman.pyz`, there are no such findings, and `is_available` says so. The
library panics with a `BaseException` on a language that it does not know, so only languages of our list reach
it, and what it raises becomes a `StructureFailed`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from dragoman_review.finding import Edit, Finding, Fix
from dragoman_review.rules import ReviewRule
from dragoman_review.text_edits import TextLines

# The library calls these as we do. What is missing here has no structural rules.
GRAMMARS = frozenset(
    {
        *("bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl", "html", "java"),
        *("javascript", "json", "kotlin", "lua", "nix", "php", "python", "ruby", "rust", "scala", "swift"),
        *("tsx", "typescript", "yaml"),
    }
)

LARGEST = 1_000_000
"""The most characters of a text to parse; a larger one is generated."""


_VARIABLE = re.compile(r"(\$\$\$|\$)([A-Z_][A-Z0-9_]*)")


class StructureFailed(Exception):
    """The library could not parse the text, or did not understand a rule."""


@functools.cache
def is_available() -> bool:
    return importlib.util.find_spec("ast_grep_py") is not None


def structural_findings(
    path: str, lines: TextLines, language: str | None, rules: Iterable[ReviewRule]
) -> Iterator[Finding]:
    """Return the findings of the rules in one text, rule by rule."""
    if language not in GRAMMARS or len(lines.text) > LARGEST:
        return
    lower_text = lines.text.lower()
    relevant_rules = [
        rule
        for rule in rules
        if rule.match is not None and rule.holds_for(language) and _may_match(rule, lines.text, lower_text)
    ]
    if not relevant_rules or not is_available():
        return
    root = _parse(lines.text, language)
    for rule in relevant_rules:
        for node in _matches(root, rule):
            yield _finding(rule, node, path, lines)


_NAME = re.compile(r"(?<![\w$])[A-Za-z_]\w+")


def _may_match(rule: ReviewRule, text: str, lower_text: str) -> bool:
    """Whether a text has a keyword of a rule, and all the words of one of its patterns. A search in a text is
    a hundred times faster than one in its tree."""
    if rule.keywords and not any(word in lower_text for word in rule.keywords):
        return False
    match = rule.match
    patterns = (match,) if isinstance(match, str) else match if isinstance(match, tuple) else None
    return patterns is None or any(all(word in text for word in _words_of(pattern)) for pattern in patterns)


@functools.lru_cache(maxsize=1024)
def _words_of(pattern: str) -> tuple[str, ...]:
    """Words of a pattern that a matching text must contain."""
    return tuple(dict.fromkeys(_NAME.findall(_VARIABLE.sub(" ", pattern))))


def syntax_errors(text: str, language: str | None) -> int | None:
    """Return the number of syntax errors in a text; None without a grammar for it."""
    if language not in GRAMMARS or len(text) > LARGEST or not is_available():
        return None
    root = _parse(text, language)
    with _panics_caught():
        return len(root.find_all({"rule": {"kind": "ERROR"}})) + _missing_tokens(root)


_CLOSING = frozenset({";", ")", "]", "}", "fi", "done", "esac", "end"})


def _missing_tokens(root: Any) -> int:
    """Closing tokens that the parser has put in where the text has none: they have no characters."""
    count = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.kind() in _CLOSING:
            span = node.range()
            count += span.start.index == span.end.index
        waiting += node.children()
    return count


def refusal(rule: ReviewRule) -> str | None:
    """Return the reason why a rule can't be used, or None; without the library it is unknown."""
    if rule.match is None or not is_available():
        return None
    for language in rule.languages:
        if language not in GRAMMARS:
            return f"no grammar for {language!r}. Choose from {', '.join(sorted(GRAMMARS))}"
        try:
            _matches(_parse("", language), rule)
        except StructureFailed as error:
            return f"ast-grep refuses this for {language}: {error}"
    return None


def config_of(rule: ReviewRule) -> dict[str, Any]:
    """Return a rule as a configuration of ast-grep."""
    match = rule.match
    if isinstance(match, str):
        match = {"pattern": match}
    elif isinstance(match, tuple):
        match = {"any": [{"pattern": pattern} for pattern in match]}
    config: dict[str, Any] = {"rule": match}
    return {**config, "constraints": rule.constraints} if rule.constraints else config


def _parse(text: str, language: str | None) -> Any:
    import ast_grep_py

    with _panics_caught():
        return ast_grep_py.SgRoot(text, language or "").root()


def _matches(root: Any, rule: ReviewRule) -> list[Any]:
    with _panics_caught():
        return cast("list[Any]", root.find_all(config_of(rule)))


@contextlib.contextmanager
def _panics_caught() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic is not an Exception; it must cost one text, not all
        raise StructureFailed(_first_lines(error)) from None


def _first_lines(error: BaseException) -> str:
    """The library's message, without its stack trace."""
    text = str(error).partition("Stack backtrace")[0]
    return " ".join(text.split()) or type(error).__name__


def _finding(rule: ReviewRule, node: Any, path: str, lines: TextLines) -> Finding:
    span = node.range()
    start, end = span.start.index, span.end.index
    fix = _fix(rule, node, lines.text, start, end)
    return rule.finding(lines.place(path, start, end), fix=fix, tool="ast-grep")


def _fix(rule: ReviewRule, node: object, text: str, start: int, end: int) -> Fix | None:
    if rule.fix is None:
        return None
    new = fill_template(rule.fix, node, text)
    if new == text[start:end]:
        return None
    return Fix(title=rule.fix_title or rule.title, edits=(Edit(start, end, new),), safe=rule.safe)


def fill_template(template: str, node: object, text: str) -> str:
    """Return a template with `$NAME` and `$$$NAMES` replaced by their matches."""
    parts: list[str] = []
    at = 0
    for match in _VARIABLE.finditer(template):
        parts += (template[at : match.start()], _matched_text(match[1], match[2], node, text))
        at = match.end()
    return "".join((*parts, template[at:]))


def _matched_text(mark: str, name: str, node: Any, text: str) -> str:
    if mark == "$":
        match = node.get_match(name)
        return match.text() if match is not None else ""
    matches = node.get_multiple_matches(name)
    # From the first to the last, so that separators and comments between them stay.
    return text[matches[0].range().start.index : matches[-1].range().end.index] if matches else ""
