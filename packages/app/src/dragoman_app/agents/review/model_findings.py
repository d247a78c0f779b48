"""The findings that a model reports. Each is checked on arrival: its quoted lines must be in the file, it
must not repeat a known finding, and the text after its fix must parse and pass our rules. Reports of one
cause become one finding that names all places.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools import edit_match
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome
from dragoman_app.agents.review.model_proof import ModelTest
from dragoman_app.agents.review.review_texts import ReviewText, ReviewTexts
from dragoman_review import Edit, Finding, Fix, ReviewSettings, ReviewSource, Severity, language_of, review
from dragoman_review.finding import by_severity
from dragoman_review.git import changed_lines
from dragoman_review.structure import StructureFailed, syntax_errors
from dragoman_review.text_edits import TextLines

RULE = "model/finding"
TOOL = "model"

ALSO = "Other places of the same cause:"

MOST = 50
"""The most findings of one review. A model that reports more lists everything it sees."""

_NUMBER = re.compile(r"^\s*\d+\t")
_WORD = re.compile(r"[a-z][a-z0-9_]{3,}")
_COMMON = frozenset(
    {"with", "from", "that", "this", "possible", "when", "without", "into", "value", "used", "call", "called"}
)
"""Words of titles that say nothing about what is wrong."""


class ReportArguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file")]
    line: Annotated[int, Meta(ge=1, description="The line, counted from 1")]
    severity: Literal["critical", "high", "medium", "low", "info"]
    title: Annotated[str, Meta(min_length=3, max_length=200, description="What is wrong, in a few words")]
    explanation: Annotated[
        str, Meta(min_length=3, max_length=4000, description="What goes wrong, for which input, and why")
    ]
    evidence: Annotated[
        str, Meta(min_length=1, max_length=4000, description="The lines that prove it, copied from the file")
    ]
    also: Annotated[
        list[Annotated[str, Meta(max_length=300)]],
        Meta(max_length=20, description="Other places of the same cause, as path:line"),
    ] = msgspec.field(default_factory=list)
    test_path: Annotated[str, Meta(max_length=300, description="A new file for `test`")] = ""
    test: Annotated[
        str, Meta(max_length=20_000, description="A test that fails because of the bug, as a whole file")
    ] = ""
    fix_old: Annotated[str, Meta(max_length=20_000, description="Lines that a fix replaces, exactly")] = ""
    fix_new: Annotated[str, Meta(max_length=20_000, description="The lines in their place")] = ""


class ModelFindings:
    """The model's reports in one review."""

    def __init__(
        self, texts: ReviewTexts, known_findings: Sequence[Finding], settings: ReviewSettings
    ) -> None:
        self._texts = texts
        self._known_findings = known_findings
        self._settings = settings
        self._turns = asyncio.Lock()
        """Reports that come at once are taken one after another, so that none is taken twice."""
        self.reported_findings: list[Finding] = []
        self.tests: dict[FindingKey, ModelTest] = {}
        """What the model wrote to show findings, by `key_of`."""
        self.dropped_fixes = 0

    def worst_first(self) -> list[Finding]:
        """The findings, the worst first."""
        return sorted(self.reported_findings, key=by_severity)

    async def report(self, work: ToolContext, arguments: ReportArguments) -> ToolOutcome:
        async with self._turns:
            return await self._report(arguments)

    async def _report(self, arguments: ReportArguments) -> ToolOutcome:
        text = await self._texts.load(arguments.path)
        finding = self._finding(text, arguments)
        if places := [place for place in arguments.also if await self._exists(place)]:
            finding = replace(finding, why=f"{finding.why}\n\n{ALSO} {', '.join(places)}.")
        if not finding.severity.is_at_least(self._settings.severity):
            return ToolOutcome(
                f"Not taken: only findings from {self._settings.severity.value} on are wanted."
            )
        if known_finding := same_finding(finding, self._known_findings):
            return ToolOutcome(
                f"Known already: {known_finding.rule} reports it in line {known_finding.line}."
            )
        before = same_finding(finding, self.reported_findings)
        if before is None and (other := same_cause(finding, self.reported_findings)) is not None:
            at = self.reported_findings.index(other)
            self.reported_findings[at] = merge(other, finding)
            return ToolOutcome(f"Known already: it is named as another place of {other.path}:{other.line}.")
        if before is None and len(self.reported_findings) >= MOST:
            return ToolOutcome(f"Not taken: there are {MOST} findings already.")
        if before is not None and (before.fix is not None or not arguments.fix_old):
            return ToolOutcome("Known already: you have reported it.")
        fix, why = await self._fix(text, arguments) if arguments.fix_old else (None, None)
        if before is not None:
            self.reported_findings.remove(before)
        self.reported_findings.append(replace(finding, fix=fix))
        if arguments.test and arguments.test_path:
            self.tests[key_of(finding)] = ModelTest(arguments.test_path, arguments.test)
        words = f"Taken: {finding.path}:{finding.line}."
        return ToolOutcome(words if why is None else f"{words} Its fix is dropped: {why}")

    async def _exists(self, place: str) -> bool:
        path, _, line = place.rpartition(":")
        try:
            return 1 <= int(line) <= len(TextLines((await self._texts.load(path)).text))
        except (ToolProblem, ValueError):
            return False

    async def _fix(self, text: ReviewText, arguments: ReportArguments) -> tuple[Fix | None, str | None]:
        after = text.text
        try:
            after = edit_match.replace(text.text, arguments.fix_old, arguments.fix_new).text
            why = await fix_problem(text.display_path, text.text, after, self._settings)
        except ToolProblem as problem:
            why = str(problem)
        if why is not None:
            self.dropped_fixes += 1
            return None, why
        edit = smallest_edit(text.text, after)
        return Fix(title=f"as proposed for: {arguments.title}", edits=(edit,), safe=False), None

    def _finding(self, text: ReviewText, arguments: ReportArguments) -> Finding:
        first, last = quoted_lines(text.masked_text, arguments.evidence, near=arguments.line) or (0, 0)
        if not first:
            raise ToolProblem(
                f"The evidence is not in {text.display_path}. Read the file, and copy the lines exactly."
            )
        lines = TextLines(text.text)
        start, end = lines.offset(first, 1), lines.offset(last, len(lines.line(last)) + 1)
        return Finding(
            rule=RULE,
            severity=Severity(arguments.severity),
            place=lines.place(text.display_path, start, end),
            title=" ".join(arguments.title.split()),
            why=arguments.explanation.strip(),
            tool=TOOL,
        )

    def tool(self) -> CoderTool[ReportArguments]:
        return CoderTool(
            name="report",
            description="Report a bug that you have made sure of. `evidence` is copied from the file; a fix "
            "is given as the lines that it replaces and the lines in their place; a test as a new file.",
            arguments=ReportArguments,
            kind="other",
            title=lambda arguments: f"Report {arguments.title} ({arguments.path}:{arguments.line})",
            path=lambda arguments: arguments.path,
            run=self.report,
        )


FindingKey: TypeAlias = tuple[str, int, str]


def key_of(finding: Finding) -> FindingKey:
    """Return a key of a finding that stays the same when notes are added."""
    return finding.path, finding.line, finding.title


def merge(finding: Finding, other: Finding) -> Finding:
    """Merge two findings of the same cause: the result has the higher severity."""
    worse = min(finding.severity, other.severity, key=lambda severity: severity.rank)
    why = f"{finding.why}\n\n{ALSO} {other.path}:{other.line}."
    return replace(finding, severity=worse, why=why)


def quoted_lines(text: str, quote: str, *, near: int) -> tuple[int, int] | None:
    """Return the first and last line of the place with these lines nearest to `near`; None if there is none.

    Indentation and empty lines do not count, and neither do the numbers that `read` puts before lines.
    """
    quote_lines = [line for row in quote.split("\n") if (line := _NUMBER.sub("", row).strip())]
    rows = [(at, line.strip()) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    places = [
        (rows[at][0], rows[at + len(quote_lines) - 1][0])
        for at in range(len(rows) - len(quote_lines) + 1)
        if quote_lines and all(rows[at + by][1] == line for by, line in enumerate(quote_lines))
    ]
    return min(places, key=lambda place: abs(place[0] - near), default=None)


def same_finding(finding: Finding, other_findings: Sequence[Finding]) -> Finding | None:
    """Return another finding about the same lines whose title shares a significant word."""
    lines = frozenset(range(finding.line, finding.place.end_line + 1))
    words = _words(finding.title)
    for candidate in other_findings:
        if (
            candidate.path == finding.path
            and candidate.place.touches(lines)
            and words & _words(candidate.title)
        ):
            return candidate
    return None


def same_cause(finding: Finding, other_findings: Sequence[Finding]) -> Finding | None:
    """Return another finding about other lines whose title has the same significant words."""
    words = _words(finding.title)
    return next((other for other in other_findings if words and words == _words(other.title)), None)


def _words(title: str) -> frozenset[str]:
    return frozenset(_WORD.findall(title.lower())) - _COMMON


def smallest_edit(before: str, after: str) -> Edit:
    """Return the smallest edit that turns one text into the other."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return Edit(start, len(before) - end, after[start : len(after) - end])


# Checks a fix that a model proposes before anybody sees it: the text must still parse, and our rules must
# find nothing in it that they did not find before.

_BEFORE, _AFTER = "before/", "after/"


async def fix_problem(path: str, before: str, after: str, settings: ReviewSettings) -> str | None:
    """Return the reason why a fix must not be shown; None if there is none."""
    language = language_of(path, before)
    problem = await asyncio.to_thread(_syntax_problem, language, before, after)
    return problem or await _rule_problem(path, before, after, settings)


def _syntax_problem(language: str | None, before: str, after: str) -> str | None:
    if language == "python":
        return None if _parses(after) or not _parses(before) else "the file does not parse after it"
    try:
        old, new = syntax_errors(before, language), syntax_errors(after, language)
    except StructureFailed:
        return "the file cannot be parsed after it"
    # A grammar may not know a new word of its language, so errors that were there before do not count.
    return "the file does not parse after it" if new is not None and new > (old or 0) else None


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


async def _rule_problem(path: str, before: str, after: str, settings: ReviewSettings) -> str | None:
    # A fix must not silence what would complain about it.
    new_lines = await asyncio.to_thread(changed_lines, before, after)
    sources = [
        ReviewSource(_BEFORE + path, before),
        ReviewSource(_AFTER + path, after, untrusted_lines=new_lines),
    ]
    counts: dict[str, Counter[str]] = {_BEFORE: Counter(), _AFTER: Counter()}
    review_stream = review(sources, replace(settings, baseline=None))
    async with contextlib.aclosing(review_stream):
        async for finding in review_stream:
            side = _BEFORE if finding.path.startswith(_BEFORE) else _AFTER
            counts[side][finding.rule] += 1
    new_rules = counts[_AFTER] - counts[_BEFORE]
    return f"the rule {next(iter(new_rules))} complains about it" if new_rules else None
