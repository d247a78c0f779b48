"""Tools for the model in a review: files, references and callers, findings of rules, history, tests.

Nothing here changes the project, and all that it returns has its secrets masked.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools.read_tools import CHARACTERS, ReadArguments, number_lines
from dragoman_app.agents.code.tools.review_tool import ReviewArguments, judge_sources
from dragoman_app.agents.code.tools.search_tool import SearchArguments, search
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome
from dragoman_app.agents.review.project_tests import ProjectTests, SuiteNotRun
from dragoman_app.agents.review.review_texts import ReviewTexts
from dragoman_review.git import blame, find_top, log
from dragoman_review.programs import ToolFailed
from dragoman_review.source import ReviewSource
from dragoman_review.text_edits import TextLines

T = TypeVar("T")

WIDTH = 300
"""The most characters of a line that is shown as a reference."""

TEST_OUTPUT = 8_000
"""The most characters of the tests' output for the model, from the end."""

BLAMED = 200
"""The most lines of one look at the history."""

_MATCH = re.compile(r"^(.+?):(\d+):")


class ReferenceArguments(Struct, forbid_unknown_fields=True):
    name: Annotated[
        str,
        Meta(pattern=r"^[\w.]+$", max_length=200, description="A function, class, variable or attribute"),
    ]
    path: Annotated[str, Meta(description="The file or folder to search; everything if not given")] = "."


class CallerArguments(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern=r"^\w+$", max_length=200, description="A function, method or class")]


class FileArguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file")]


class SuiteArguments(Struct, forbid_unknown_fields=True):
    """No arguments: the tests run as the project runs them."""


class HistoryArguments(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file")]
    line: Annotated[int, Meta(ge=1, description="The first line, counted from 1")]
    end_line: Annotated[int, Meta(ge=1, description="The last line")]


_DEFINITION = (
    r"\b(?:def|class|func|fn|fun|function|interface|struct|type|trait|void|async)\b[^=(]*\b{}\s*[(<:]"
)
_IS_TEST = re.compile(r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)\.\w+$")
"""Paths of tests, as the tools of most languages find them."""


def show_lines(text: str, arguments: ReadArguments) -> ToolOutcome:
    """Return the requested lines with their numbers."""
    lines = text.removesuffix("\n").split("\n") if text else []
    # One more than wanted tells whether there is more.
    rows = [f"{line}\n" for line in lines[arguments.line - 1 : arguments.line + arguments.limit]]
    return ToolOutcome(number_lines("".join(rows), first=arguments.line, limit=arguments.limit))


async def ask_git(answer: Awaitable[T]) -> T:
    """Return git's answer; if git fails, the model gets the error."""
    try:
        return await answer
    except ToolFailed as error:
        raise ToolProblem(str(error)) from None


class ReviewTools:
    """The reading tools."""

    def __init__(self, texts: ReviewTexts, tests: ProjectTests | None) -> None:
        self._texts = texts
        self._tests = tests

    async def read(self, work: ToolContext, arguments: ReadArguments) -> ToolOutcome:
        return show_lines((await self._texts.load(arguments.path)).masked_text, arguments)

    async def references(self, work: ToolContext, arguments: ReferenceArguments) -> ToolOutcome:
        pattern = rf"\b{re.escape(arguments.name)}\b"
        return await self.search(work, SearchArguments(pattern=pattern, path=arguments.path))

    async def callers(self, work: ToolContext, arguments: CallerArguments) -> ToolOutcome:
        name = re.escape(arguments.name)
        outcome = await self.search(work, SearchArguments(pattern=rf"\b{name}\b"))
        rows = [(match, row) for row in outcome.text.splitlines() if (match := _MATCH.match(row))]
        definition, call = re.compile(_DEFINITION.format(name)), re.compile(rf"\b{name}\s*\(")
        tests = [row for match, row in rows if _IS_TEST.search(match[1])]
        calls = [
            row
            for match, row in rows
            if row not in tests and call.search(row, match.end()) and not definition.search(row, match.end())
        ]
        parts = {"Calls": calls, "Tests that mention it": tests}
        return ToolOutcome(
            "\n\n".join("\n".join([f"{head}:", *(found or ["(none)"])]) for head, found in parts.items())
        )

    async def search(self, work: ToolContext, arguments: SearchArguments) -> ToolOutcome:
        outcome = await search(work, arguments)
        return ToolOutcome("\n".join([await self._mask_row(row) for row in outcome.text.splitlines()]))

    async def _mask_row(self, row: str) -> str:
        """A match, with its line as models may see it: alone, a line of a key looks like any other."""
        match = _MATCH.match(row)
        if match is None:
            return self._texts.mask(row)
        try:
            text = await self._texts.load(match[1])
        except ToolProblem:
            return f"{match[0]} (not shown)"
        return f"{match[0]} {TextLines(text.masked_text).line(int(match[2]))[:WIDTH]}"

    async def rules(self, work: ToolContext, arguments: ReviewArguments) -> ToolOutcome:
        texts = [await self._texts.load(path) for path in arguments.paths]
        return ToolOutcome(
            await judge_sources([ReviewSource(text.display_path, text.text) for text in texts])
        )

    async def history(self, work: ToolContext, arguments: HistoryArguments) -> ToolOutcome:
        text = await self._texts.load(arguments.path)
        last = min(max(arguments.end_line, arguments.line), arguments.line + BLAMED - 1)
        top, inside = await self._in_repository(arguments.path)
        commits = await ask_git(blame(top, inside, text.text, arguments.line, last))
        rows = []
        for line in range(arguments.line, min(last, len(TextLines(text.text))) + 1):
            commit = commits.get(line)
            rows.append(
                f"{line}: not committed yet"
                if commit is None
                else f"{line}: {commit.commit[:10]} {datetime.fromtimestamp(commit.seconds, UTC):%Y-%m-%d} "
                f"{commit.author}: {commit.subject}"
            )
        return ToolOutcome(self._texts.mask("\n".join(rows)) or "(no such lines)")

    async def log(self, work: ToolContext, arguments: FileArguments) -> ToolOutcome:
        top, inside = await self._in_repository(arguments.path)
        commits = await ask_git(log(top, inside))
        return ToolOutcome(self._texts.mask(commits)[:CHARACTERS] or "(no commits)")

    async def _in_repository(self, path: str) -> tuple[Path, str]:
        top = await find_top(Path(self._texts.folders.cwd))
        if top is None:
            raise ToolProblem("The file is in no git repository.")
        return top, (await self._texts.find_below(path, top))[1]

    async def tests(self, work: ToolContext, arguments: SuiteArguments) -> ToolOutcome:
        assert self._tests is not None
        try:
            ran = await self._tests.run(work.report)
        except SuiteNotRun as why:
            raise ToolProblem(f"The tests were not run: {why}.") from None
        name = self._tests.command.name
        return ToolOutcome(f"{name}: {ran.result}\n{self._texts.mask(ran.output)[-TEST_OUTPUT:]}")

    def all(self) -> Sequence[CoderTool[Any]]:
        return (
            *self._look_tools(),
            *(() if self._tests is None else (self._test_tool(self._tests.command.name),)),
        )

    def _test_tool(self, name: str) -> CoderTool[SuiteArguments]:
        return CoderTool(
            name="tests",
            description=f"Run the tests of the project as it is ({name}) in a copy, and see how they end.",
            arguments=SuiteArguments,
            kind="execute",
            title=lambda _: f"Run {name} in a copy of the project",
            run=self.tests,
            may_ask=True,
        )

    def _look_tools(self) -> Sequence[CoderTool[Any]]:
        return (
            CoderTool(
                name="read",
                description="Read lines of a text file. Each line comes after its number and a tab. Secrets "
                "are masked with asterisks.",
                arguments=ReadArguments,
                kind="read",
                title=lambda arguments: f"Read {arguments.path}",
                path=lambda arguments: arguments.path,
                run=self.read,
            ),
            CoderTool(
                name="references",
                description="Find where a name is used: path, line number and line of each place.",
                arguments=ReferenceArguments,
                kind="search",
                title=lambda arguments: f"Find references to {arguments.name}",
                run=self.references,
            ),
            CoderTool(
                name="search",
                description="Search for a regular expression: path, line number and line of each place.",
                arguments=SearchArguments,
                kind="search",
                title=lambda arguments: f"Search for {arguments.pattern}",
                run=self.search,
            ),
            CoderTool(
                name="callers",
                description="Find who calls a function, and which tests mention it.",
                arguments=CallerArguments,
                kind="search",
                title=lambda arguments: f"Find callers of {arguments.name}",
                run=self.callers,
            ),
            CoderTool(
                name="log",
                description="The last commits that changed a file (git log): date, author, message.",
                arguments=FileArguments,
                kind="search",
                title=lambda arguments: f"Commits of {arguments.path}",
                path=lambda arguments: arguments.path,
                run=self.log,
            ),
            CoderTool(
                name="rules",
                description="Run static rules on files: place, severity and reason of each finding.",
                arguments=ReviewArguments,
                kind="search",
                title=lambda arguments: f"Run the rules on {', '.join(arguments.paths[:3])}",
                path=lambda arguments: arguments.paths[0],
                run=self.rules,
            ),
            CoderTool(
                name="history",
                description="Which commit each of some lines comes from (git blame): date, author, subject.",
                arguments=HistoryArguments,
                kind="search",
                title=lambda arguments: f"History of {arguments.path}:{arguments.line}",
                path=lambda arguments: arguments.path,
                run=self.history,
            ),
        )
