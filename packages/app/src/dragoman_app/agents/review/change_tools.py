"""Tools for the model to read a change: its diff, its commits, and files as they were before it.

All of it comes from whoever made the change. Secrets are masked, and everything has a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.text.diff import changed_lines
from dragoman.text.json_values import as_text
from dragoman_app.agents.code.permission import ToolProblem
from dragoman_app.agents.code.tools.read_tools import CHARACTERS, ReadArguments
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome
from dragoman_app.agents.review.model_tools import FileArguments, ask_git, show_lines
from dragoman_app.agents.review.review_texts import ReviewTexts
from dragoman_review.git import GitChanges, log, text_at
from dragoman_review.programs import ToolFailed
from dragoman_review.source import ReviewSource
from dragoman_review.source_files import decode

DIFF = 60_000
"""Characters of all diffs together in the first request; the rest can be asked for."""

COMMITS = 4_000
"""Characters of the messages of a change's commits."""

DELETED = 50
"""Deleted files that are named."""


class ChangeTools:
    """The change that is reviewed."""

    def __init__(self, texts: ReviewTexts, changes: GitChanges) -> None:
        self._texts = texts
        self._changes = changes

    async def describe(self, sources: Sequence[ReviewSource]) -> str:
        """The change for the first request: what its commits say, what is deleted, and the diff."""
        parts = [f"What its commits say:\n{commits}"] if (commits := await self._commits()) else []
        if deleted_paths := self._changes.deleted_paths:
            more = f"\n(and {len(deleted_paths) - DELETED} more)" if len(deleted_paths) > DELETED else ""
            parts.append("Deleted files:\n" + "\n".join(map(as_text, deleted_paths[:DELETED])) + more)
        left = DIFF
        for source in sources:
            try:
                diff = await self._diff(source.path)
            except ToolProblem:
                continue  # a model does not get it, or git cannot tell; its file is named all the same
            if len(diff) > left:
                diff = f"{source.path}: its diff is long; read it with `diff`."
            left -= len(diff)
            parts += [diff] if diff else []
        return "\n\n".join(parts)

    async def _commits(self) -> str:
        try:
            text = await log(self._changes.top, since=self._changes.base) if self._changes.base else ""
        except ToolFailed:
            return ""
        return self._texts.mask(text)[:COMMITS]

    async def before(self, work: ToolContext, arguments: ReadArguments) -> ToolOutcome:
        text = await self._text_before(arguments.path)
        if text is None:
            raise ToolProblem(f"{arguments.path} is not in the base.")
        return show_lines(text, arguments)

    async def diff(self, work: ToolContext, arguments: FileArguments) -> ToolOutcome:
        diff = await self._diff(arguments.path)
        return ToolOutcome(diff[:CHARACTERS] or "(nothing changed)")

    async def _diff(self, path: str) -> str:
        try:
            new = (await self._texts.load(path)).masked_text
        except ToolProblem:
            new = ""  # deleted; a file that may not be read fails below, too
        lines = changed_lines(await self._text_before(path), new)
        return "\n".join([f"--- {path} (base)", f"+++ {path}", *lines]) if lines else ""

    async def _text_before(self, path: str) -> str | None:
        display_path, inside = await self._texts.find_below(path, self._changes.top)
        top, base = self._changes.top, self._changes.base
        data = None if base is None else await ask_git(text_at(top, base, inside))
        text = None if data is None else decode(data)
        return None if text is None else self._texts.mask(text.text, path=display_path)

    def all(self) -> Sequence[CoderTool[Any]]:
        return (
            CoderTool(
                name="before",
                description="Read lines of a file as it was before the change, as `read` does.",
                arguments=ReadArguments,
                kind="read",
                title=lambda arguments: f"Read {arguments.path} as it was",
                path=lambda arguments: arguments.path,
                run=self.before,
            ),
            CoderTool(
                name="diff",
                description="See the diff of one file of the change, also of a deleted one.",
                arguments=FileArguments,
                kind="read",
                title=lambda arguments: f"Diff of {arguments.path}",
                path=lambda arguments: arguments.path,
                run=self.diff,
            ),
        )
