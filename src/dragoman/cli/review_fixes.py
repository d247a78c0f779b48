"""The fixes of `dragoman review`: written to files, or shown as diffs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from dragoman.apps.console import say
from dragoman.cli.review_sources import ReviewSources
from dragoman.review import Finding, ReviewNote, ReviewSettings, ReviewSource, apply_fixes, diff, review
from dragoman.review.git import moved_lines
from dragoman.review.source_files import StaleFile, write_fixed
from dragoman.text.sanitize import sanitize

_MOST_PASSES = 5
"""Reviews of one file: a fix may uncover another. Two that undo each other must come to an end."""


async def mend(
    findings: list[Finding],
    gathered: ReviewSources,
    settings: ReviewSettings,
    note: Callable[[ReviewNote], None],
    *,
    unsafe: bool,
) -> list[Finding]:
    """Write what can be mended, and return what is left to find."""
    left: list[Finding] = []
    for path, here in _by_file(findings).items():
        left += await _mend_file(path, here, gathered, settings, note, unsafe=unsafe)
    return left


async def _mend_file(
    path: str,
    findings: list[Finding],
    gathered: ReviewSources,
    settings: ReviewSettings,
    note: Callable[[ReviewNote], None],
    *,
    unsafe: bool,
) -> list[Finding]:
    was, changed = gathered.texts[path], gathered.changed_lines.get(path)
    text, left, applied = was.text, findings, 0
    for _ in range(_MOST_PASSES):
        done = apply_fixes(text, left, unsafe=unsafe)
        if done.text == text:
            break
        if changed is not None:  # what was not asked about stays as it is, also in the next pass
            changed = moved_lines(changed, text, done.text)
        text, applied = done.text, applied + len(done.applied)
        left = [finding async for finding in review([ReviewSource(path, text, changed)], settings)]
    if text == was.text or path not in gathered.paths:
        return findings
    try:
        write_fixed(gathered.paths[path], was, text)
    except (StaleFile, OSError) as error:
        note(ReviewNote(path, f"not mended: {error}", is_failure=True))
        return findings
    gathered.texts[path] = was._replace(text=text, data=was.encode(text))
    say(f"{path}: {applied} mended", file=sys.stderr)
    return left


def show_diffs(findings: Iterable[Finding], gathered: ReviewSources, *, unsafe: bool) -> None:
    """What the fixes would change, for people and, where it does not go to a terminal, for `patch`."""
    for path, here in _by_file(findings).items():
        text = gathered.texts[path].text
        changes = diff(Path(path).as_posix(), text, apply_fixes(text, here, unsafe=unsafe).text)
        sys.stdout.write(sanitize(changes, exact=True) if sys.stdout.isatty() else changes)


def _by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    files: dict[str, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.path, []).append(finding)
    return files
