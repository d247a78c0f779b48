"""Parses the text of a policy; every mistake is reported with its line.

Pure. TOML says where a text is not TOML, but not where a value stands; lines are found in the text's
skeleton, which is the text without what its strings and comments hold.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

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
        self.source = source
        self.line = line
        self.why = why


class Rulebook(NamedTuple):
    """The contents of a policy file."""

    rules: tuple[PolicyRule, ...]
    default: Outcome | None
    trust: tuple[str, ...]
    """Folders whose own policies may permit."""


def read_policy(text: str, source: str) -> Rulebook:
    """Read a policy; the first mistake in it is a `PolicyError`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        why = re.sub(r" \(at [^)]*\)$", "", str(error))
        raise PolicyError(source, int(where[1]) if where else text.count("\n") + 1, why) from None
    return _PolicyParser(text, source).book(data)


class _PolicyParser:
    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._lines = toml_skeleton(text).splitlines()
        self._headers = [n for n, line in enumerate(self._lines, 1) if _HEADER.match(line)]

    def book(self, data: Mapping[str, object]) -> Rulebook:
        first = self._headers[0] if self._headers else len(self._lines) + 1
        for key in data:
            if key not in FILE_KEYS:
                raise self._error(1, key, first, f"unknown key {key!r}. {_known_names(FILE_KEYS)}")
        if data.get("version", VERSION) != VERSION:
            raise self._error(1, "version", first, f"only version {VERSION} is known")
        rules = data.get("rule", [])
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise self._error(1, "rule", len(self._lines) + 1, "rules are written as [[rule]]")
        default = data.get("default")
        if default is not None and not _is_outcome(default):
            raise self._error(1, "default", first, _one_of("default", STRICTNESS, default))
        trust = self._texts(data, "trust", 1, first)
        return Rulebook(tuple(self._rule(n, rule) for n, rule in enumerate(rules)), default, trust)

    def _rule(self, number: int, data: Mapping[str, object]) -> PolicyRule:
        # Rules may also be written inline, where no line begins with their header.
        line = self._headers[number] if number < len(self._headers) else 1
        end = self._headers[number + 1] if number + 1 < len(self._headers) else len(self._lines) + 1
        for key in data:
            if key not in RULE_KEYS:
                raise self._error(line, key, end, f"unknown key {key!r}. {_known_names(RULE_KEYS)}")
        decision = data.get("decision")
        if not _is_outcome(decision):
            raise self._error(line, "decision", end, _one_of("decision", STRICTNESS, decision))
        for key in ("name", "note"):
            if not isinstance(data.get(key, ""), str):
                raise self._error(line, key, end, f"{key} must be text")
        fields: dict[str, Any] = {key: self._texts(data, key, line, end) for key in _LISTS}
        if not isinstance(data.get("unreadable", False), bool):
            raise self._error(line, "unreadable", end, "unreadable must be true or false")
        if data.get("unreadable") and decision != "allow":
            raise self._error(line, "unreadable", end, "unreadable is for rules that allow")
        return PolicyRule(
            **{**fields, "command": tuple(map(read_pattern, fields["command"]))},
            decision=decision,
            unreadable=bool(data.get("unreadable", False)),
            name=str(data.get("name", "")),
            source=self._source,
            line=line,
        )

    def _texts(self, data: Mapping[str, object], key: str, line: int, end: int) -> tuple[str, ...]:
        value = data.get(key, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(item, str) and item for item in values):
            raise self._error(line, key, end, f"{key} must be text, or a list of texts")
        if key in data and not values:
            raise self._error(line, key, end, f"{key} is an empty list, which matches nothing")
        for text in values:
            if (why := _objection(key, text)) is not None:
                raise self._error(line, key, end, why)
        return tuple(values)

    def _error(self, start: int, key: str, end: int, why: str) -> PolicyError:
        """The line of a key between two lines, or else the first of these."""
        key_pattern = re.compile(rf"^\s*[\[{{,]*\s*{re.escape(key)}\s*[.=\]]")
        for number in range(max(start, 1), min(end, len(self._lines) + 1)):
            if key_pattern.match(self._lines[number - 1]):
                return PolicyError(self._source, number, why)
        return PolicyError(self._source, start, why)


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


def _is_outcome(value: object) -> TypeGuard[Outcome]:
    return isinstance(value, str) and value in STRICTNESS


def _one_of(key: str, values: Iterable[str], value: object) -> str:
    return f"{key} must be one of {', '.join(values)}; it is {value!r}"


def _known_names(names: Iterable[str] | Sequence[str]) -> str:
    return f"Choose from {', '.join(sorted(names))}"
