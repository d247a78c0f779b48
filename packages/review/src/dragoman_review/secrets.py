"""Masks secrets in a text, so that it can be shown to other people. Pure.

What `dragoman_local.secrets` finds is masked, and what any rule about secrets finds besides. Baselines,
suppressions and severities do not count here: they say what is reported and not what may leave. A mask keeps
the length and the line ends of what it hides, so that lines and columns stay good.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from dragoman_local.secrets.search import find, is_settings_file
from dragoman_review.rules import ReviewRule, secret_rules
from dragoman_review.text_edits import TextLines
from dragoman_review.text_rules import text_findings

_SHOWN = re.compile(r"[^\r\n]")


def mask_secrets(text: str, *, path: str = "", rules: Iterable[ReviewRule] = ()) -> str:
    """Return the text with each secret hidden. `path` gives the language of a file. `rules` of a repository
    find more secrets; they never replace ours, even with the same name.
    """
    lines = TextLines(text)
    spans = [span[:2] for span in find(text, in_settings=is_settings_file(PurePath(path).name))]
    for finding in text_findings(path, lines, secret_rules(rules), longest=max(len(text), 1)):
        place = finding.place
        start = lines.offset(place.line, place.column)
        spans.append((start, lines.offset(place.end_line, place.end_column)))
    return _mask(text, spans)


def _mask(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        start = max(start, at)
        if end > start:
            parts += (text[at:start], _SHOWN.sub("*", text[start:end]))
            at = end
    return "".join((*parts, text[at:]))
