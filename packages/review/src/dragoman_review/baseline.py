"""The baseline: a file that lists known findings, so that only new ones are reported.

A finding is known by its rule, its file and the text of its line, not by the line's number, so that it stays
known when lines are added above it. The secret in a line is left out of its fingerprint. Pure but for `read`
and `write`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.decoders import decode_json
from dragoman.errors import LocalMistake
from dragoman_review.finding import Finding
from dragoman_review.text_edits import TextLines

VERSION = 1

LONG = 2_000
"""The most characters of a line in which all secrets count; of longer lines only the text around a secret
counts.
"""


class BadBaseline(LocalMistake):
    """The file is not a valid baseline."""


class _BaselineFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    known: dict[str, int]


class Baseline:
    """The number of known findings for each fingerprint. Each match uses one up."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = dict(counts)

    def counter(self) -> Counter[str]:
        """Return a copy to use up in one review."""
        return Counter(self._counts)

    def __len__(self) -> int:
        return sum(self._counts.values())

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Baseline:
        return cls(Counter(finding.fingerprint for finding in findings))

    @classmethod
    def read(cls, path: Path) -> Baseline:
        try:
            file = decode_json(path.read_bytes(), _BaselineFile)
        except OSError as error:
            raise BadBaseline(f"{path} cannot be read: {error.strerror}") from None
        except msgspec.DecodeError as error:
            raise BadBaseline(f"{path} is not a baseline: {error}; write a new one") from None
        if file.version != VERSION:
            raise BadBaseline(f"{path} is of version {file.version}, not {VERSION}; write a new one")
        return cls(file.known)

    def write(self, path: Path) -> None:
        file = _BaselineFile(version=VERSION, known=dict(sorted(self._counts.items())))
        path.write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n")


def fingerprint(finding: Finding, lines: TextLines) -> str:
    """Return a value that stays the same for a finding when other parts of the text change."""
    place = finding.place
    line = lines.line(place.line)
    if finding.is_secret:
        end = place.end_column - 1 if place.end_line == place.line else len(line)
        around = LONG if len(line) > LONG else len(line)
        line = line[max(0, place.column - 1 - around) : place.column - 1] + line[end : end + around]
    parts = (finding.rule, place.path, " ".join(line.split()))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:20]
