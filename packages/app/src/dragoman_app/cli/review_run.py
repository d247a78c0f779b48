"""The second step of `dragoman review`: reviews, fixes, and reports the findings."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize
from dragoman.version import VERSION
from dragoman_app.apps.console import ErrorStatus, say
from dragoman_app.apps.log_lines import sanitize_log_lines
from dragoman_app.cli.review_files import ReviewFile
from dragoman_app.cli.review_sources import ReviewSources
from dragoman_review import (
    Baseline,
    Finding,
    ReviewNote,
    ReviewRule,
    ReviewSettings,
    ReviewSource,
    Severity,
    ToolFailed,
    apply_fixes,
    by_severity,
    diff,
    review,
)
from dragoman_review.base_files import BaseFiles
from dragoman_review.caller_search import broken_callers
from dragoman_review.catalogue import catalogue
from dragoman_review.finding import RuleText
from dragoman_review.formats import as_github, as_json, as_sarif, as_text, summary
from dragoman_review.git import GitChanges, changes, moved_lines
from dragoman_review.junit import as_junit
from dragoman_review.languages import example_name
from dragoman_review.rule_files import chosen_rules
from dragoman_review.rule_links import rules_page
from dragoman_review.secrets import mask_secrets
from dragoman_review.source_files import StaleFile, write_fixed
from dragoman_review.text_edits import TextLines

FOUND, FAILED = 1, 3

_PROGRESS = 1.0
"""Seconds after which somebody who waits is told how far it is, and between two such words."""


class ReviewAnswer(NamedTuple):
    """The output of the command."""

    status: int
    out: str
    err: str

    def show(self) -> int:
        """Print it; return the exit status. Its text is already sanitized."""
        sys.stdout.write(self.out)
        if self.err and sys.stderr is not None:
            sys.stdout.flush()
            sys.stderr.write(self.err)
        return self.status


def run_review(args: argparse.Namespace, files: Sequence[ReviewFile]) -> int:
    """Review and show. `files` are the read files, if git is not used."""
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


# The fixes of `dragoman review`: written to files, or shown as diffs.

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
    """Apply the possible fixes, and return the remaining findings."""
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
    """Show the changes of the fixes, for people and, outside a terminal, for `patch`."""
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


# `dragoman review --list-rules` and `--try-rules`: all rules in a table, and whether each rule finds the
# examples that stand beside it.

_DEADLINE = 5.0
_SHOWN = 60


def run_rules(args: argparse.Namespace) -> int:
    """Run one of the two options; return the exit status."""
    rules = chosen_rules(Path.cwd(), args.rules)
    return list_rules(rules) if args.list_rules else asyncio.run(try_rules(rules))


async def try_rules(rules: tuple[ReviewRule, ...]) -> int:
    """Return 0 if every example is as expected, otherwise 1."""
    examples = failures = 0
    for rule in rules:
        if not rule.hits or not rule.misses:
            say(f"{rule.id}: has no {'hits' if not rule.hits else 'misses'} to try")
        for text, is_hit in _examples(rule):
            examples += 1
            why = await _complaint(rule, text, is_hit=is_hit)
            if why is not None:
                failures += 1
                say(f"{rule.id}: {why}: {text[:_SHOWN]!r}")
    say(f"{examples} examples of {len(rules)} rules, {failures} failed", file=sys.stderr)
    return 1 if failures else 0


def _examples(rule: ReviewRule) -> Iterator[tuple[str, bool]]:
    yield from ((text, True) for text in rule.hits)
    yield from ((text, False) for text in rule.misses)


async def _complaint(rule: ReviewRule, text: str, *, is_hit: bool) -> str | None:
    notes: list[ReviewNote] = []
    settings = ReviewSettings(
        rules=(rule,), only=(rule.id,), use_ruff=False, use_oxlint=False, workers=1, deadline=_DEADLINE
    )
    findings = [
        finding async for finding in review([ReviewSource(_path(rule), text)], settings, note=notes.append)
    ]
    if notes:
        return notes[0].text
    if is_hit and not findings:
        return "does not find its hit"
    return "finds its miss" if findings and not is_hit else None


def _path(rule: ReviewRule) -> str:
    """A name that the rule holds for."""
    if rule.paths:
        return rule.paths[0].replace("**/", "").replace("*", "example")
    return example_name(rule.languages[0]) if rule.languages else "example.txt"


class _Row(NamedTuple):
    rule: str
    severity: str
    languages: str
    title: str


def list_rules(more: tuple[ReviewRule, ...]) -> int:
    rows = list(_rows(catalogue(more)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        say("  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row.title)))
    return 0


def _rows(entries: tuple[RuleText, ...]) -> Iterator[_Row]:
    for entry in entries:
        languages = ", ".join(entry.languages[:3]) + (", …" if len(entry.languages) > 3 else "")
        yield _Row(entry.id, entry.severity.value, languages or "all", entry.title)
