"""Reads JSON with comments and trailing commas, as editors write it.

Comments become spaces and superfluous commas go, so that every other character keeps its line; then it is
JSON like any other. Errors tell the line and never show what stands there: settings hold secrets.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.errors import LocalMistake

# A string is matched first, so that `"https://…"` holds no comment.
_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|/\*.*', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(\s*[}\]])', re.DOTALL)


def parse_jsonc(data: bytes, *, path: str) -> Any:
    """Parse plain data. Raises `LocalMistake` with the line of the mistake."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LocalMistake(f"{path}: this is not UTF-8 text") from None
    plain = _TRAILING.sub(lambda found: found[1] or f" {found[2]}", _PIECE.sub(_without_comment, text))
    if not plain.strip():
        return {}
    try:
        return msgspec.json.decode(plain.encode())
    except msgspec.DecodeError as error:
        raise LocalMistake(f"{path}:{_line(plain, str(error))}: no valid JSON") from None


def _without_comment(match: re.Match[str]) -> str:
    piece = match[0]
    return piece if piece.startswith('"') else re.sub(r"[^\n]", " ", piece)


def _line(text: str, error: str) -> int:
    """The parser counts bytes: `… (byte 12)`. Without a count it came to the end and wanted more."""
    match = re.search(r"\(byte (\d+)\)", error)
    return 1 + (text.encode()[: int(match[1])].count(b"\n") if match else text.rstrip().count("\n"))
