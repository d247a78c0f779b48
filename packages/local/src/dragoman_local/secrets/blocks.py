"""Finds secrets in blocks of lines: tables and manifests. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman_local.secrets.named import LONGEST_HEAD
from dragoman_local.secrets.names import Doubt, is_password, is_placeholder, is_telling, looks_secret

_MANIFEST = re.compile(r"^kind:[ \t]*secret\b", re.MULTILINE | re.IGNORECASE)
_DATA = re.compile(
    r"^(?P<indent>[ \t]*)(?:string)?data:[ \t]*\n(?P<rows>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)",
    re.M | re.I,
)
_ROW = re.compile(
    r"^[ \t]+[\w.\"'-]+:[ \t]+(?:[|>][+-]?[ \t]*\n(?P<deep>[ \t]+)|[\"'])?(?P<secret>[^\s\"'|>][^\n\"']*)",
    re.M,
)


_LOGINS = re.compile(r"chpasswd:[^\n]*\n(?P<rows>(?:[ \t]+[^\n]*+(?:\n|\Z))+)", re.I)
_LOGIN_ROW = re.compile(r"^[ \t]+(?:- +)?(?!type:|password:)[\w.-]+:(?P<secret>[^\s:\"']+)[ \t]*$", re.M)
"""`user:password`, line by line, below the key of cloud-init."""


def manifest_spans(text: str, low: str) -> Iterator[tuple[int, int]]:
    """The values of a Kubernetes Secret, and the passwords that cloud-init sets."""
    blocks = [(_DATA, _ROW)] if "kind: secret" in low and _MANIFEST.search(text) else []
    blocks += [(_LOGINS, _LOGIN_ROW)] if "chpasswd:" in low else []
    for block, row in blocks:
        for found in block.finditer(text):
            spans = row.finditer(text, *found.span("rows"))
            yield from (one.span("secret") for one in spans if not is_placeholder(one["secret"]))


_CELL = re.compile(r"[\w\"'` .-]{1,48}\r?", re.ASCII)
_RULE = re.compile(r"[|+:= \t\r-]*")
LONGEST_TABLE = 4_000


def table_spans(text: str, low: str, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The columns of tables whose heads are telling names: CSV, tabs, Markdown, what databases print."""
    for stem in stems if "\n" in text else ():
        end = 0
        while (at := low.find(stem, end)) >= 0 and (end := text.find("\n", at)) >= 0:
            head = text[max(text.rfind("\n", 0, at) + 1, at - LONGEST_HEAD) : end]
            sign = "\t" if "\t" in head else "|" if "|" in head else ";" if ";" in head else ","
            cells = head.split(sign)
            count = len(cells) - 1
            # One cell, or a sign behind the last, is a line of code: a list, a statement, an indented word.
            if sum(bool(cell.strip("\"'` \t\r")) for cell in cells) < 2 or (
                sign in ",;" and not cells[-1].strip()
            ):
                continue
            below = text.find("\n", end + 1, end + LONGEST_TABLE)
            # The next line has as many cells, or is a rule: prose seldom goes on so.
            if (
                below < 0
                or text.count(sign, end + 1, below) == count
                or _RULE.fullmatch(text, end + 1, below)
            ):
                columns = [
                    (n, cell)
                    for n, cell in enumerate(cells)
                    if _CELL.fullmatch(cell) and _is_telling_head(cell)
                ]
                if columns:
                    yield from _column_spans(text, end + 1, sign, count + 1, columns)


def _is_telling_head(cell: str) -> bool:
    return is_telling(cell) or cell.strip("\"'` \r").lower() in ("pass", "pw")


def _column_spans(
    text: str, at: int, sign: str, width: int, columns: list[tuple[int, str]]
) -> Iterator[tuple[int, int]]:
    for line in text[at : at + LONGEST_TABLE].split("\n"):
        cells = line.split(sign)
        if len(cells) != width and not _RULE.fullmatch(line):
            return
        for number, name in columns if len(cells) == width else ():
            value = cells[number].strip(" \t\r\"'`}]")
            if is_telling(value):
                return
            doubt = Doubt.WORD if is_password(name) and ", " not in line else Doubt.RANDOM
            if looks_secret(value, doubt, is_quoted=doubt is Doubt.WORD):
                start = at + len(sign.join(cells[:number])) + cells[number].index(value) + (number > 0)
                yield start, start + len(value)
        at += len(line) + 1
