"""The fixes of `dragoman review`: written to files, or shown as diffs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from dragoman.text.sanitize import sanitize
from dragoman_app.apps.console import say
from dragoman_app.cli.review_sources import ReviewSources
from dragoman_review import Finding, ReviewNote, ReviewSettings, ReviewSource, apply_fixes, diff, review
from dragoman_review.git import moved_lines
from dragoman_review.source_files import StaleFile, write_fixed

_MOST_PASSES = 5
"""Reviews of one file: a fix may uncover another. Two that undo each other must come to an end."""


async def mend(
    findings: list[Finding],
    sources: ReviewSources,
    settings: ReviewSettings,
    note: Callable[[ReviewNote], None],
    *,
    unsafe: bool,
) -> list[Finding]:
    """Write what can be mended, and return what is left to find."""
    remaining: list[Finding] = []
    for path, here in _by_file(findings).items():
        remaining += await _mend_file(path, here, sources, settings, note, unsafe=unsafe)
    return remaining


async def _mend_file(
    path: str,
    findings: list[Finding],
    sources: ReviewSources,
    settings: ReviewSettings,
    note: Callable[[ReviewNote], None],
    *,
    unsafe: bool,
) -> list[Finding]:
    was, changed_lines = sources.texts[path], sources.changed_lines.get(path)
    untrusted_lines = sources.untrusted_lines.get(path, frozenset())
    text, remaining, applied_count = was.text, findings, 0
    for _ in range(_MOST_PASSES):
        result = apply_fixes(text, remaining, unsafe=unsafe)
        if result.text == text:
            break
        if changed_lines is not None:  # what was not asked about stays as it is, also in the next pass
            changed_lines = moved_lines(changed_lines, text, result.text)
        if untrusted_lines:
            untrusted_lines = moved_lines(untrusted_lines, text, result.text)
        text, applied_count = result.text, applied_count + len(result.applied_findings)
        source = ReviewSource(path, text, changed_lines, untrusted_lines)
        remaining = [finding async for finding in review([source], settings)]
    if text == was.text or path not in sources.paths:
        return findings
    try:
        write_fixed(sources.paths[path], was, text)
    except (StaleFile, OSError) as error:
        note(ReviewNote(path, f"not fixed: {error}", is_failure=True))
        return findings
    sources.texts[path] = was._replace(text=text, data=was.encode(text))
    say(f"{path}: {applied_count} mended", file=sys.stderr)
    return remaining


def show_diffs(findings: Iterable[Finding], sources: ReviewSources, *, unsafe: bool) -> None:
    """What the fixes would change, for people and, where it does not go to a terminal, for `patch`."""
    for path, here in _by_file(findings).items():
        text = sources.texts[path].text
        changes = diff(Path(path).as_posix(), text, apply_fixes(text, here, unsafe=unsafe).text)
        if sys.stdout.isatty():
            sys.stdout.write(sanitize(changes, exact=True))
        else:  # as bytes: the name of a file need not be text, and `patch` looks for the file by it
            sys.stdout.flush()
            sys.stdout.buffer.write(changes.encode(errors="surrogateescape"))


def _by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    files: dict[str, list[Finding]] = {}
    for finding in findings:
        files.setdefault(finding.path, []).append(finding)
    return files
