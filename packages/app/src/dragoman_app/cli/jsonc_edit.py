"""Adds members to an object of a JSON text with comments, and removes them; everything else stays unchanged.

The edit is made in the text, so that comments, order and layout survive, and is checked by reading the
result: if it does not mean exactly what was wanted, `LocalMistake` is raised and the text is nobody's. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from dragoman.errors import LocalMistake
from dragoman_local.known.jsonc import parse_jsonc

_GAP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}/]+")
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)?")

STEP = "  "


class _Member(NamedTuple):
    key: str
    start: int
    """Where the key begins."""
    value: int
    end: int


class _Object(NamedTuple):
    start: int
    members: list[_Member]
    end: int
    """Behind the brace."""


def put_members(text: str, table: str, members: Mapping[str, Any], *, path: str) -> str:
    """Return the text with these members in the object under `table`, which is created if necessary."""
    document = _document(text, path)
    target = {**document, table: {**_inner(document, table, path), **members}}
    text = text if text.strip() else "{\n}\n"
    if table not in document:
        text = _put(text, _object_at(text, _start(text)), table, {})
    for key, value in members.items():
        inner = _find(text, table)
        text = _put(text, inner, key, value)
    return _check_edit(text, target, path)


def remove_members(text: str, table: str, keys: tuple[str, ...], *, path: str) -> str:
    """Return the text without these members of the object under `table`."""
    document = _document(text, path)
    if table not in document:
        return text
    inner = {key: value for key, value in _inner(document, table, path).items() if key not in keys}
    for key in keys:
        text = _remove(text, _find(text, table), key)
    return _check_edit(text, {**document, table: inner}, path)


def _document(text: str, path: str) -> dict[str, Any]:
    document = parse_jsonc(text.encode(), path=path)
    if not isinstance(document, dict):
        raise LocalMistake(f"{path}: not a JSON object of settings")
    return document


def _inner(document: dict[str, Any], table: str, path: str) -> dict[str, Any]:
    inner = document.get(table, {})
    if not isinstance(inner, dict):
        raise LocalMistake(f"{path}: {table} is not an object. Edit the file by hand")
    return inner


def _check_edit(text: str, target: dict[str, Any], path: str) -> str:
    if _document(text, path) != target:
        raise LocalMistake(f"{path}: Dragoman can't edit this form safely. Edit the file by hand")
    return text


def _start(text: str) -> int:
    return _skip(text, 1 if text.startswith("\ufeff") else 0)


def _skip(text: str, at: int) -> int:
    match = _GAP.match(text, at)
    return match.end() if match else at


def _find(text: str, table: str) -> _Object:
    root = _object_at(text, _start(text))
    value = next(member.value for member in reversed(root.members) if member.key == table)
    return _object_at(text, value)


def _object_at(text: str, at: int) -> _Object:
    """The members of the object that begins at `at`; the text is known to be right."""
    members: list[_Member] = []
    start, at = at, _skip(text, at + 1)
    while text[at] != "}":
        key = _STRING.match(text, at)
        assert key is not None
        value = _skip(text, _skip(text, key.end()) + 1)
        end = _end_of_value(text, value)
        members.append(_Member(json.loads(key[0]), at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return _Object(start, members, at + 1)


def _end_of_value(text: str, at: int) -> int:
    if text[at] == "{":
        return _object_at(text, at).end
    if text[at] == "[":
        at = _skip(text, at + 1)
        while text[at] != "]":
            at = _skip(text, _end_of_value(text, at))
            if text[at] == ",":
                at = _skip(text, at + 1)
        return at + 1
    match = _STRING.match(text, at) or _SCALAR.match(text, at)
    assert match is not None
    return match.end()


def _put(text: str, target: _Object, key: str, value: object) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent(text, target.start)
    own = _indent(text, target.members[0].start) if target.members else outer + STEP
    own = own if own.startswith(outer) and own != outer else outer + STEP
    written = json.dumps(value, indent=len(STEP), ensure_ascii=False).replace("\n", newline + own)
    for member in target.members:
        if member.key == key:
            return text[: member.value] + written + text[member.end :]
    line = f"{newline}{own}{json.dumps(key, ensure_ascii=False)}: {written}"
    if not target.members:
        inside = text[target.start + 1 : target.end - 1]
        end = "" if "\n" in inside else newline + outer
        return (
            text[: target.start + 1]
            + line
            + inside.rstrip(" \t" if "\n" not in inside else "")
            + end
            + text[target.end - 1 :]
        )
    last = target.members[-1].end
    behind = _skip(text, last)
    has_comma = text[behind] == ","
    at = behind + 1 if has_comma else last
    comma, text_before = ("", text[:at]) if has_comma else (",", text[:last])
    match = _REST_OF_LINE.match(text, at)
    rest = match[0] if match else ""
    remaining = text[at + len(rest) :]
    if "\n" not in text[target.start : target.end]:  # all on one line: the brace goes to a line of its own
        remaining = f"{newline}{outer}{remaining.lstrip()}"
    return f"{text_before}{comma}{rest.rstrip()}{line}{',' if has_comma else ''}{remaining}"


def _remove(text: str, target: _Object, key: str) -> str:
    for number, member in enumerate(target.members):
        if member.key != key:
            continue
        start, end = member.start, member.end
        behind = _skip(text, end)
        if text[behind] == ",":
            end = behind + 1
        elif number:  # the comma before it would have nothing behind it
            comma = text.rindex(",", target.members[number - 1].end, start)
            return _without_line(text[:comma] + text[comma + 1 :], start - 1, end - 1)
        return _without_line(text, start, end)
    return text


def _without_line(text: str, start: int, end: int) -> str:
    """Without the span, and without the lines that it leaves empty."""
    before = text[:start].rstrip(" \t")
    behind = text[end:]
    if before.endswith("\n") and (match := re.match(r"[ \t]*\r?\n", behind)):
        behind = behind[match.end() :]
    elif not before.endswith("\n"):
        before = text[:start]
    return before + behind


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    match = re.match(r"[ \t]*", line)
    return match[0] if match else ""
