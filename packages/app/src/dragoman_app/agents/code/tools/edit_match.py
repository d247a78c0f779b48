"""Finds the place of an edit in a text: exactly if possible, otherwise by looser and looser rules, but never
by chance.

Models copy with small mistakes: other indentation, lost spaces at line ends, a word changed. Each rule must
fit exactly one place, or the edit is refused with the reason. Pure: text in, text out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from dragoman_app.agents.code.permission import ToolProblem

ALIKE = 0.9
"""The least similarity of a place that counts as the intended one."""

AHEAD = 0.05
"""The least lead in similarity over any other place."""

MOST_LINES = 20_000
LONGEST = 4_000
"""The most lines of a text, and characters of an edit, for a search by similarity: the time grows with the
lines, and with the square of the characters.
"""


class EditedText(NamedTuple):
    """A text after an edit."""

    text: str
    line: int
    """The line where the edit begins, counted from 1."""
    note: str = ""
    """A note about an inexact match."""


def replace(text: str, old: str, new: str, *, everywhere: bool = False) -> EditedText:
    """Replace `old` by `new`; raises a `ToolProblem` with the reason if that is impossible."""
    if not old:
        raise ToolProblem("`old` is empty. To write a new file, or all of one, use write.")
    if old == new:
        raise ToolProblem("`old` and `new` are the same: there is nothing to change.")
    if "\r\n" in text and "\r\n" not in old:  # models write plain line ends, whatever the file has
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    count = text.count(old)
    if count == 1 or (count and everywhere):
        line = text.count("\n", 0, text.index(old)) + 1
        return EditedText(text.replace(old, new), line)
    if count:
        places = ", ".join(str(line) for line in _exact_lines(text, old))
        raise ToolProblem(
            f"`old` is there {count} times, in lines {places}. Give more of the text around it, or set `all`."
        )
    return _replace_loosely(text, old, new)


def _replace_loosely(text: str, old: str, new: str) -> EditedText:
    lines, old_lines = lines_of(text), lines_of(old)
    for note, key in _RULES:
        matches = [
            at for at in _places(lines, old_lines) if _same(lines[at : at + len(old_lines)], old_lines, key)
        ]
        if len(matches) > 1:
            where = ", ".join(str(at + 1) for at in matches)
            raise ToolProblem(
                f"`old` fits several places ({note}), from lines {where}. Give more text around it."
            )
        if matches:
            return _put(lines, matches[0], old_lines, new, note)
    at, likeness = _most_alike(lines, old_lines)
    return _put(lines, at, old_lines, new, f"{likeness:.0%} alike")


_RULES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("but for spaces at line ends", str.rstrip),
    ("but for indentation", str.strip),
    ("but for spaces", lambda line: " ".join(line.split())),
)


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends. Only `\\n` ends a line: a form feed does not."""
    *whole, last = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    return [*lines, last] if last else lines


def _places(lines: list[str], old_lines: list[str]) -> range:
    return range(len(lines) - len(old_lines) + 1)


def _same(some: list[str], old_lines: list[str], key: Callable[[str], str]) -> bool:
    return all(key(a) == key(b) for a, b in zip(some, old_lines, strict=True))


def _most_alike(lines: list[str], old_lines: list[str]) -> tuple[int, float]:
    sought = "".join(old_lines)
    if len(lines) > MOST_LINES or len(sought) > LONGEST:
        raise ToolProblem("`old` is not in the file. Read the file again, and copy the text exactly.")
    matcher = SequenceMatcher(b=sought, autojunk=False)
    best, second, where = 0.0, 0.0, 0
    for at in _places(lines, old_lines):
        matcher.set_seq1("".join(lines[at : at + len(old_lines)]))
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) <= second:
            continue
        likeness = matcher.ratio()
        if likeness > best:
            best, second, where = likeness, best, at
        else:
            second = max(second, likeness)
    if best < ALIKE:
        near = f" The most alike is line {where + 1}." if best > 0.6 else ""
        raise ToolProblem(f"`old` is not in the file.{near} Read the file again, and copy the text exactly.")
    if best - second < AHEAD:
        raise ToolProblem("`old` is not in the file, and several places are alike. Copy the text exactly.")
    return where, best


def _put(lines: list[str], at: int, old_lines: list[str], new: str, note: str) -> EditedText:
    replaced_lines = lines[at : at + len(old_lines)]
    new_text = _indented_as(replaced_lines, old_lines, new)
    if replaced_lines[-1].endswith("\n") and new_text and not new_text.endswith("\n"):
        new_text += "\r\n" if replaced_lines[-1].endswith("\r\n") else "\n"
    return EditedText("".join([*lines[:at], new_text, *lines[at + len(old_lines) :]]), at + 1, note)


def _indented_as(replaced_lines: list[str], old_lines: list[str], new: str) -> str:
    """The new text, moved as far as the old one has to be moved to fit."""
    there, here = _indent(replaced_lines), _indent(old_lines)
    if there == here:
        return new
    if there.startswith(here):
        more = there[len(here) :]
        return "".join(more + line if line.strip() else line for line in lines_of(new))
    if here.startswith(there):
        less = len(here) - len(there)
        return "".join(line[less:] if line[:less].isspace() else line for line in lines_of(new))
    return new


def _indent(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _exact_lines(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield text.count("\n", 0, at) + 1
        at = text.find(old, at + len(old))
