"""The review: takes texts, and yields findings as they are found.

Nothing is read behind the caller's back: a source is reviewed as it was given, saved or not. Texts are looked
through by worker processes of our own and by the tools that are installed, a few at a time; what one of them
cannot do is told in a note, and the review goes on. When the iteration ends, in whichever way, every process
is gone.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from dragoman_review.finding import Finding
from dragoman_review.finding_filter import FindingFilter
from dragoman_review.languages import language_of
from dragoman_review.places import find_oxlint, find_ruff
from dragoman_review.programs import ToolFailed
from dragoman_review.settings import ReviewSettings
from dragoman_review.source import ReviewNote, ReviewSource
from dragoman_review.suppression import without_tool_marks

if TYPE_CHECKING:
    from dragoman_review.inspectors import Inspector

Sources: TypeAlias = Iterable[ReviewSource] | AsyncIterable[ReviewSource]
Tell: TypeAlias = Callable[[ReviewNote], None]

_WAITING = 64
"""Texts that may wait for a tool, and findings that may wait for the caller."""

_WORKLOAD = 1_500_000
"""Characters for which it pays to start a worker: less is done before a second one has compiled its rules."""

_SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_SURROGATES = re.compile("[\ud800-\udfff]")


async def review(
    sources: Sources, settings: ReviewSettings | None = None, *, note: Tell | None = None
) -> AsyncGenerator[Finding, None]:
    """Review some texts. `note` is called with messages for the reader besides the findings.

    Whoever stops before the end does so within `contextlib.aclosing`, so that everything is gone at once.
    """
    out: asyncio.Queue[Finding | None] = asyncio.Queue(_WAITING)
    work = asyncio.create_task(_Review(settings or ReviewSettings(), out, note or _ignore).run(sources))
    try:
        while (finding := await out.get()) is not None:
            yield finding
        await work
    finally:
        work.cancel()
        await asyncio.wait([work])


def _judges() -> ModuleType:
    """The reviewers of texts; see there why it is loaded late."""
    from dragoman_review import judges

    return judges


def _ignore(note: ReviewNote) -> None:
    """For callers that want findings only."""


class _ReviewJob:
    """One text on its way."""

    def __init__(self, source: ReviewSource, language: str | None, sieve: FindingFilter) -> None:
        self.source = source
        self.language = language
        self.sieve = sieve
        self.has_ruff = False


_Lane: TypeAlias = asyncio.Queue["_ReviewJob | None"]


class _Review:
    """One review, from the first text to the last finding."""

    def __init__(self, settings: ReviewSettings, out: asyncio.Queue[Finding | None], note: Tell) -> None:
        self._settings = settings
        self._out = out
        self._note = note
        self._baseline: Counter[str] = settings.baseline.counter() if settings.baseline else Counter()
        self._ruff = find_ruff() if settings.use_ruff else None
        self._oxlint = find_oxlint() if settings.use_oxlint else None
        self._is_missing_said = False

    async def run(self, sources: Sources) -> None:
        """Review everything, and mark the end for the reader."""
        try:
            async with asyncio.TaskGroup() as group:
                texts, pythons, scripts = _lane(), _lane(), _lane()
                group.create_task(self._feed(sources, texts, pythons, scripts, group))
                group.create_task(self._lint_pythons(pythons, texts))
                for _ in range(self._settings.workers or 1):
                    group.create_task(self._look_through(texts))
                group.create_task(self._lint_scripts(scripts))
        except ExceptionGroup as group_error:
            # The caller's sources raised; the group around it says nothing more.
            await self._out.put(None)
            raise group_error.exceptions[0] from None
        # Not when cancelled: then nobody reads any more, and this would wait for ever.
        await self._out.put(None)

    async def _feed(
        self, sources: Sources, texts: _Lane, pythons: _Lane, scripts: _Lane, group: asyncio.TaskGroup
    ) -> None:
        workers, size = self._settings.workers or 1, 0
        async for source in _each(sources):
            job = self._job(source)
            if job is None:
                continue
            await self._emit(job.sieve.complaints())
            size += len(source.text)
            if size > workers * _WORKLOAD and workers < self._settings.concurrency:
                workers += 1
                group.create_task(self._look_through(texts))
            if job.language in _SCRIPTS and self._oxlint:
                await scripts.put(job)
            self._say_what_is_missing(job)
            await (pythons if job.language == "python" and self._ruff else texts).put(job)
        await pythons.put(None)
        await scripts.put(None)

    def _say_what_is_missing(self, job: _ReviewJob) -> None:
        """Add notes about languages without a checker: they may still have bugs."""
        if self._is_missing_said or job.language not in _judges().GRAMMARS or _judges().is_available():
            return
        self._is_missing_said = True
        why = "ast-grep is not installed, so only patterns were searched: pip install dragoman-review"
        self._note(ReviewNote(None, why))

    def _job(self, source: ReviewSource) -> _ReviewJob | None:
        if len(source.text) > self._settings.largest:
            self._note(ReviewNote(source.path, f"not reviewed: {len(source.text)} characters are too many"))
            return None
        if "\0" in source.text:
            self._note(ReviewNote(source.path, "not reviewed: it is binary"))
            return None
        # A lone surrogate stands for a byte that was not text. It has no place in JSON, nor in any rule.
        if not source.text.isascii():
            source = source._replace(text=_SURROGATES.sub("\ufffd", source.text))
        language = language_of(source.path, source.text)
        sieve = FindingFilter(source, language, self._settings, self._baseline)
        return _ReviewJob(source._replace(text=without_tool_marks(source)), language, sieve)

    async def _look_through(self, lane: _Lane) -> None:
        inspector: Inspector | None = None
        try:
            while (job := await lane.get()) is not None:
                # Not before: to read all rules takes longer than to find that there is no text.
                inspector = inspector or _judges().Inspector(
                    _judges().all_rules(self._settings.rules), deadline=self._settings.deadline
                )
                await self._inspect(inspector, job)
                for note in job.sieve.notes():
                    self._note(note)
            await lane.put(None)  # for the next one
        finally:
            if inspector is not None:
                await inspector.aclose()

    async def _lint_pythons(self, lane: _Lane, texts: _Lane) -> None:
        """Give ruff all waiting texts at once, and pass each text on to our own rules."""
        async for jobs in _batches(lane):
            await self._ask_ruff(jobs)
            for job in jobs:
                await texts.put(job)
        await texts.put(None)

    async def _ask_ruff(self, jobs: list[_ReviewJob]) -> None:
        """Run ruff; if it fails, Dragoman's own Python rules replace it."""
        if not jobs or self._ruff is None:
            return
        sources = [job.source for job in jobs]
        try:
            findings_by_job = await _judges().ruff_findings_of_many(
                self._ruff, sources, deadline=self._settings.deadline
            )
        except ToolFailed as error:
            if len(jobs) > 1:  # one of them may be too much for it; the others shall not suffer
                for job in jobs:
                    await self._ask_ruff([job])
                return
            self._note(ReviewNote(jobs[0].source.path, str(error), is_failure=True))
            return
        for job, findings in zip(jobs, findings_by_job, strict=True):
            job.has_ruff = True
            await self._emit(job.sieve.filter(findings))

    async def _inspect(self, inspector: Inspector, job: _ReviewJob) -> None:
        path, text = job.source.path, job.source.text
        try:
            answer = await inspector.inspect(path, text, has_ruff=job.has_ruff)
        except ToolFailed as error:
            self._note(ReviewNote(path, str(error), is_failure=True))
            return
        await self._emit(job.sieve.filter(answer.findings))
        for failure in answer.failures:
            self._note(ReviewNote(path, failure, is_failure=True))

    async def _lint_scripts(self, lane: _Lane) -> None:
        """Give oxlint what is waiting, all at once: it is fast, but starting it takes time."""
        async for jobs in _batches(lane):
            await self._lint(jobs)

    async def _lint(self, jobs: list[_ReviewJob]) -> None:
        if not jobs or self._oxlint is None:
            return
        sources = [job.source for job in jobs]
        try:
            findings = await _judges().oxlint_findings(
                self._oxlint, sources, deadline=self._settings.deadline
            )
        except ToolFailed as error:
            self._note(ReviewNote(None, str(error), is_failure=True))
            return
        for job in {job.source.path: job for job in jobs}.values():
            await self._emit(
                job.sieve.filter([finding for finding in findings if finding.path == job.source.path])
            )

    async def _emit(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            await self._out.put(finding)


def _lane() -> _Lane:
    return asyncio.Queue(_WAITING)


async def _batches(lane: _Lane) -> AsyncIterator[list[_ReviewJob]]:
    """All waiting texts at once, until the lane ends."""
    is_over = False
    while not is_over:
        jobs = [await lane.get()]
        while not lane.empty():
            jobs.append(lane.get_nowait())
        is_over = None in jobs
        yield [job for job in jobs if job is not None]


async def _each(sources: Sources) -> AsyncIterator[ReviewSource]:
    if isinstance(sources, AsyncIterable):
        async for source in sources:
            yield ReviewSource(*source)
    else:
        for source in sources:
            yield ReviewSource(*source)
