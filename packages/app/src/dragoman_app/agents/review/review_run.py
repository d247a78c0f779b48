"""One review, from the request to the summary: choose, read, analyse, summarise, offer fixes.

Whatever was told is remembered, also when the review is cancelled in the middle: the numbers that a person
has seen stay good.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman_app.agents.code.config import BadConfig, CoderConfig, ModelEndpoint, endpoint
from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.review.conversation import LastReview, ReviewConversation
from dragoman_app.agents.review.fixes import run_fixes
from dragoman_app.agents.review.intent import FixIntent, ReviewIntent
from dragoman_app.agents.review.markdown import code_view, count_of, finding_line, finding_paragraph, summary
from dragoman_app.agents.review.mentions import Snippet
from dragoman_app.agents.review.review_texts import ReviewTexts
from dragoman_app.agents.review.source_reader import ReviewInput, read_sources
from dragoman_app.agents.review.steps import Steps
from dragoman_app.agents.review.target_choice import LOCATIONS, choose
from dragoman_app.agents.review.targets import ReviewTargets
from dragoman_review import (
    BadBaseline,
    BadRule,
    Finding,
    ReviewNote,
    ReviewSettings,
    Severity,
    ToolFailed,
    language_of,
    review,
)
from dragoman_review.base_files import BaseFiles
from dragoman_review.caller_search import broken_callers
from dragoman_review.finding import by_severity
from dragoman_review.places import find_oxlint, find_ruff
from dragoman_review.rule_links import rules_page
from dragoman_review.structure import GRAMMARS, is_available

if TYPE_CHECKING:
    from dragoman_app.agents.review.model_review import ModelReview

    ModelSetup: TypeAlias = Callable[[Sequence[Finding]], ModelReview]


async def run_review(
    turn: KitTurn[ReviewConversation], intent: ReviewIntent, pieces: Sequence[Snippet] = ()
) -> v1.StopReason:
    """Run a review, and fix findings if requested; return the stop reason."""
    mends = intent.fix or turn.session.mode_id == "fix"
    use = model_use(turn)
    steps = Steps(
        turn,
        *("Find what to review", "Read it", "Analyse it"),
        *(["Look for bugs with the model", "Verify what it found"] if use == "review" else []),
        "Sum up",
        *(["Explain the findings"] if use == "explain" else []),
        *(["Offer the fixes"] if mends else []),
    )
    async with steps.step():
        targets = await choose(turn, intent, pieces)
    if targets.words:
        await turn.say(f"{targets.words}\n\n")
    if not targets.targets:
        await turn.say(_nothing(intent, targets.notes))
        await steps.finish()
        return "end_turn"
    await _entitle(turn, targets.what)
    async with steps.step(f"Read {count_of(len(targets.targets), 'file')}"):
        review_input = await read_sources(turn, targets.targets)
    notes = [*targets.notes, *review_input.notes]
    if not review_input.sources:
        await turn.say(_nothing(intent, notes))
        await steps.finish()
        return "end_turn"
    run = ReviewRun(turn, review_input, targets, notes)
    try:
        await run.review(steps, use)
    finally:
        run.keep()
    if mends:
        async with steps.step():
            await _mend(turn, run.findings)
    return run.stop_reason


class ReviewRun:
    """The review of texts that were read: by rules, and by a model if requested."""

    def __init__(
        self,
        turn: KitTurn[ReviewConversation],
        review_input: ReviewInput,
        targets: ReviewTargets,
        notes: Sequence[str],
    ) -> None:
        self._turn = turn
        self._input = review_input
        self._targets = targets
        self._notes = list(notes)
        self._settings = ReviewSettings(severity=Severity(str(turn.session["severity"])))
        self._texts = ReviewTexts(turn, review_input, ())
        self._analysis = Analysis(turn, review_input, self._texts)
        self._model: ModelReview | None = None
        self.stop_reason: v1.StopReason = "end_turn"

    @property
    def findings(self) -> list[Finding]:
        """The findings in the order of the report: the worst first, then in the order of files."""
        by_model = [] if self._model is None else self._model.findings
        by_rules = sorted(self._analysis.findings, key=by_severity)
        # What the model found and verified comes before what rules say of the same severity.
        return sorted([*by_model, *by_rules], key=lambda finding: finding.severity.rank)

    async def review(self, steps: Steps, use: ModelUse) -> None:
        """Run everything but the fixes."""
        turn, count = self._turn, len(self._input.sources)
        await self._load_settings()
        model = await self._start_model() if use == "review" else None
        async with steps.step(f"Analyse {count_of(count, 'file')}"):
            await self._analyse()
        if use == "review":
            await self._look(steps, model)
        await self._tell_all()
        async with steps.step():
            await turn.say(summary(self.findings, count, self._notes))
        if use == "explain":
            async with steps.step():
                if self.findings:
                    await explain(turn, self.findings, self._texts)

    async def _analyse(self) -> None:
        self._analysis = Analysis(self._turn, self._input, self._texts)
        await self._analysis.run(self._settings)
        await self._find_broken_callers()
        self._notes += [
            note.text if note.path is None else f"{note.path}: {note.text}" for note in self._analysis.notes
        ]

    async def _find_broken_callers(self) -> None:
        """What a change breaks elsewhere. A caller that the editor does not give us is not told of."""
        changes, folder = self._targets.changes, Path(self._turn.session.cwd)
        if changes is None:
            return
        try:
            findings = await broken_callers(
                changes, folder, self._settings, is_staged=self._targets.is_staged
            )
        except ToolFailed as error:
            self._notes.append(f"callers of the changed code were not checked: {error}")
            return
        for finding in findings:
            with contextlib.suppress(ToolProblem):
                await self._analysis.add(finding)

    async def _look(self, steps: Steps, model: ModelSetup | None) -> None:
        """The model's part."""
        async with steps.step():
            if model is not None:
                self._model = model(self._analysis.findings)
                await self._model.look(self._input.sources)
        async with steps.step():
            if self._model is not None:
                await self._model.verify()
                self.stop_reason = self._model.stop_reason
                self._notes += self._model.notes

    async def _tell_all(self) -> None:
        """All findings when all are known: only then is it known which is the worst."""
        page = rules_page()
        for number, finding in enumerate(self.findings, 1):
            text = await self._texts.load_reviewed(finding.path)
            view = "" if self._model is None else code_view(finding, text.masked_text)
            await self._turn.say(
                finding_paragraph(number, finding, text.path, text.masked_text, evidence=view, page=page)
            )
        if self._model is not None:
            await self._turn.say(self._model.words())

    async def _start_model(self) -> ModelSetup | None:
        """What makes the model's review when the rules are done; None if the model cannot be asked."""
        config = self._turn.session.conversation.model
        assert config is not None
        endpoint = reach_model(config)
        if isinstance(endpoint, str):
            self._notes.append(f"{config.model} was not asked: {endpoint}")
            return None
        # It takes a second to import what talks to models.
        module: Any = await asyncio.to_thread(
            importlib.import_module, "dragoman_app.agents.review.model_review"
        )
        return lambda known_findings: module.ModelReview(
            self._turn,
            self._texts,
            known_findings,
            self._settings,
            endpoint=endpoint,
            changes=self._targets.changes,
        )

    async def _load_settings(self) -> None:
        """As the session is set, with the project's rules and baseline, or those of the base of a change."""
        root = Path(self._turn.session.cwd)
        try:
            with BaseFiles(root, self._targets.changes) as files:
                rules, baseline = await files.rules(), await files.baseline()
        except (BadRule, BadBaseline, ToolFailed) as error:
            self._notes.append(f"the project's own rules are not used: {error}")
            return
        self._settings = replace(self._settings, rules=rules, baseline=baseline)
        self._texts = ReviewTexts(self._turn, self._input, rules)

    def keep(self) -> None:
        """Store the reported findings in the session."""
        files = dict(self._texts.digests())
        self._turn.session.conversation.keep(
            LastReview(what=self._targets.what, files=files, findings=list(self.findings))
        )


async def _mend(turn: KitTurn[ReviewConversation], findings: Sequence[Finding]) -> None:
    if any(finding.fix is not None and finding.fix.safe for finding in findings):
        await run_fixes(turn, FixIntent(), plans=False)


async def _entitle(turn: KitTurn[ReviewConversation], what: str) -> None:
    if not turn.session.session_title:
        title = f"Review of {what}"
        await turn.title(title if len(title) <= 80 else f"{title[:79]}…")


def _nothing(intent: ReviewIntent, notes: Sequence[str]) -> str:
    if notes:
        notes_text = "".join(f"- {note}\n" for note in notes)
        return (
            f"There is nothing that I can review:\n\n{notes_text}\nName files or folders, or attach some.\n"
        )
    if intent.changes == "staged":
        return "Nothing is staged. “review my changes” also looks at what is not.\n"
    if intent.changes is not None:
        since = intent.against or "the last commit"
        return f"Nothing has changed since {since}. Name files or folders to review them as they are.\n"
    return "Nothing to review here. Name files or folders, or attach some.\n"


# Findings explained by a model, where one is configured: it is asked, and shown as a tool call.

ModelUse = Literal["review", "explain", "none"]


def model_use(turn: KitTurn[ReviewConversation]) -> ModelUse:
    """Return the use of the model in this session; nothing if there is none."""
    if turn.session.conversation.model is None:
        return "none"
    setting = turn.session["model_use"]
    return "review" if setting == "review" else "explain" if setting == "explain" else "none"


async def explain(turn: KitTurn[ReviewConversation], findings: Sequence[Finding], texts: ReviewTexts) -> None:
    """Have the model explain findings; if it does not, report that and continue."""
    config = turn.session.conversation.model
    assert config is not None
    endpoint = reach_model(config)
    name = config.model if isinstance(endpoint, str) else endpoint.model
    async with turn.tool(f"Ask {name} about {count_of(len(findings), 'finding')}", kind="think") as call:
        if isinstance(endpoint, str):
            why: str | None = endpoint
        else:
            # It takes a second to import what talks to models.
            module: Any = await asyncio.to_thread(importlib.import_module, "dragoman_app.agents.review.prose")
            masked_texts = await texts.mask_all(finding.path for finding in findings)
            why = await module.ModelExplanation(turn, endpoint, config).explain(findings, masked_texts)
        if why is not None:
            await call.fail(why)
            await turn.say(
                f"{name} did not explain the findings. {why} The findings are complete without that.\n"
            )


def reach_model(config: CoderConfig) -> ModelEndpoint | str:
    """Return how to reach the model, or why it can't be reached."""
    try:
        return endpoint(config, config.model or "")
    except BadConfig as error:
        return f"{error}."


# The third step of a review: tools judge, each shown as a tool call, and findings are gathered.

OWN = "dragoman"

_SCRIPTS = frozenset({"javascript", "typescript", "tsx"})


class AnalysisTool(NamedTuple):
    """A tool that finds problems."""

    name: str
    title: str
    kind: v1.ToolKind


def tools_for(languages: Sequence[str | None]) -> list[AnalysisTool]:
    """Return the tools for texts in these languages."""
    tools = [AnalysisTool(OWN, f"Built-in rules: {count_of(len(languages), 'file')}", "search")]
    python = sum(language == "python" for language in languages)
    scripts = sum(language in _SCRIPTS for language in languages)
    structural = sum(language in GRAMMARS for language in languages)
    if python and find_ruff():
        tools.append(AnalysisTool("ruff", f"ruff: {count_of(python, 'Python file')}", "execute"))
    if structural and is_available():
        tools.append(AnalysisTool("ast-grep", f"Structural rules: {count_of(structural, 'file')}", "search"))
    if scripts and find_oxlint():
        tools.append(AnalysisTool("oxlint", f"oxlint: {count_of(scripts, 'script')}", "execute"))
    return tools


class Analysis:
    """The findings so far; complete when `run` has returned, partial when it was cancelled."""

    def __init__(
        self,
        turn: KitTurn[ReviewConversation],
        review_input: ReviewInput,
        texts: ReviewTexts,
    ) -> None:
        self._texts = texts
        self._turn = turn
        self._input = review_input
        self.findings: list[Finding] = []
        self.notes: list[ReviewNote] = []

    async def run(self, settings: ReviewSettings) -> None:
        languages = [language_of(source.path, source.text) for source in self._input.sources]
        tools = tools_for(languages)
        async with AsyncExitStack() as stack:
            calls = [
                await stack.enter_async_context(self._turn.tool(tool.title, kind=tool.kind, name=tool.name))
                for tool in tools
            ]
            review_stream = review(self._input.sources, settings, note=self.notes.append)
            async with aclosing(review_stream):
                async for finding in review_stream:
                    await self.add(finding)
            for tool, call in zip(tools, calls, strict=True):
                owned = (finding for finding in self.findings if _owner(finding.tool, tools) == tool.name)
                here = sorted(owned, key=by_severity)
                await call.progress(
                    status="failed" if self._has_failed(tool, tools) else "completed",
                    content=self._content(here),
                    locations=self._places(here),
                )

    async def add(self, finding: Finding) -> None:
        """Add a finding. Raises a `ToolProblem` if its text can't be read."""
        await self._texts.load_reviewed(finding.path)
        self.findings.append(finding)

    def _content(self, findings: Sequence[Finding]) -> list[v1.ToolCallContent | str]:
        lines = [
            count_of(len(findings), "finding") if findings else "no findings",
            *map(finding_line, findings[:LOCATIONS]),
        ]
        return ["\n".join(lines)]  # the fixes are told with the findings: once is enough

    def _places(self, findings: Sequence[Finding]) -> list[v1.ToolCallLocation]:
        paths = self._input.paths
        return [
            v1.ToolCallLocation(path=path, line=finding.line)
            for finding in findings
            if (path := paths.get(finding.path))
        ][:LOCATIONS]

    def _has_failed(self, tool: AnalysisTool, tools: Sequence[AnalysisTool]) -> bool:
        names = [note.text.partition(":")[0] for note in self.notes if note.is_failure]
        return any(_owner(name, tools) == tool.name for name in names)


def _owner(name: str, tools: Sequence[AnalysisTool]) -> str:
    """Whose tool call tells this; what none of the others did, we did."""
    return name if any(tool.name == name for tool in tools) else OWN
