"""Searches a repository for calls that a change breaks. Files are read as they are on the disk."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dragoman_review.callers import ChangedFunction, broken_calls, changed_functions
from dragoman_review.finding import Finding
from dragoman_review.finding_filter import FindingFilter
from dragoman_review.git import GitChanges, list_files, text_at
from dragoman_review.settings import ReviewSettings
from dragoman_review.source import ReviewSource
from dragoman_review.source_files import decode

MOST_FILES = 5_000
LARGEST = 1_000_000
"""The most bytes of a file in which callers are searched."""

INDEX = ":0"


async def broken_callers(
    changes: GitChanges, folder: Path, settings: ReviewSettings, *, is_staged: bool = False
) -> list[Finding]:
    """Return calls in files below a folder that a change breaks; paths are relative to that folder."""
    functions: list[ChangedFunction] = []
    for file in changes.files:
        if file.path.endswith(".py") and changes.base is not None:
            old = await text_at(changes.top, changes.base, file.path)
            new = await (
                text_at(changes.top, INDEX, file.path)
                if is_staged
                else asyncio.to_thread(_bytes_of, changes.top / file.path)
            )
            if old is not None and new is not None:
                functions += await asyncio.to_thread(changed_functions, file.path, _text(old), _text(new))
    if not functions:
        return []
    paths = [path for path in await list_files(folder) or [] if path.suffix == ".py"]
    return await asyncio.to_thread(_search, paths[:MOST_FILES], changes, folder, functions, settings)


def _bytes_of(path: Path) -> bytes | None:
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _text(data: bytes) -> str:
    result = decode(data)
    return "" if result is None else result.text


def _search(
    paths: Sequence[Path],
    changes: GitChanges,
    folder: Path,
    functions: Sequence[ChangedFunction],
    settings: ReviewSettings,
) -> list[Finding]:
    baseline = settings.baseline.counter() if settings.baseline else Counter()
    names = [function.name.encode() for function in functions]
    untrusted_lines = {file.path: changes.untrusted_lines(file) for file in changes.files}
    findings: list[Finding] = []
    for path in paths:
        data = _bytes_of(path)
        if data is None or not any(name in data for name in names):
            continue
        inside = path.resolve().relative_to(changes.top.resolve()).as_posix()
        source = ReviewSource(
            path.relative_to(folder).as_posix(),
            _text(data),
            untrusted_lines=untrusted_lines.get(inside, frozenset()),
        )
        calls = broken_calls(source, inside, functions)
        findings += FindingFilter(source, "python", settings, baseline).filter(calls)
    return findings
