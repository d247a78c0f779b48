"""The targets of a review: turns named paths, attachments and folders into a list of readable texts.

Folders are listed by ourselves, within the folders of the session only; whether a named file exists is left
to whoever reads it, because an editor may have one open that no disk has. What could not be found is told,
and the rest is reviewed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dragoman import KitSession
from dragoman.schema import v1
from dragoman_app.agents.review.mentions import Mention, Snippet, path_of, split_lines
from dragoman_review.git import GitChanges, list_files
from dragoman_review.source_files import files_below, is_worth_it

MOST = 5_000
"""The most files of one review. More would take minutes, and nobody could read the findings."""


class GitBase(NamedTuple):
    """An old version of a file, in git's terms."""

    top: Path
    revision: str | None
    path: str
    is_trusted: bool = True
    """False if it is part of a change that is reviewed against a base."""


class ReviewTarget(NamedTuple):
    """One text to review."""

    display_path: str
    """The name in findings: the path within the session's folder, if the file is in it."""
    path: str | None = None
    """The path of the file; None if the text is not a file."""
    text: str | None = None
    """The text, if it came with the prompt or from the index."""
    lines: frozenset[int] | None = None
    """The lines to report on; None for all."""
    base: GitBase | None = None


class ReviewTargets(NamedTuple):
    """The targets of one prompt."""

    what: str
    """A few words for titles."""
    targets: tuple[ReviewTarget, ...] = ()
    notes: tuple[str, ...] = ()
    """Files that were not found or not accepted."""
    words: str = ""
    """Text for the user before the review begins."""
    changes: GitChanges | None = None
    """The changes from git, if the prompt is about changes."""
    is_staged: bool = False


class SessionFolders:
    """The folders of one session."""

    def __init__(self, session: KitSession[Any]) -> None:
        self.cwd = session.cwd
        self._roots = [os.path.realpath(root) for root in session.roots]

    def absolute(self, path: str) -> str:
        """Return the absolute path of a user's path, seen from the session's folder."""
        return os.path.normpath(os.path.join(self.cwd, os.path.expanduser(path)))

    def relative(self, path: str) -> str:
        return os.path.relpath(self.absolute(path), self.cwd)

    def has(self, path: str) -> bool:
        return os.path.lexists(self.absolute(path))

    @staticmethod
    def is_folder(path: str) -> bool:
        return os.path.isdir(path)

    def display(self, path: str) -> str:
        """Return the shortest form of a path."""
        inside = os.path.relpath(path, self.cwd)
        short = path if inside.startswith("..") or os.path.isabs(inside) else inside
        return short.replace(os.sep, "/")

    def holds(self, path: str) -> bool:
        """Whether a path is in one of the folders, with links resolved."""
        real = os.path.realpath(path)
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in self._roots)

    async def files(self, folder: str) -> list[str]:
        """Return the files of a folder that are worth a review, preferably from git."""
        listed_files = await list_files(Path(folder))
        if listed_files is None:
            return await asyncio.to_thread(_below, folder)
        return await asyncio.to_thread(_worthy, listed_files)


def _below(folder: str) -> list[str]:
    return [str(path) for path, _ in zip(files_below(Path(folder)), range(MOST + 1), strict=False)]


def _worthy(paths: Iterable[Path]) -> list[str]:
    # Git also lists what was deleted, and links, which may lead anywhere.
    return [
        str(path) for path in paths if is_worth_it(path.name) and path.is_file() and not path.is_symlink()
    ]


class TargetCollector:
    """Collects the named targets, each once."""

    def __init__(self, ground: SessionFolders) -> None:
        self._ground = ground
        self._targets: dict[str, ReviewTarget] = {}
        self._notes: list[str] = []
        self._names: list[str] = []
        self._rest = 0

    def __bool__(self) -> bool:
        return bool(self._names or self._notes)

    def result(self) -> ReviewTargets:
        if self._rest:
            self._notes.append(f"{self._rest} more files are not reviewed: name a part of them")
        names = ", ".join(self._names[:3])
        more = len(self._names) - 3
        what = f"{names} and {more} more" if more > 0 else names
        return ReviewTargets(what, tuple(self._targets.values()), tuple(self._notes))

    def add_snippets(self, pieces: Iterable[Snippet]) -> None:
        for piece in pieces:
            self._add(ReviewTarget(piece.name, None, piece.text), piece.name)

    def add_attached(self, blocks: Sequence[v1.ContentBlock]) -> None:
        """Add texts and links of the prompt. An embedded text is reviewed as it was sent."""
        for block in blocks:
            match block:
                case v1.EmbeddedResource(resource=v1.TextResourceContents(uri=uri, text=text)):
                    self._add_embedded(uri, text)
                case v1.EmbeddedResource(resource=v1.BlobResourceContents(uri=uri)):
                    self._notes.append(f"{uri}: not reviewed: it is not text")
                case _:
                    pass  # links are named paths; words and pictures are none

    def _add_embedded(self, uri: str, text: str) -> None:
        mention = path_of(uri)
        if mention is None or not os.path.isabs(mention.path):
            self._add(ReviewTarget(uri.rpartition("/")[2] or uri, None, text), uri)
            return
        display_path = self._ground.display(mention.path)
        # A part of a file begins somewhere in it: its lines are not the file's, and its fixes fit nowhere.
        path = None if mention.lines else mention.path
        self._add(ReviewTarget(display_path, path, text), display_path)

    async def add_links(self, blocks: Sequence[v1.ContentBlock]) -> None:
        for block in blocks:
            if isinstance(block, v1.ResourceLink):
                mention = path_of(block.uri)
                if mention is None:
                    self._notes.append(f"{block.uri}: not reviewed: only files can be read")
                else:
                    await self._add_mention(mention)

    async def add_paths(self, paths: Iterable[str], *, is_sure: bool) -> None:
        for path in paths:
            mention = split_lines(path)
            if is_sure or self._ground.has(mention.path):
                await self._add_mention(mention)

    async def add_folder(self, folder: str, name: str) -> None:
        files = await self._ground.files(folder)
        self._names.append(name)
        for path in files:
            if len(self._targets) >= MOST:
                self._rest += 1
            else:
                self._put(ReviewTarget(self._ground.display(path), path))

    async def _add_mention(self, mention: Mention) -> None:
        path = self._ground.absolute(mention.path)
        display_path = self._ground.display(path)
        if self._ground.is_folder(path):
            if self._ground.holds(path):
                await self.add_folder(path, display_path)
            else:
                self._notes.append(f"{display_path}: not reviewed: it lies outside of this session's folders")
            return
        if "/" not in mention.path and not self._ground.has(mention.path):
            path = await self._by_name(mention.path) or path
            display_path = self._ground.display(path)
        lines = None if mention.lines is None else frozenset(range(mention.lines[0], mention.lines[1] + 1))
        self._add(ReviewTarget(display_path, path, None, lines), display_path)

    async def _by_name(self, name: str) -> str | None:
        """The one file of that name, wherever it lies."""
        matches = [
            path for path in await self._ground.files(self._ground.cwd) if os.path.basename(path) == name
        ]
        return matches[0] if len(matches) == 1 else None

    def _add(self, target: ReviewTarget, name: str) -> None:
        self._names.append(name)
        self._put(target)

    def _put(self, target: ReviewTarget) -> None:
        existing = self._targets.get(target.display_path)
        if existing is None or (existing.text is None and target.text is not None):
            self._targets[target.display_path] = target
