"""One review, from what was asked to the summary: choose, read, analyse, sum up, offer what can be mended.

Whatever was told is remembered, also when the review is cancelled in the middle: the numbers that a person
has seen stay good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from dragoman import KitTurn
from dragoman.agents.review.analysis import Analysis
from dragoman.agents.review.conversation import LastReview, ReviewConversation, ReviewedText
from dragoman.agents.review.explaining import explain, explains
from dragoman.agents.review.files import digest
from dragoman.agents.review.fixes import run_fixes
from dragoman.agents.review.intent import FixIntent, ReviewIntent
from dragoman.agents.review.markdown import count_of, summary
from dragoman.agents.review.mentions import Snippet
from dragoman.agents.review.source_reader import ReviewInput, read_sources
from dragoman.agents.review.steps import Steps
from dragoman.agents.review.target_choice import choose
from dragoman.review import BadBaseline, BadRule, Baseline, ReviewNote, ReviewSettings, Severity
from dragoman.review.catalogue import BASELINE, project_rules


async def run_review(
    turn: KitTurn[ReviewConversation], wanted: ReviewIntent, pieces: Sequence[Snippet] = ()
) -> None:
    """Review what is wanted, and mend it if that is wanted too."""
    mends = wanted.fix or turn.session.mode_id == "fix"
    asks = explains(turn)
    more = ["Explain the findings"] * asks + ["Offer the fixes"] * mends
    steps = Steps(turn, "Find what to review", "Read it", "Analyse it", "Sum up", *more)
    async with steps.step():
        targets = await choose(turn, wanted, pieces)
    if targets.words:
        await turn.say(f"{targets.words}\n\n")
    if not targets.found:
        await turn.say(_nothing(wanted, targets.notes))
        await steps.finish()
        return
    await _entitle(turn, targets.what)
    async with steps.step(f"Read {count_of(len(targets.found), 'file')}"):
        gathered = await read_sources(turn, targets.found)
    notes = [*targets.notes, *gathered.notes]
    if not gathered.sources:
        await turn.say(_nothing(wanted, notes))
        await steps.finish()
        return
    async with steps.step(f"Analyse {count_of(len(gathered.sources), 'file')}"):
        analysis = await _analysed(turn, gathered, targets.what)
    notes += [_noted(note) for note in analysis.notes]
    async with steps.step():
        await turn.say(summary(analysis.findings, len(gathered.sources), notes))
    if asks:
        async with steps.step():
            if analysis.findings:
                await explain(turn, analysis.findings, gathered.sources)
    if mends:
        async with steps.step():
            await _mend(turn, analysis)


async def _analysed(turn: KitTurn[ReviewConversation], gathered: ReviewInput, what: str) -> Analysis:
    analysis = Analysis(turn, gathered)
    try:
        await analysis.run(await _settings(turn, analysis))
    finally:
        _keep(turn, gathered, analysis, what)
    return analysis


def _keep(turn: KitTurn[ReviewConversation], gathered: ReviewInput, analysis: Analysis, what: str) -> None:
    paths = gathered.paths
    files = {
        source.path: ReviewedText(path=paths[source.path], digest=digest(source.text))
        for source in gathered.sources
    }
    turn.session.conversation.keep(LastReview(what=what, files=files, findings=list(analysis.findings)))


async def _settings(turn: KitTurn[ReviewConversation], analysis: Analysis) -> ReviewSettings:
    """As the session is set, with the rules and the baseline that the project brings."""
    root = Path(turn.session.cwd)
    settings = ReviewSettings(severity=Severity(str(turn.session["severity"])))
    try:
        rules = await asyncio.to_thread(project_rules, root)
        baseline = (
            await asyncio.to_thread(Baseline.read, root / BASELINE) if (root / BASELINE).is_file() else None
        )
    except (BadRule, BadBaseline) as error:
        analysis.notes.append(ReviewNote(None, f"the project's own rules are not used: {error}"))
        return settings
    return ReviewSettings(severity=settings.severity, rules=rules, baseline=baseline)


async def _mend(turn: KitTurn[ReviewConversation], analysis: Analysis) -> None:
    if any(finding.fix is not None and finding.fix.safe for finding in analysis.findings):
        await run_fixes(turn, FixIntent(), plans=False)


async def _entitle(turn: KitTurn[ReviewConversation], what: str) -> None:
    if not turn.session.session_title:
        title = f"Review of {what}"
        await turn.title(title if len(title) <= 80 else f"{title[:79]}…")


def _nothing(wanted: ReviewIntent, notes: Sequence[str]) -> str:
    if notes:
        told = "".join(f"- {note}\n" for note in notes)
        return f"There is nothing that I can review:\n\n{told}\nName files or folders, or attach some.\n"
    if wanted.changes == "staged":
        return "Nothing is staged. “review my changes” also looks at what is not.\n"
    if wanted.changes is not None:
        since = wanted.against or "the last commit"
        return f"Nothing has changed since {since}. Name files or folders to review them as they are.\n"
    return "There is nothing here to review. Name files or folders, or attach some.\n"


def _noted(note: ReviewNote) -> str:
    return note.text if note.path is None else f"{note.path}: {note.text}"
