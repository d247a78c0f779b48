"""Finds hardcoded secrets in a text, and masks them so that it can be shown to other people. Pure.

What a secret looks like is known to `dragoman_local.secrets` alone. It hides whatever may be one; here it
accuses, so a value must look random as well, and an address must lead to another machine. Tests and examples
are full of passwords: there, only keys of known services count.

A mask hides all of it, and what rules of a repository find besides. Baselines, suppressions and severities do
not count there: they say what is reported and not what may leave. A mask keeps the length and the line ends
of what it hides, so that lines and columns stay good.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from msgspec.structs import replace

from dragoman_local.secrets.names import has_name_words, is_gibberish
from dragoman_local.secrets.search import PLACES, find, is_settings_file
from dragoman_review.finding import Finding, RuleText, Severity
from dragoman_review.rules import ReviewRule
from dragoman_review.text_edits import TextLines
from dragoman_review.text_rules import looks_random, text_findings
from dragoman_review.worker_messages import LONGEST_LINE

_SHOWN = re.compile(r"[^\r\n]")

HARDCODED = RuleText(
    id="secrets/hardcoded",
    severity=Severity.HIGH,
    title="Hardcoded secret",
    why="Everyone who can read the text has it, and history keeps it. Revoke it, and read the new one from "
    "the environment or a secret store.",
)

_SHOWS = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|fixtures|specs?|docs?)/|(?:^|/)test_|[._-](?:test|spec)s?\.\w+$"
    r"|(?:example|sample|template)[^/]*$"
)
"""Files that are full of values for a show: in these, keys of services alone count."""

_DOUBTFUL = PLACES | {"jwt", "crypt", "bcrypt"}
"""Kinds that texts have for a show."""

_HERE = re.compile(r"@(?:localhost|127\.|\[::1\]|example\b|host\b)")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{20}")
_MIXED = re.compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])(?![./~])[A-Za-z0-9+/=_.~!@#$%^&*:-]+", re.ASCII)
_NO_SECRET = re.compile(
    r"[A-Z]\w+_[A-Z]\w*|[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}|\d{4}-\d\d-\d\dT.*", re.ASCII
)
"""The name of a constant, the number of something, a date."""


def secret_findings(path: str, lines: TextLines, *, longest: int = LONGEST_LINE) -> Iterator[Finding]:
    """Return the secrets of a text that a reader should know, in lines that are no longer than `longest`."""
    text = lines.text
    is_show = _SHOWS.search(path.replace("\\", "/")) is not None
    for start, end, kind in find(text, in_settings=is_settings_file(PurePath(path).name)):
        value, is_known = text[start:end], kind not in _DOUBTFUL
        is_accused = _is_key(value) if is_known else not is_show and _is_made_by_a_machine(value, kind)
        if not is_accused or _HERE.match(text, end):
            continue
        place = lines.place(path, start, end)
        if len(lines.line(place.line)) <= longest and looks_random(value, 2.5):
            title = "" if kind in PLACES else f"{HARDCODED.title}: {kind}"
            finding = HARDCODED.finding(place, title=title, is_secret=True)
            yield replace(finding, severity=Severity.CRITICAL) if is_known else finding


def _is_key(value: str) -> bool:
    """Whether what is known by its looks is more than words, and not for tries."""
    if value.startswith("-"):
        return _KEY_LINE.search(value) is not None
    return "_test_" not in value and not (value.islower() and has_name_words(value))


def _is_made_by_a_machine(value: str, kind: str) -> bool:
    if kind == "random" or len(value) < (8 if kind == "login" else 12) or _NO_SECRET.fullmatch(value):
        return False
    return is_gibberish(value, is_quoted=True) or (
        _MIXED.fullmatch(value) is not None and not has_name_words(value)
    )


def mask_secrets(text: str, *, path: str = "", rules: Iterable[ReviewRule] = ()) -> str:
    """Return the text with each secret hidden. `path` gives the language of a file. `rules` of a repository
    find more secrets; they never replace ours.
    """
    lines = TextLines(text)
    spans = [span[:2] for span in find(text, in_settings=is_settings_file(PurePath(path).name))]
    of_secrets = [rule for rule in rules if rule.entropy > 0]
    for finding in text_findings(path, lines, of_secrets, longest=max(len(text), 1)):
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
