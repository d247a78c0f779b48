"""All findings as one JSON document, for programs. Pure.

`version` grows when a field changes its meaning or goes; new fields may come at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.review.finding import Finding, ReviewNote
from dragoman.review.formats.summary import counts

VERSION = 1


def as_json(findings: Sequence[Finding], notes: Sequence[ReviewNote], *, files: int) -> bytes:
    document: dict[str, Any] = {
        "version": VERSION,
        "files": files,
        "summary": counts(findings),
        "findings": findings,
        "notes": [{"path": note.path, "text": note.text, "is_failure": note.is_failure} for note in notes],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
