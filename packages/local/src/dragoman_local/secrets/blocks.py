"""Finds secrets in blocks of lines: tables and manifests. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from dragoman_local.secrets.named import LONGEST_HEAD
from dragoman_local.secrets.names import (
    Doubt,
    is_mixed,
    is_password,
    is_placeholder,
    is_telling,
    looks_secret,
    names_something_else,
)

_MANIFEST = re.compile(r"^kind:[ \t]*secret\b", re.MULTILINE | re.IGNORECASE)
_DATA = re.compile(
    r"^(?P<indent>[ \t]*)(?:string)?data:[ \t]*\n(?P<rows>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)",
    re.M | re.I,
)
_ROW = re.compile(
    r"^[ \t]+[\w.\"'-]+:[ \t]+(?:[|>][+-]?[ \t]*\n(?P<deep>[ \t]+)|[\"'])?(?P<secret>[^\s\"'|>]"
    r"[^\n\"']*(?:\n(?P=deep)[^\n]*)*)",
    re.M,
)


_LOGINS = re.compile(r"chpasswd:[^\n]*\n(?P<rows>(?:[ \t]+[^\n]*+(?:\n|\Z))+)", re.I)
_LOGIN_ROW = re.compile(r"^[ \t]+(?:- +)?(?!type:|password:)[\w.-]+:(?P<secret>[^\s:\"']+)[ \t]*$", re.M)
"""`user:password`, line by line, below the key of cloud-init."""


def manifest_spans(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Return the values of a Kubernetes Secret, and the passwords in settings of cloud-init."""
    blocks = [(_DATA, _ROW)] if "kind:" in low and "kind: secret" in low and _MANIFEST.search(text) else []
    blocks += [(_LOGINS, _LOGIN_ROW)] if "chpasswd:" in low else []
    for block, row in blocks:
        for found in block.finditer(text):
            spans = row.finditer(text, *found.span("rows"))
            yield from (one.span("secret") for one in spans if not is_placeholder(one["secret"]))


_CELL = re.compile(r"[\w\"'` .-]{1,48}\r?", re.ASCII)
_RULE = re.compile(r"[|+:= \t\r-]*")
_ROW_ABOVE = re.compile(r"(?:\n|\A)(?=[^\n]*\|)[^\n]*[\w-][^\n]*\Z")
LONGEST_TABLE = 4_000
_HEAD_END = (
    r"[\w\"'` .-]{0,64}+"
    r"(?:[\t|;,\r\n\\]|(?<=\")|\Z|(?:\]{1,2}|[:=][ \t>]*[{\[]?)[ \t]*[\r\n\\])"
)
"""What stands behind a part of a name if that is a head: the end of its cell or line; in JSON, too."""


@functools.cache
def head_places(stem: str) -> Callable[[str], Iterator[re.Match[str]]]:
    """Return the search for names with this stem in small letters that may be heads of tables or sections."""
    return re.compile(stem + _HEAD_END, re.ASCII).finditer


def table_spans(text: str, low: str, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The columns of tables whose heads are telling names: CSV, tabs, Markdown, what databases print; and the
    values in a section with such a name.
    """
    for stem in stems if "\n" in text else ():
        end = 0
        for place in head_places(stem)(low):
            at = place.start()
            if at < end or (end := text.find("\n", at)) < 0:
                continue
            first = max(text.rfind("\n", 0, at) + 1, at - LONGEST_HEAD)
            head = text[first:end]
            if head[-1] in "]:=>{[ \t\r" and (section := _SECTION.fullmatch(text, first, end)):
                yield from _section_spans(text, end + 1, section)
            sign = "\t" if "\t" in head else "|" if "|" in head else ";" if ";" in head else ","
            below = text.find("\n", end + 1, end + LONGEST_TABLE)
            # The next line has as many cells, or is a rule: prose seldom goes on so.
            if sign not in head or not (
                below < 0
                or text.count(sign, end + 1, below) == head.count(sign)
                or _RULE.fullmatch(text, end + 1, below)
            ):
                continue
            cells, above = head.split(sign), text[max(0, first - LONGEST_HEAD) : max(0, first - 1)]
            next_line = text[end + 1 : end + LONGEST_HEAD].partition("\n")[0]
            # One cell, or a sign behind the last, is a line of code: a list, a statement, an indented word.
            # With a row above it, no rule below it, and the telling name first, it is a row, too.
            if (
                sum(bool(cell.strip("\"'` \t\r")) for cell in cells) < 2
                or (sign in ",;" and not cells[-1].strip())
                or (
                    sign == "|"
                    and _ROW_ABOVE.search(above)
                    and next_line.strip("|+:= \t\r-")
                    and not any(map(_is_telling_head, cells[2:]))
                )
            ):
                continue
            columns = [
                (n, cell) for n, cell in enumerate(cells) if _CELL.fullmatch(cell) and _is_telling_head(cell)
            ]
            if columns:
                yield from _column_spans(text, end + 1, sign, len(cells), columns)


_INSERT = re.compile(
    r"insert\s+(?:\w+\s+)?into\s+(?P<table>[^\n()]{1,80}?)\s*(?:\((?P<columns>[^()]{1,600})\)\s*)?values\s*"
    r"(?P<rows>(?:\((?:'(?:[^'\\]|''|\\.)*+'|[^'()])*+\)\s*,?\s*)++)",
    re.I,
)
_INSERTED = re.compile(r"[(,]\s*(?:n?'(?P<secret>(?:[^'\\]|''|\\.)*+)'|[^',()]++)(?=\s*[,)])", re.I)


_WITH_PASSWORDS = re.compile("user|account|login|credential|member|customer|secret|token|password|keys", re.I)
_CHOSEN = re.compile(
    r"(?=[^a-z]*[a-z])(?=\D*\d)(?=[^A-Z!#$%^&*?+=~]*[A-Z!#$%^&*?+=~])[^\s@:/\\]{8,200}", re.ASCII
)
"""A password or a key without a name: letters, digits, and capitals or signs."""


def insert_spans(text: str) -> Iterator[tuple[int, int]]:
    """Return the values that a statement of SQL writes into columns with telling names, or into a table of
    users or keys if it names no columns.
    """
    for found in _INSERT.finditer(text):
        cells = [*_INSERTED.finditer(text, *found.span("rows"))]
        if found["columns"] is None and _WITH_PASSWORDS.search(found["table"]):
            yield from (
                cell.span("secret")
                for cell in cells
                if _CHOSEN.fullmatch(cell["secret"] or "") and not is_placeholder(cell["secret"])
            )
        columns = [name.strip("\"'`[] \t\r\n") for name in (found["columns"] or "").split(",")]
        for number, cell in enumerate(cells if len(cells) % len(columns) == 0 else ()):
            name, value = columns[number % len(columns)], cell["secret"] or ""
            doubt = Doubt.WORD if is_password(name) else Doubt.RANDOM
            if _is_telling_head(name) and looks_secret(value, doubt, is_quoted=True):
                yield cell.span("secret")


_SECTION = re.compile(
    r"(?P<indent>[ \t]*)(?:[#*>-]{1,4} )?(?:\[{1,2}[\w.]*?\b(?P<table>\w[\w-]*)\]{1,2}"
    r"|[\"']?(?P<name>(?:(?!(?:class|def|if|elif|else|for|while|with|case|struct|enum|interface|type|func)\b)"
    r"[A-Za-z]+ ){1,4}\w+s|[\w.-]+)[ \t]*[\"']?[ \t]*(?:=>|[:=])[ \t]*[{\[]?)[ \t\r]*"
)
_SETTING = re.compile(
    r"[ \t]*(?:(?:[*•-]|\d{1,2}[.)]) )?(?:[\"']?(?P<name>[\w.@-]+)[ \t]*[\"']?[ \t]*(?:=>|[:=])[ \t]*)?"
    r"[\"']?(?P<secret>[\w+/.!?\#$%&*=@^~-]{8,200})[ \t]*[\"']?[ \t]*[,;]?[ \t\r]*"
)


def _section_spans(text: str, at: int, head: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Return random values below a name that may tell of several secrets: `[passwords]`, `api_keys:`."""
    is_telling_head = is_telling((head["table"] or head["name"]).removesuffix("s"))
    for line in text[at : at + LONGEST_TABLE].split("\n") if is_telling_head else ():
        is_deeper = len(line) - len(line.lstrip(" \t")) > len(head["indent"]) or line[:2] in (
            "- ",
            "* ",
            "1.",
        )
        if line.strip() and (line[0] == "[" if head["table"] else not is_deeper):
            return
        row = _SETTING.fullmatch(line)
        if (
            row is not None
            and not names_something_else(row["name"] or "")
            and is_mixed(row["secret"])
            and not is_placeholder(row["secret"])
        ):
            yield at + row.start("secret"), at + row.end("secret")
        at += len(line) + 1


def _is_telling_head(cell: str) -> bool:
    return is_telling(cell) or cell.strip("\"'` \r").lower() in ("pass", "pw", "otp", "authentication_string")


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
