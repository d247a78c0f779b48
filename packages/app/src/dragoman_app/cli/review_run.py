"""What `dragoman review` does with what it has read: it reviews, mends, and says what was found."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize
from dragoman.version import VERSION
from dragoman_app.apps.console import ErrorStatus, say
from dragoman_app.apps.log_lines import sanitize_log_lines
from dragoman_app.cli.review_files import ReviewFile
from dragoman_app.cli.review_fixes import mend, show_diffs
from dragoman_app.cli.review_rules import run_rules
from dragoman_app.cli.review_sources import ReviewSources
from dragoman_review import (
    Baseline,
    Finding,
    ReviewNote,
    ReviewSettings,
    ReviewSource,
    Severity,
    ToolFailed,
    by_severity,
    review,
)
from dragoman_review.base_files import BaseFiles
from dragoman_review.caller_search import broken_callers
from dragoman_review.formats import as_github, as_json, as_sarif, as_text, summary
from dragoman_review.git import GitChanges, changes
from dragoman_review.junit import as_junit
from dragoman_review.rule_links import rules_page
from dragoman_review.secrets import mask_secrets
from dragoman_review.text_edits import TextLines

FOUND, FAILED = 1, 3

_PROGRESS = 1.0
"""Seconds after which somebody who waits is told how far it is, and between two such words."""


class ReviewAnswer(NamedTuple):
    """What a run of the command says."""

    status: int
    out: str
    err: str

    def show(self) -> int:
        """Print it; returns the exit status. What is in it was made safe for a terminal."""
        sys.stdout.write(self.out)
        if self.err and sys.stderr is not None:
            sys.stdout.flush()
            sys.stderr.write(self.err)
        return self.status


def run_review(args: argparse.Namespace, files: Sequence[ReviewFile]) -> int:
    """Review and show. `files` is what was read, if git is not asked."""
    sanitize_log_lines()
    gc.enable()  # a review may be long; it was off while we were loaded
    if args.list_rules or args.try_rules:
        return run_rules(args)
    with ErrorStatus(ToolFailed, status=FAILED):
        return asyncio.run(_Run(args, files).run()).show()


def _settings(args: argparse.Namespace) -> ReviewSettings:
    return ReviewSettings(
        only=tuple(args.only),
        without=tuple(args.without),
        severity=Severity(args.severity),
        deadline=args.deadline,
        use_ruff=not args.no_tools,
        use_oxlint=not args.no_tools,
    )


class _Run:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, files: Sequence[ReviewFile]) -> None:
        self._options = args
        self._settings = _settings(args)
        self._files = files
        self._notes: list[ReviewNote] = []
        self._review_sources = ReviewSources(self._notes.append)
        self._count = 0
        self._paths: list[str] = []
        self._changes: GitChanges | None = None

    async def run(self) -> ReviewAnswer:
        options = self._options
        if options.staged and options.fix:
            raise LocalMistake("--fix writes files, and --staged looks at the index: use --diff")
        with _Progress(self):
            sources = await self._sources()
            await self._load_rules()
            findings = await self._review(sources)
            if self._changes is not None:
                findings += await broken_callers(
                    self._changes, Path.cwd(), self._settings, is_staged=options.staged
                )
            if options.fix:
                findings = await mend(
                    findings, self._review_sources, self._settings, self._notes.append, unsafe=options.unsafe
                )
        findings.sort(key=by_severity)
        if options.write_baseline:
            Baseline.of(findings).write(Path(options.write_baseline))
            told = f"{len(findings)} findings are now known: {options.write_baseline}\n"
            return ReviewAnswer(0, "", sanitize(told))
        return ReviewAnswer(self._status(findings), self._shown(findings), self._shown_notes())

    async def _sources(self) -> AsyncIterator[ReviewSource]:
        options, sources = self._options, self._review_sources
        if options.diff is None and not options.staged:
            return sources.files(self._files)
        git_changes = await changes(
            Path.cwd(), against=options.diff or None, is_staged=options.staged, paths=options.paths
        )
        self._changes = git_changes
        if options.staged:
            return sources.staged_files(git_changes, whole=options.whole_files)
        return sources.changed_files(git_changes, whole=options.whole_files)

    async def _load_rules(self) -> None:
        """The rules and the baseline, as the base of a change has them."""
        options = self._options
        with BaseFiles(Path.cwd(), self._changes) as files:
            rules = await files.rules(tuple(options.rules))
            baseline = None if options.write_baseline else await files.baseline(options.baseline)
        self._settings = replace(self._settings, rules=rules, baseline=baseline)
        self._notes += [
            ReviewNote(name, f"not used: {options.diff} does not have it") for name in files.missing_names
        ]

    async def _review(self, sources: AsyncIterator[ReviewSource]) -> list[Finding]:
        review_stream = review(self._count_sources(sources), self._settings, note=self._notes.append)
        async with contextlib.aclosing(review_stream):
            return [finding async for finding in review_stream]

    async def _count_sources(self, sources: AsyncIterator[ReviewSource]) -> AsyncIterator[ReviewSource]:
        async for source in sources:
            self._count += 1
            self._paths.append(source.path)
            yield source

    @property
    def progress(self) -> str:
        return f"{self._count} files read"

    def _shown(self, findings: list[Finding]) -> str:
        options, page = self._options, rules_page()
        match options.format:
            case "json":
                return as_json(findings, self._notes, files=self._count, page=page).decode()
            case "sarif":
                return as_sarif(findings, self._notes, version=VERSION, page=page).decode()
            case "junit":
                return as_junit(findings, self._notes, files=self._paths)
            case "github":
                return "".join(sanitize(as_github(finding)) for finding in findings)
            case "diff":
                show_diffs(findings, self._review_sources, unsafe=options.unsafe)
                return ""
            case _:
                return self._shown_text(findings, page)

    def _shown_notes(self) -> str:
        if self._options.format not in ("text", "github", "diff"):
            return ""
        lines = (f"note: {note.path + ': ' if note.path else ''}{note.text}" for note in self._notes)
        return "".join(f"{sanitize(line)}\n" for line in lines)

    def _shown_text(self, findings: list[Finding], page: str) -> str:
        colour = self._options.colour == "always" or (self._options.colour == "auto" and sys.stdout.isatty())
        path, lines = "", None
        rows: list[str] = []
        for finding in findings:
            if finding.path != path:
                path = finding.path
                source_text = self._review_sources.texts.get(path)
                rules = self._settings.rules
                lines = (
                    TextLines(mask_secrets(source_text.text, path=path, rules=rules)) if source_text else None
                )
            rows.append(as_text(finding, lines, colour=colour, page=page))  # sanitized, with colours of ours
        return "\n".join((*rows, f"{sanitize(summary(findings, files=self._count))}\n"))

    def _status(self, findings: list[Finding]) -> int:
        if any(note.is_failure for note in self._notes):
            return FAILED
        limit = Severity(self._options.fail_on)
        return FOUND if any(finding.severity.is_at_least(limit) for finding in findings) else 0


class _Progress:
    """Says how far it is, to a person who waits; to nobody else."""

    def __init__(self, running: _Run) -> None:
        self._running = running
        self._has_spoken = False
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        if sys.stderr.isatty():
            self._wait()

    def __exit__(self, *failure: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._has_spoken:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_PROGRESS, self._tell)

    def _tell(self) -> None:
        self._has_spoken = True
        print("\r", end="", file=sys.stderr)
        say(f"{self._running.progress} …", end="", file=sys.stderr, flush=True)
        self._wait()
