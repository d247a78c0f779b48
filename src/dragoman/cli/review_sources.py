"""What `dragoman review` looks at: files, folders, standard input, or what git says has changed.

Texts are read as the review asks for them, and kept, because findings are shown with their lines and fixes
are written over exactly what was read.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.review import ReviewNote, ReviewSource
from dragoman.review import git as repository
from dragoman.review.source_files import SourceText, decode, files_below, is_worth_it, read_text

AT_ONCE = 16
"""Files that are read before the first of them is reviewed."""


class NothingThere(LocalMistake):
    """A path on the command line does not exist."""


class ReviewSources:
    """The texts of one run."""

    def __init__(self, note: Callable[[ReviewNote], None]) -> None:
        self.texts: dict[str, SourceText] = {}
        """Everything that was read, by the path that findings have."""
        self.paths: dict[str, Path] = {}
        """Where it can be written; nothing for what is not on the disk."""
        self.changed_lines: dict[str, frozenset[int]] = {}
        """Of files of which only some lines are reviewed: those lines."""
        self._note = note

    async def files(self, names: Sequence[str], *, stdin_name: str) -> AsyncIterator[ReviewSource]:
        """Some files and folders. Raises `NothingThere`."""
        for name in names:
            if name == "-":
                data = await asyncio.to_thread(sys.stdin.buffer.read)
                source = self._keep(
                    stdin_name, decode(data) or ReviewNote(stdin_name, "not reviewed: it is no text")
                )
                if source is not None:
                    yield source
                continue
            for some in _batches(await _expand(Path(name))):
                for source in await self._read_all(some):
                    yield source

    async def changed_files(
        self, changes: repository.GitChanges, *, whole: bool
    ) -> AsyncIterator[ReviewSource]:
        """Files as they are on the disk, with the lines that changed."""
        for file in changes.files:
            path = changes.top / file.path
            if is_worth_it(file.path) and not path.is_symlink():
                for source in await self._read_all([path]):
                    yield self._narrow(source, None if whole else file.lines)

    async def staged_files(
        self, changes: repository.GitChanges, *, whole: bool
    ) -> AsyncIterator[ReviewSource]:
        """Files as they are in the index."""
        for file in changes.files:
            data = await repository.text_at(changes.top, ":0", file.path) if is_worth_it(file.path) else None
            if data is None:
                continue
            name = _short_path(changes.top / file.path)
            source = self._keep(name, decode(data) or ReviewNote(name, "not reviewed: it is no text"))
            if source is not None:
                yield self._narrow(source, None if whole else file.lines)

    def _narrow(self, source: ReviewSource, lines: frozenset[int] | None) -> ReviewSource:
        if lines is not None:
            self.changed_lines[source.path] = lines
        return source._replace(changed_lines=lines)

    async def _read_all(self, paths: Sequence[Path]) -> list[ReviewSource]:
        """Those that are there and were not read before; one thread reads all of them."""
        new_paths = {name: path for path in paths if (name := _short_path(path)) not in self.texts}
        sources: list[ReviewSource] = []
        for name, read in (await asyncio.to_thread(_read_texts, new_paths)).items():
            self.paths[name] = new_paths[name]
            if (source := self._keep(name, read)) is not None:
                sources.append(source)
        return sources

    def _keep(self, name: str, read: SourceText | ReviewNote) -> ReviewSource | None:
        if isinstance(read, ReviewNote):
            self._note(read._replace(path=name))
            return None
        self.texts[name] = read
        return ReviewSource(name, read.text)


def _read_texts(paths: Mapping[str, Path]) -> dict[str, SourceText | ReviewNote]:
    """Nothing of what is not there: git lists what was deleted, too."""
    return {name: read_text(path) for name, path in paths.items() if path.exists()}


def _batches(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """A few files at a time: to hand one over to a thread takes longer than to read it."""
    return (paths[first : first + AT_ONCE] for first in range(0, len(paths), AT_ONCE))


async def _expand(path: Path) -> list[Path]:
    """The files that a path stands for. One that somebody named is reviewed, whatever it is called."""
    if not await asyncio.to_thread(path.exists):
        raise NothingThere(f"there is no file or folder {path}")
    if not await asyncio.to_thread(path.is_dir):
        return [path]
    return await asyncio.to_thread(_worth_it, path, await repository.list_files(path))


def _worth_it(folder: Path, listed_files: list[Path] | None) -> list[Path]:
    if not listed_files:
        return list(files_below(folder))
    return [file for file in listed_files if is_worth_it(file.name) and not file.is_symlink()]


def _short_path(path: Path) -> str:
    """As short as it can be said from here, with slashes."""
    here = os.path.relpath(path)
    return (str(path) if here.startswith("..") else here).replace(os.sep, "/")
