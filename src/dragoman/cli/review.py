"""What `dragoman review` does: reviews, mends, shows, and ends with a status that CI understands."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from dragoman.apps.console import say
from dragoman.cli.parser import load
from dragoman.cli.review_sources import ReviewSources
from dragoman.errors import DragomanError, LocalMistake
from dragoman.review import (
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
from dragoman.review.finding_cache import default_cache_folder
from dragoman.review.formats import as_github, as_json, as_sarif, as_text, summary
from dragoman.review.git import GitChanges, changes
from dragoman.review.rule_files import BASELINE, load_rules, project_rules
from dragoman.review.rule_links import rules_page
from dragoman.review.rules import secret_rules
from dragoman.review.secrets import mask_secrets
from dragoman.review.text_edits import TextLines
from dragoman.text.sanitize import sanitize
from dragoman.version import VERSION

FOUND, MISTAKEN, FAILED = 1, 2, 3

_PROGRESS = 1.0
"""Seconds after which somebody who waits is told how far it is, and between two such words."""


def run(args: argparse.Namespace) -> int:
    try:
        settings = _settings(args)
        if args.list_rules:
            return int(load("dragoman.cli.review_rules:list_rules")(settings.rules))
        if args.try_rules:
            return int(asyncio.run(load("dragoman.cli.review_rules:try_rules")(settings.rules)))
        return asyncio.run(_Run(args, settings).run())
    except ToolFailed as error:
        return _complain(error, FAILED)
    except LocalMistake as error:
        return _complain(error, MISTAKEN)
    except KeyboardInterrupt:
        return 130  # as a shell reports of a program that was interrupted


def _complain(error: DragomanError, status: int) -> int:
    say(f"dragoman review: {error}", file=sys.stderr)
    return status


def _settings(args: argparse.Namespace) -> ReviewSettings:
    rules = [rule for path in args.rules for rule in load_rules(Path(path))]
    baseline_path = Path(args.baseline) if args.baseline else BASELINE if BASELINE.is_file() else None
    return ReviewSettings(
        rules=(*project_rules(Path.cwd()), *rules),
        only=tuple(args.only),
        without=tuple(args.without),
        severity=Severity(args.severity),
        baseline=Baseline.read(baseline_path) if baseline_path and not args.write_baseline else None,
        deadline=args.deadline,
        cache=None if args.no_cache else str(default_cache_folder()),
        use_ruff=not args.no_tools,
        use_oxlint=not args.no_tools,
    )


class _Run:
    """One run of the command."""

    def __init__(self, args: argparse.Namespace, settings: ReviewSettings) -> None:
        self._options = args
        self._settings = settings
        self._notes: list[ReviewNote] = []
        self._review_sources = ReviewSources(self._notes.append)
        self._count = 0
        self._paths: list[str] = []
        self._changes: GitChanges | None = None

    async def run(self) -> int:
        options = self._options
        if options.staged and options.fix:
            raise LocalMistake("--fix writes files, and --staged looks at the index: use --diff")
        with _Progress(self):
            findings = await self._review(await self._sources())
            if self._changes is not None:
                findings += await load("dragoman.review.caller_search:broken_callers")(
                    self._changes, Path.cwd(), self._settings, is_staged=options.staged
                )
            if options.fix:
                findings = await load("dragoman.cli.review_fixes:mend")(
                    findings, self._review_sources, self._settings, self._notes.append, unsafe=options.unsafe
                )
        findings.sort(key=by_severity)
        if options.write_baseline:
            Baseline.of(findings).write(Path(options.write_baseline))
            say(f"{len(findings)} findings are known from now on: {options.write_baseline}", file=sys.stderr)
            return 0
        self._show(findings)
        return self._status(findings)

    async def _sources(self) -> AsyncIterator[ReviewSource]:
        options, sources = self._options, self._review_sources
        if options.diff is None and not options.staged:
            return sources.files(options.paths or ["."], stdin_name=options.stdin_name)
        git_changes = await changes(
            Path.cwd(), against=options.diff or None, is_staged=options.staged, paths=options.paths
        )
        self._changes = git_changes
        if options.staged:
            return sources.staged_files(git_changes, whole=options.whole_files)
        return sources.changed_files(git_changes, whole=options.whole_files)

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

    def _show(self, findings: list[Finding]) -> None:
        options, out, page = self._options, sys.stdout, rules_page()
        match options.format:
            case "json":
                out.write(as_json(findings, self._notes, files=self._count, page=page).decode())
            case "sarif":
                out.write(as_sarif(findings, self._notes, version=VERSION, page=page).decode())
            case "junit":
                from dragoman.review.junit import as_junit

                out.write(as_junit(findings, self._notes, files=self._paths))
            case "github":
                out.writelines(sanitize(as_github(finding)) for finding in findings)
            case "diff":
                load("dragoman.cli.review_fixes:show_diffs")(
                    findings, self._review_sources, unsafe=options.unsafe
                )
            case _:
                self._show_text(findings)
        if options.format in ("text", "github", "diff"):
            for note in self._notes:
                say(f"note: {note.path + ': ' if note.path else ''}{note.text}", file=sys.stderr)

    def _show_text(self, findings: list[Finding]) -> None:
        colour = self._options.colour == "always" or (self._options.colour == "auto" and sys.stdout.isatty())
        path, lines, page = "", None, rules_page()
        for finding in findings:
            if finding.path != path:
                path = finding.path
                source_text = self._review_sources.texts.get(path)
                rules = secret_rules(self._settings.rules)
                lines = (
                    TextLines(mask_secrets(source_text.text, path=path, rules=rules)) if source_text else None
                )
            print(as_text(finding, lines, colour=colour, page=page))  # sanitized, with colours of ours
        say(summary(findings, files=self._count))

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
