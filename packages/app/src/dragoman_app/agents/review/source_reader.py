"""The second step of a review: read the chosen files, a few at a time, the client's version first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from dragoman import KitTurn
from dragoman.schema import v1
from dragoman_app.agents.review.conversation import ReviewConversation
from dragoman_app.agents.review.files import TurnFiles, UnreadFile
from dragoman_app.agents.review.git_targets import INDEX, lines_of, text_in_index
from dragoman_app.agents.review.markdown import count_of
from dragoman_app.agents.review.target_choice import LOCATIONS
from dragoman_app.agents.review.targets import ReviewTarget
from dragoman_review.source import ReviewSource

AT_ONCE = 8
"""The simultaneous reads: an editor answers them one by one anyway."""


class ReviewInput(NamedTuple):
    """Texts with their places, and unreadable files."""

    sources: tuple[ReviewSource, ...]
    paths: dict[str, str | None]
    notes: tuple[str, ...]


async def read_sources(turn: KitTurn[ReviewConversation], targets: Sequence[ReviewTarget]) -> ReviewInput:
    """Read everything. Unreadable files are reported and left out."""
    places = [v1.ToolCallLocation(path=target.path) for target in targets if target.path]
    title = f"Read {targets[0].display_path}" if len(targets) == 1 else f"Read {len(targets)} files"
    async with turn.tool(title, name="read_files", kind="read", locations=places[:LOCATIONS]) as call:
        review_input = await _read(turn, targets)
        count = sum(source.text.count("\n") + 1 for source in review_input.sources)
        summary = f"{count_of(len(review_input.sources), 'file')}, {count_of(count, 'line')}"
        status: v1.ToolCallStatus = "completed" if review_input.sources else "failed"
        await call.progress(status=status, content=["\n".join([summary, *review_input.notes])])
    return review_input


async def _read(turn: KitTurn[ReviewConversation], targets: Sequence[ReviewTarget]) -> ReviewInput:
    reader = _SourceReader(turn)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(reader.read(target)) for target in targets]
    sources: list[ReviewSource] = []
    notes: list[str] = []
    for target, task in zip(targets, tasks, strict=True):
        source = task.result()
        if isinstance(source, UnreadFile):
            notes.append(f"{target.display_path}: not reviewed: {source.why}")
        else:
            sources.append(source)
    return ReviewInput(tuple(sources), {target.display_path: target.path for target in targets}, tuple(notes))


class _SourceReader:
    def __init__(self, turn: KitTurn[ReviewConversation]) -> None:
        self._files = TurnFiles(turn)
        self._is_whole = turn.session["scope"] == "whole"
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def read(self, target: ReviewTarget) -> ReviewSource | UnreadFile:
        async with self._slots:
            text = await self._text(target)
            if isinstance(text, UnreadFile):
                return text
            lines = await self._lines(target, text)
            if target.base is None:
                return ReviewSource(target.display_path, text, lines)
            untrusted_lines = frozenset() if target.base.is_trusted else lines
            return ReviewSource(target.display_path, text, None if self._is_whole else lines, untrusted_lines)

    async def _text(self, target: ReviewTarget) -> str | UnreadFile:
        if target.text is not None:
            return target.text
        if target.base is not None and target.base.revision == INDEX:
            text = await text_in_index(target.base)
            return UnreadFile("it is not text") if text is None else text
        assert target.path is not None
        return await self._files.read(target.path)

    async def _lines(self, target: ReviewTarget, text: str) -> frozenset[int] | None:
        if target.base is None or target.lines is None or target.path is None:
            return target.lines
        if target.base.revision == INDEX:
            return target.lines
        # Git knows the disk. What an editor has not saved yet is compared by ourselves.
        return (
            target.lines
            if await self._files.read_own(target.path) == text
            else await lines_of(target.base, text)
        )
