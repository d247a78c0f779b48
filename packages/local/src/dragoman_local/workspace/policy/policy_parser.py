"""Parses the text of a policy; every mistake is reported with its line.

Pure. TOML says where a text is not TOML, but not where a value stands; lines are found in the text's
skeleton, which is the text without what its strings and comments hold.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from dragoman.errors import LocalMistake
from dragoman.schema.v1.tool_call import TOOL_KINDS
from dragoman.text.toml import toml_skeleton
from dragoman_local.workspace.policy.act import METHODS
from dragoman_local.workspace.policy.commands import BadPattern, read_pattern
from dragoman_local.workspace.policy.decision import STRICTNESS, Outcome
from dragoman_local.workspace.policy.rules import PolicyRule

VERSION: Final = 1

RULE_KEYS: Final = frozenset(PolicyRule.__struct_fields__) - {"source", "line"} | {"note"}
FILE_KEYS: Final = frozenset({"version", "default", "rule", "trust", "$schema"})
_HEADER = re.compile(r"^\s*\[\[\s*rule\s*\]\]")


class PolicyError(LocalMistake):
    """A policy is invalid: the file, the line and the mistake."""

    def __init__(self, source: str, line: int, why: str) -> None:
        super().__init__(f"{source}:{line}: {why}" if line else f"{source}: {why}")
        self.line = line
        self.why = why


class Rulebook(NamedTuple):
    """The contents of a policy file."""

    rules: tuple[PolicyRule, ...]
    default: Outcome | None
    trust: tuple[str, ...]
    """Folders whose own policies may permit."""


def read_policy(text: str, source: str) -> Rulebook:
    """Parse a policy; the first mistake in it is a `PolicyError`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        why = re.sub(r" \(at [^)]*\)$", "", str(error))
        raise PolicyError(source, int(where[1]) if where else text.count("\n") + 1, why) from None
    return _PolicyParser(text, source).book(data)


def rule_lines(text: str) -> list[int]:
    """Return the numbers of the lines with the header of a rule."""
    return [n for n, line in enumerate(toml_skeleton(text).splitlines(), 1) if _HEADER.match(line)]


class _PolicyParser:
    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._lines = toml_skeleton(text).splitlines()
        self._headers = rule_lines(text)

    def book(self, data: Mapping[str, Any]) -> Rulebook:
        lines = range(1, self._headers[0] if self._headers else len(self._lines) + 1)
        self._check_names(data, FILE_KEYS, lines)
        is_known = data.get("version", VERSION) == VERSION
        self._check(is_known, "version", lines, f"only version {VERSION} is known")
        rules = data.get("rule", [])
        is_table = isinstance(rules, list) and all(isinstance(rule, dict) for rule in rules)
        self._check(is_table, "rule", range(1, len(self._lines) + 1), "rules are written as [[rule]]")
        default = self._outcome(data, "default", lines) if "default" in data else None
        return Rulebook(
            tuple(self._rule(n, rule) for n, rule in enumerate(rules)),
            default,
            self._texts(data, "trust", lines),
        )

    def _rule(self, number: int, data: Mapping[str, Any]) -> PolicyRule:
        # Rules may also be written inline, where no line begins with their header.
        first = self._headers[number] if number < len(self._headers) else 1
        lines = range(first, next(iter(self._headers[number + 1 :]), len(self._lines) + 1))
        self._check_names(data, RULE_KEYS, lines)
        decision, unreadable = self._outcome(data, "decision", lines), data.get("unreadable", False)
        for key in ("name", "note"):
            self._check(isinstance(data.get(key, ""), str), key, lines, f"{key} must be text")
        fields: dict[str, Any] = {key: self._texts(data, key, lines) for key in _LISTS}
        is_bool, suits = isinstance(unreadable, bool), decision == "allow" or not unreadable
        self._check(is_bool, "unreadable", lines, "unreadable must be true or false")
        self._check(suits, "unreadable", lines, "unreadable is for rules that allow")
        return PolicyRule(
            **{**fields, "command": tuple(map(read_pattern, fields["command"]))},
            decision=decision,
            unreadable=unreadable,
            name=data.get("name", ""),
            source=self._source,
            line=lines.start,
        )

    def _outcome(self, data: Mapping[str, Any], key: str, lines: range) -> Outcome:
        value = data.get(key)
        why = f"{key} must be one of {', '.join(STRICTNESS)}; it is {value!r}"
        self._check(isinstance(value, str) and value in STRICTNESS, key, lines, why)
        return cast(Outcome, value)

    def _texts(self, data: Mapping[str, Any], key: str, lines: range) -> tuple[str, ...]:
        value = data.get(key, [])
        values = [value] if isinstance(value, str) else value
        are_texts = isinstance(values, list) and all(isinstance(item, str) and item for item in values)
        self._check(are_texts, key, lines, f"{key} must be text, or a list of texts")
        is_empty = key in data and not values
        self._check(not is_empty, key, lines, f"{key} is an empty list, which matches nothing")
        for text in values:
            why = _objection(key, text)
            self._check(why is None, key, lines, why or "")
        return tuple(values)

    def _check_names(self, data: Mapping[str, Any], known: Collection[str], lines: range) -> None:
        for key in data:
            self._check(key in known, key, lines, f"unknown key {key!r}. {_known_names(known)}")

    def _check(self, is_good: bool, key: str, lines: range, why: str) -> None:
        """A mistake is in the line of its key, or else in the first of these lines."""
        if is_good:
            return
        key_pattern = re.compile(rf"^\s*[\[{{,]*\s*{re.escape(key)}\s*[.=\]]")
        found = (n for n in lines if n <= len(self._lines) and key_pattern.match(self._lines[n - 1]))
        raise PolicyError(self._source, next(found, lines.start), why)


_LISTS: Final = ("kind", "method", "agent", "tool", "path", "project", "folder", "command_line", "command")
_KNOWN: Final[Mapping[str, Collection[str]]] = {"kind": TOOL_KINDS, "method": METHODS}
_PLACES: Final = ("project", "folder")


def _objection(key: str, text: str) -> str | None:
    """Why a text is not a condition of this name."""
    if key in _KNOWN and text not in _KNOWN[key]:
        return f"unknown {key} {text!r}. {_known_names(_KNOWN[key])}"
    if key in (*_PLACES, "path") and ".." in text.split("/"):
        return f"{text!r} holds '..'; write the path without it"
    if key in _PLACES and not text.startswith(("/", "~/")):
        return f"{key} must begin with / or ~/, and {text!r} does not"
    try:
        read_pattern(text if key == "command" else "any")
    except BadPattern as error:
        return f"{error}: {text!r}"
    return None


def _known_names(names: Iterable[str] | Sequence[str]) -> str:
    return f"Choose from {', '.join(sorted(names))}"
