"""The third step of a review: tools judge, each shown as a tool call, and findings are gathered."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from typing import NamedTuple

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.markdown import count_of, finding_line
from dragoman_app.agents.review.review_texts import ReviewTexts
from dragoman_app.agents.review.source_reader import ReviewInput
from dragoman_app.agents.review.target_choice import LOCATIONS
from dragoman_review import Finding, ReviewNote, ReviewSettings, language_of, review
from dragoman_review.finding import by_severity
from dragoman_review.places import find_oxlint, find_ruff
from dragoman_review.structure import GRAMMARS, is_available

OWN = "dragoman"

_SCRIPTS = frozenset({"javascript", "typescript", "tsx"})


class AnalysisTool(NamedTuple):
    """Something that judges."""

    name: str
    title: str
    kind: v1.ToolKind


def tools_for(languages: Sequence[str | None]) -> list[AnalysisTool]:
    """Who has something to say about texts in these languages."""
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
    """What was found so far; complete when `run` has returned, partial when it was cancelled."""

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
        """One more. Raises a `ToolProblem` if it is about a text that cannot be read."""
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
