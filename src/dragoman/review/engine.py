"""The review: texts go in, findings come out as they are found.

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
from typing import NamedTuple, TypeAlias

from dragoman.review.finding import Finding, ReviewNote, ReviewSource
from dragoman.review.finding_filter import FindingFilter
from dragoman.review.inspectors import Inspector
from dragoman.review.languages import language_of
from dragoman.review.oxlint import find_oxlint, oxlint_findings
from dragoman.review.programs import ToolFailed
from dragoman.review.ruff import find_ruff, ruff_findings
from dragoman.review.rules import all_rules
from dragoman.review.settings import ReviewSettings

Sources: TypeAlias = Iterable[ReviewSource] | AsyncIterable[ReviewSource]
Tell: TypeAlias = Callable[[ReviewNote], None]

_WAITING = 64
"""Texts that may wait for a tool, and findings that may wait for the caller."""

_SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_SURROGATES = re.compile("[\ud800-\udfff]")


async def review(
    sources: Sources, settings: ReviewSettings | None = None, *, note: Tell | None = None
) -> AsyncGenerator[Finding, None]:
    """Review some texts. `note` is told what a reader should know beside the findings.

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


def _ignore(note: ReviewNote) -> None:
    """For callers that want findings only."""


class _ReviewJob(NamedTuple):
    """One text on its way."""

    source: ReviewSource
    language: str | None
    sieve: FindingFilter


_Lane: TypeAlias = asyncio.Queue["_ReviewJob | None"]


class _Review:
    """One review, from the first text to the last finding."""

    def __init__(self, settings: ReviewSettings, out: asyncio.Queue[Finding | None], note: Tell) -> None:
        self._settings = settings
        self._out = out
        self._note = note
        self._known: Counter[str] = settings.baseline.counter() if settings.baseline else Counter()
        self._ruff = find_ruff() if settings.use_ruff else None
        self._oxlint = find_oxlint() if settings.use_oxlint else None
        self._rules = all_rules(settings.rules)

    async def run(self, sources: Sources) -> None:
        """Review everything, and tell the reader when it is over."""
        try:
            async with asyncio.TaskGroup() as group:
                texts, scripts = _lane(), _lane()
                group.create_task(self._feed(sources, texts, scripts))
                for _ in range(self._settings.concurrency):
                    group.create_task(self._look_through(texts))
                group.create_task(self._lint_scripts(scripts))
        except ExceptionGroup as failed:
            # The caller's sources raised; the group around it says nothing more.
            await self._out.put(None)
            raise failed.exceptions[0] from None
        # Not when cancelled: then nobody reads any more, and this would wait for ever.
        await self._out.put(None)

    async def _feed(self, sources: Sources, texts: _Lane, scripts: _Lane) -> None:
        async for source in _each(sources):
            job = self._job(source)
            if job is None:
                continue
            await self._emit(job.sieve.complaints())
            await texts.put(job)
            if job.language in _SCRIPTS and self._oxlint:
                await scripts.put(job)
        await texts.put(None)
        await scripts.put(None)

    def _job(self, source: ReviewSource) -> _ReviewJob | None:
        if len(source.text) > self._settings.largest:
            self._note(ReviewNote(source.path, f"not reviewed: {len(source.text)} characters are too many"))
            return None
        if "\0" in source.text:
            self._note(ReviewNote(source.path, "not reviewed: it is binary"))
            return None
        # A lone surrogate stands for a byte that was no text. It has no place in JSON, nor in any rule.
        source = source._replace(text=_SURROGATES.sub("\ufffd", source.text))
        language = language_of(source.path, source.text)
        return _ReviewJob(source, language, FindingFilter(source, language, self._settings, self._known))

    async def _look_through(self, lane: _Lane) -> None:
        inspector = Inspector(self._rules, deadline=self._settings.deadline)
        try:
            while (job := await lane.get()) is not None:
                await self._inspect(inspector, job, has_ruff=await self._ask_ruff(job))
                for note in job.sieve.notes():
                    self._note(note)
            await lane.put(None)  # for the next one
        finally:
            await inspector.aclose()

    async def _ask_ruff(self, job: _ReviewJob) -> bool:
        """Whether ruff has looked at this text. Where it fails, our own rules about Python step in."""
        if self._ruff is None or job.language != "python":
            return False
        path, text, _ = job.source
        try:
            found = await ruff_findings(self._ruff, path, text, deadline=self._settings.deadline)
        except ToolFailed as error:
            self._note(ReviewNote(path, str(error), is_failure=True))
            return False
        await self._emit(job.sieve.filter(found))
        return True

    async def _inspect(self, inspector: Inspector, job: _ReviewJob, *, has_ruff: bool) -> None:
        path, text, _ = job.source
        try:
            answer = await inspector.inspect(path, text, has_ruff=has_ruff)
        except ToolFailed as error:
            self._note(ReviewNote(path, str(error), is_failure=True))
            return
        await self._emit(job.sieve.filter(answer.findings))
        for failure in answer.failures:
            self._note(ReviewNote(path, failure, is_failure=True))

    async def _lint_scripts(self, lane: _Lane) -> None:
        """Give oxlint what is waiting, all at once: it is fast, but starting it takes time."""
        is_over = False
        while not is_over:
            jobs = [await lane.get()]
            while not lane.empty():
                jobs.append(lane.get_nowait())
            is_over = None in jobs
            await self._lint([job for job in jobs if job is not None])

    async def _lint(self, jobs: list[_ReviewJob]) -> None:
        if not jobs or self._oxlint is None:
            return
        sources = [job.source for job in jobs]
        try:
            found = await oxlint_findings(self._oxlint, sources, deadline=self._settings.deadline)
        except ToolFailed as error:
            self._note(ReviewNote(None, str(error), is_failure=True))
            return
        sieves = {job.source.path: job.sieve for job in jobs}
        for path, sieve in sieves.items():
            await self._emit(sieve.filter(finding for finding in found if finding.path == path))

    async def _emit(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            await self._out.put(finding)


def _lane() -> _Lane:
    return asyncio.Queue(_WAITING)


async def _each(sources: Sources) -> AsyncIterator[ReviewSource]:
    if isinstance(sources, AsyncIterable):
        async for source in sources:
            yield ReviewSource(*source)
    else:
        for source in sources:
            yield ReviewSource(*source)
