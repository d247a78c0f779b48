"""Suggests a commit message from known facts: the user's prompt, the changed files, and the style of the
repository's last commits.

Two forms are recognised if most of the last subjects have them: `feat(scope): …` with a type of change, and
`area: …` with the name of a part. Everything else gets a plain sentence. A person
may change the proposal.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from dragoman.text.sanitize import sanitize_line

LONGEST = 72
"""The most characters of a subject, as most tools show them."""

FEWEST = 3
"""The least subjects for recognising a form."""

SHARE = 0.6
"""The part of the subjects that must have a form."""

TYPES = ("feat", "fix", "docs", "test", "refactor", "perf", "chore", "build", "ci", "style", "revert")

_TYPE_PREFIX = re.compile(rf"(?:{'|'.join(TYPES)})(?:\((?P<scope>[^()]+)\))?!?: \S")
_AREA = re.compile(r"(?P<area>[\w.+/-]+(?:, [\w.+/-]+)*): \S")
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|now|then|so|also|and|please|kindly)\b[,:!.]?\s*"
    r"|(?:can|could|would|will) you\b\s*(?:please\b)?\s*"
    r"|(?:i (?:want|need|would like|'d like)|i'd like) (?:you )?to\b\s*|let'?s\b\s*|your task is to\b\s*)+",
    re.IGNORECASE,
)
_TYPE_WORDS = (
    ("revert", r"^revert\b"),
    ("fix", r"\b(?:fix|fixes|bug|repair|crash|wrong|broken|mend|correct)\w*"),
    ("perf", r"\b(?:faster|speed up|performance|optimi[sz]e)\b"),
    ("refactor", r"\b(?:refactor|rename|move|extract|simplify|clean up|restructure)\w*"),
    ("feat", r"\b(?:add|implement|support|create|introduce|build|write|allow|enable)\w*"),
)
_DOCS = re.compile(r"(?:^|/)docs?/|\.(?:md|rst|adoc)$|(?:^|/)(?:README|CHANGELOG|LICENSE)[^/]*$")
_TESTS = re.compile(r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)test_[^/]*$|[._](?:test|spec)\.[a-z]+$")
_CI = re.compile(r"^\.(?:github|gitlab|circleci)/|^\.gitlab-ci\.yml$")


class NamedChange(Struct, frozen=True, kw_only=True):
    """A file of the commit: its path in the repository, and `added`, `modified` or `removed`."""

    path: str
    kind: str


def propose_message(
    files: Sequence[NamedChange], *, prompt: str = "", title: str = "", subjects: Sequence[str] = ()
) -> str:
    """Return a subject. `subjects` are those of the last commits, the latest first."""
    summary = _summary(prompt) or _summary(title) or _describe_files(files)
    prefix = _typed_prefix(files, summary, subjects) or _area_prefix(files, subjects)
    is_small = _begin_small(subjects, has_prefix=bool(prefix))
    start = _with_small_start(summary) if is_small else summary[:1].upper() + summary[1:]
    return _cut(prefix + start, LONGEST)


def _summary(text: str) -> str:
    """The person's request, as an imperative; empty if their first line says too little."""
    line = next((line for line in map(str.strip, text.splitlines()) if line), "")
    line = _POLITE.sub("", sanitize_line(line)).strip()
    sentence = re.split(r"(?<=[^\s.]{2})[.!?](?:\s|$)|\s[-–—]\s", line, maxsplit=1)[0].strip(" .,:;!?`*#")
    return sentence if len(sentence.split()) > 1 else ""


def _describe_files(files: Sequence[NamedChange]) -> str:
    verbs = {"added": "Add", "removed": "Remove"}
    kinds = {change.kind for change in files}
    verb = verbs.get(kinds.pop(), "Update") if len(kinds) == 1 else "Update"
    names = [os.path.basename(change.path) for change in files]
    if len(names) > 3:
        return f"{verb} {len(names)} files"
    return f"{verb} " + (
        " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
    )


def _typed_prefix(files: Sequence[NamedChange], summary: str, subjects: Sequence[str]) -> str:
    matches = [match for match in map(_TYPE_PREFIX.match, subjects) if match]
    if not _is_form(len(matches), subjects):
        return ""
    scopes = Counter(match["scope"] for match in matches if match["scope"])
    scope = _known_area(files, scopes) if scopes.total() > len(matches) / 2 else ""
    return f"{_type_of(files, summary)}({scope}): " if scope else f"{_type_of(files, summary)}: "


def _type_of(files: Sequence[NamedChange], summary: str) -> str:
    for name, pattern in (("docs", _DOCS), ("test", _TESTS), ("ci", _CI)):
        if files and all(pattern.search(change.path) for change in files):
            return name
    for name, words in _TYPE_WORDS:
        if re.search(words, summary, re.IGNORECASE):
            return name
    return "feat" if any(change.kind == "added" for change in files) else "chore"


def _area_prefix(files: Sequence[NamedChange], subjects: Sequence[str]) -> str:
    matches = [match for match in map(_AREA.match, subjects) if match]
    if not _is_form(len(matches), subjects) or not files:
        return ""
    areas = Counter(area for match in matches for area in match["area"].split(", "))
    area = _known_area(files, areas) or _folder_of(files)
    return f"{area}: " if area else ""


def _is_form(count: int, subjects: Sequence[str]) -> bool:
    return len(subjects) >= FEWEST and count >= SHARE * len(subjects)


def _known_area(files: Sequence[NamedChange], areas: Counter[str]) -> str:
    """The area in use that most of the files lie in; of two, the one that is in use more."""
    scores: Counter[str] = Counter()
    for change in files:
        names = {part.lower() for part in change.path.split("/")}
        names.add(os.path.splitext(os.path.basename(change.path))[0].lower())
        scores.update(area for area in areas if area.lower() in names or f"/{area}/" in f"/{change.path}")
    return max(scores, key=lambda area: (scores[area], areas[area]), default="")


def _folder_of(files: Sequence[NamedChange]) -> str:
    """The name of the common folder of all files; of one file at the top, its own name."""
    if len(files) == 1 and "/" not in files[0].path:
        return os.path.splitext(files[0].path)[0]
    return os.path.basename(os.path.commonpath([os.path.dirname(change.path) for change in files]))


def _begin_small(subjects: Sequence[str], *, has_prefix: bool) -> bool:
    """Whether summaries begin with a small letter here."""
    starts = [
        re.sub(r"^[^:]{1,40}: ", "", subject)[:1] if has_prefix else subject[:1] for subject in subjects
    ]
    letters = [start for start in starts if start.isalpha() and start.upper() != start.lower()]
    if len(letters) < FEWEST:
        return has_prefix
    return sum(start.islower() for start in letters) > len(letters) / 2


def _with_small_start(text: str) -> str:
    """A word in capitals, or with one inside of it, is a name and stays."""
    first = text.split(" ", 1)[0]
    return text if first[1:] != first[1:].lower() else text[:1].lower() + text[1:]


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    return text[: width - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
