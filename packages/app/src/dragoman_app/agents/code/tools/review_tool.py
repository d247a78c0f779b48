"""The tool that reviews files with the rules of `dragoman review`.

It reads as the other tools do, so that an editor's unsaved text is what is reviewed. No line of the file is
told: a model that wants to see them reads them.
"""

from __future__ import annotations

import contextlib
from typing import Annotated

from msgspec import Meta, Struct

from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools.read_tools import admit_path
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome
from dragoman_review.finding import Finding, Severity, by_severity
from dragoman_review.source import ReviewNote, ReviewSource

FILES = 20
"""The most files of one call: for a whole folder, the model could not read the answer."""

FINDINGS = 60
LONGEST = 2_000_000
"""The most lines to read of one file: all of them."""


class ReviewArguments(Struct, forbid_unknown_fields=True):
    paths: Annotated[
        list[str],
        Meta(min_length=1, max_length=FILES, description="The files to review, such as those just changed"),
    ]


async def review_files(work: ToolContext, arguments: ReviewArguments) -> ToolOutcome:
    sources: list[ReviewSource] = []
    for path in arguments.paths:
        full_path = await admit_path(work, path)
        try:
            text = await work.places.read(full_path, line=1, limit=LONGEST)
        except ToolProblem as error:
            raise ToolProblem(f"{path}: {error}") from None
        sources.append(ReviewSource(work.places.display(full_path), text))
    return ToolOutcome(await judge_sources(sources))


async def judge_sources(sources: list[ReviewSource]) -> str:
    """Return the findings of our rules as text for a model. Raises a `ToolProblem` if a tool failed."""
    # Not at the top: tools are named before the coder is initialized, and the engine takes a while to load.
    from dragoman_review import ReviewSettings, review

    notes: list[ReviewNote] = []
    review_stream = review(sources, ReviewSettings(severity=Severity.LOW), note=notes.append)
    async with contextlib.aclosing(review_stream):
        findings = sorted([finding async for finding in review_stream], key=by_severity)
    if failures := [note for note in notes if note.is_failure and note.path is None]:
        raise ToolProblem(f"The review is incomplete: {failures[0].text}")
    return format_findings(findings, notes)


def format_findings(findings: list[Finding], notes: list[ReviewNote]) -> str:
    """Return one line for each finding, the worst first, in the format of compilers."""
    lines = [
        f"{finding.path}:{finding.line}: {finding.severity.value}: {finding.title} ({finding.rule}). "
        f"{finding.why}"
        for finding in findings[:FINDINGS]
    ]
    if len(findings) > FINDINGS:
        lines.append(f"(and {len(findings) - FINDINGS} more)")
    lines += [f"{note.path}: {note.text}" for note in notes if note.path is not None]
    return "\n".join(lines) or "(nothing found)"


REVIEWING = (
    CoderTool(
        name="review",
        description="Review files with static rules (bugs, security, leaks, missing await): place, "
        "severity and reason of "
        "each finding. Use it on what you changed before you say that you are done.",
        arguments=ReviewArguments,
        kind="search",
        title=lambda arguments: (
            f"Review {', '.join(arguments.paths[:3])}{' …' if len(arguments.paths) > 3 else ''}"
        ),
        path=lambda arguments: arguments.paths[0],
        run=review_files,
        may_ask=True,
    ),
)
