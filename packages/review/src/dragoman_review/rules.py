"""Rules as data: the fields of a rule, and reading it from TOML.

A rule is either a regular expression (`pattern`) or a shape of the program (`match`, in the words of
ast-grep). Our own rules are written the same way as those of users and have no other rights. A mistake in a
rule names the file, the rule and what would be right; no rule is dropped in silence.

Pure but for `read_rules` and `own_rules`, which read files.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from dragoman.decoders import convert
from dragoman.errors import LocalMistake
from dragoman_review.finding import RuleText, Severity
from dragoman_review.languages import LANGUAGES

_ID = re.compile(r"[a-z0-9]+(?:[-./_][a-z0-9]+)*")
_GROUP = re.compile(r"\\g<(\w+)>|\\(\d+)")
_DATA = Path(__file__).parent / "data"

Where = Literal["anywhere", "code", "comment", "string"]


class BadRule(LocalMistake):
    """A rule, or its file, is invalid."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why


class ReviewRule(RuleText, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule. docs/review.md explains the fields for authors."""

    ruff: str | None = None
    """The ruff code of the same rule: if ruff is installed, this one is skipped."""
    when_run: Severity | None = None
    """Its severity in a command that is about to run, if different from that in a file."""
    paths: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    fix: str | None = None
    fix_title: str = ""
    safe: bool = False

    pattern: str | None = None
    where: Where = "anywhere"
    unless: str | None = None
    """A pattern; lines that match it are not reported."""
    unless_in_text: str | None = None
    """A pattern; texts that match it anywhere have no findings of this rule."""
    needs: str | None = None
    """A pattern that matches wherever `pattern` does, and fails sooner: a window without it is skipped."""
    ignore_case: bool = False
    keywords: tuple[str, ...] = ()
    """In lower case. The pattern is only tried on lines with one of these and the three lines after each: few
    lines of most texts, and none of many.
    """
    spans_lines: bool = False
    """Whether the pattern may match many lines: then the keywords only decide whether the text is tried at
    all.
    """
    beyond_ascii: bool = False
    """Whether the pattern only matches text that is not plain ASCII."""
    entropy: float = 0.0
    """The bits per character that the group `secret` must have. More than 0 makes the rule a secret rule."""

    match: str | tuple[str, ...] | dict[str, Any] | None = None
    constraints: dict[str, Any] = msgspec.field(default_factory=dict)
    """Conditions for the variables of `match`, in the form of ast-grep."""

    hits: tuple[str, ...] = ()
    """Texts that the rule must find."""
    misses: tuple[str, ...] = ()
    """Similar texts that the rule must not find."""

    def holds_for(self, language: str | None) -> bool:
        return not self.languages or language in self.languages


class _RuleFile(Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[dict[str, Any], ...] = ()


def rule_anchor(rule: str) -> str:
    """Return the anchor of a rule on the page of all rules."""
    return rule.replace("/", "-").replace(".", "-")


@functools.cache
def own_rules() -> tuple[ReviewRule, ...]:
    """The rules that come with the package."""
    paths = sorted(_DATA.glob("rules-*.toml"))
    return tuple(
        rule for path in paths for rule in parse_rules(path.read_text("utf-8"), str(path), is_ours=True)
    )


def read_rules(path: Path) -> tuple[ReviewRule, ...]:
    """Return the rules of a file, or of every `.toml` file of a folder."""
    if path.is_dir():
        rules = tuple(rule for file in sorted(path.glob("*.toml")) for rule in read_rules(file))
    else:
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadRule(str(path), f"cannot be read: {error}") from None
        rules = parse_rules(text, str(path))
    _refuse_twins(rules, str(path))
    return rules


def parse_rules(text: str, where: str, *, is_ours: bool = False) -> tuple[ReviewRule, ...]:
    """Return the rules of a TOML text; `where` is its name in errors.

    Ours are checked by our tests: to compile every pattern takes longer than a review of a few files.
    """
    try:
        file = convert(tomllib.loads(text), _RuleFile)
    except tomllib.TOMLDecodeError as error:
        raise BadRule(where, f"is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise BadRule(where, f"{error}; rules are tables [[rule]]") from None
    return tuple(
        _read_rule(table, f"{where}, rule {number}", is_ours=is_ours)
        for number, table in enumerate(file.rule, 1)
    )


def _read_rule(table: dict[str, Any], where: str, *, is_ours: bool) -> ReviewRule:
    if isinstance(table.get("id"), str):
        where = f"{where} ({table['id']})"
    # One language, path or example needs no brackets.
    for field in ("languages", "paths", "not_paths", "keywords", "hits", "misses"):
        if isinstance(table.get(field), str):
            table = {**table, field: [table[field]]}
    try:
        rule = convert(table, ReviewRule)
    except msgspec.ValidationError as error:
        raise BadRule(where, str(error)) from None
    for why in () if is_ours else _objections(rule):
        raise BadRule(where, why)
    return rule


def _objections(rule: ReviewRule) -> Iterator[str]:
    if not _ID.fullmatch(rule.id):
        yield "an id has lower-case letters, digits and - . / _, such as team/no-print"
    if not rule.title or not rule.why:
        yield "title and why must not be empty"
    if (rule.pattern is None) == (rule.match is None):
        yield "a rule has either a pattern (a regular expression) or a match (of ast-grep)"
    if unknown := sorted(set(rule.languages) - LANGUAGES):
        yield f"unknown language {', '.join(unknown)}. Choose from {', '.join(sorted(LANGUAGES))}"
    yield from _text_objections(rule) if rule.pattern is not None else _match_objections(rule)


def _text_objections(rule: ReviewRule) -> Iterator[str]:
    if rule.constraints:
        yield "constraints belong to match, not to pattern"
    for field, text in (
        ("pattern", rule.pattern),
        ("unless", rule.unless),
        ("unless_in_text", rule.unless_in_text),
        ("needs", rule.needs),
    ):
        try:
            pattern = re.compile(text or "")
        except (re.error, OverflowError, RecursionError) as error:
            yield f"{field} is not a regular expression: {error}"
            return
        if field == "pattern":
            if pattern.match(""):
                yield "the pattern matches the empty text, so it would match everywhere"
            if rule.entropy and "secret" not in pattern.groupindex:
                yield "entropy needs a group (?P<secret>…) in the pattern"
            yield from _fix_objections(rule, pattern)


def _fix_objections(rule: ReviewRule, pattern: re.Pattern[str]) -> Iterator[str]:
    for match in _GROUP.finditer(rule.fix or ""):
        name, number = match[1], match[2]
        if (name and name not in pattern.groupindex and not name.isdigit()) or (
            (number or name or "").isdigit() and int(number or name) > pattern.groups
        ):
            yield f"the fix names the group {match[0]}, which the pattern does not have"


def _match_objections(rule: ReviewRule) -> Iterator[str]:
    if not rule.languages:
        yield "a match needs languages"
    fields = ("where", "unless", "unless_in_text", "needs", "ignore_case", "entropy", "beyond_ascii")
    for field in fields:
        if getattr(rule, field) not in (None, False, 0, "anywhere"):
            yield f"{field} belongs to pattern, not to match"


def _refuse_twins(rules: Sequence[ReviewRule], where: str) -> None:
    ids: set[str] = set()
    for rule in rules:
        if rule.id in ids:
            raise BadRule(where, f"two rules have the id {rule.id}")
        ids.add(rule.id)


def all_rules(more: Iterable[ReviewRule]) -> tuple[ReviewRule, ...]:
    """Return our rules and others'; another rule with the same id replaces ours."""
    return tuple({rule.id: rule for rule in (*own_rules(), *more)}.values())
