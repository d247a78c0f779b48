"""The texts for `dragoman review`: files, folders, standard input, or changes from git.

Texts are read as the review asks for them, and kept, because findings are shown with their lines and fixes
are written over exactly what was read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from dragoman_app.cli.review_files import ReviewFile, short_path
from dragoman_review import ReviewNote, ReviewSource
from dragoman_review import git as repository
from dragoman_review.source_files import SourceText, decode, is_worth_it, read_text


class ReviewSources:
    """The texts of one run."""

    def __init__(self, note: Callable[[ReviewNote], None]) -> None:
        self.texts: dict[str, SourceText] = {}
        """Everything that was read, by the path that findings have."""
        self.paths: dict[str, Path] = {}
        """Where it can be written; nothing for what is not on the disk."""
        self.changed_lines: dict[str, frozenset[int]] = {}
        """Of files of which only some lines are reviewed: those lines."""
        self.untrusted_lines: dict[str, frozenset[int] | None] = {}
        """Of files of a change that is reviewed against a base: lines that must not silence a rule."""
        self._note = note

    async def files(self, files: Iterable[ReviewFile]) -> AsyncIterator[ReviewSource]:
        """Return files that were read already."""
        for file in files:
            source = self._keep(file.name, file.content)
            if source is not None and file.path is not None:
                self.paths[file.name] = file.path
            if source is not None:
                yield source

    async def changed_files(
        self, changes: repository.GitChanges, *, whole: bool
    ) -> AsyncIterator[ReviewSource]:
        """Return files from the disk, with the changed lines."""
        for file in changes.files:
            path = changes.top / file.path
            is_wanted = is_worth_it(file.path, is_trusted=changes.judge is None)
            if is_wanted and not path.is_symlink():
                source = await self._read(path, is_trusted=changes.judge is None)
                if source is not None:
                    yield self._narrow(source, changes, file, whole=whole)

    async def staged_files(
        self, changes: repository.GitChanges, *, whole: bool
    ) -> AsyncIterator[ReviewSource]:
        """Return files from the index."""
        for file in changes.files:
            data = await repository.text_at(changes.top, ":0", file.path) if is_worth_it(file.path) else None
            if data is None:
                continue
            name = short_path(changes.top / file.path)
            source = self._keep(name, decode(data) or ReviewNote(name, "not reviewed: it is not text"))
            if source is not None:
                yield self._narrow(source, changes, file, whole=whole)

    def _narrow(
        self,
        source: ReviewSource,
        changes: repository.GitChanges,
        file: repository.GitChangedFile,
        *,
        whole: bool,
    ) -> ReviewSource:
        lines = None if whole else file.lines
        if lines is not None:
            self.changed_lines[source.path] = lines
        self.untrusted_lines[source.path] = changes.untrusted_lines(file)
        return source._replace(changed_lines=lines, untrusted_lines=changes.untrusted_lines(file))

    async def _read(self, path: Path, *, is_trusted: bool) -> ReviewSource | None:
        """Nothing if it is not there: git lists what was deleted, too."""
        if not await asyncio.to_thread(path.exists):
            return None
        name = short_path(path)
        self.paths[name] = path
        return self._keep(name, await asyncio.to_thread(read_text, path, is_trusted=is_trusted))

    def _keep(self, name: str, read: SourceText | ReviewNote) -> ReviewSource | None:
        if isinstance(read, ReviewNote):
            self._note(read._replace(path=name))
            return None
        self.texts[name] = read
        return ReviewSource(name, read.text)
