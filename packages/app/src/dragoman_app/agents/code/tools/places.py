"""Reads and writes files through the client if it offers them (with unsaved text), otherwise on this machine.

On this machine everything is confined to the session's folders. What a client lends is the client's to
confine; we still tell whether a path is within the folders, because what lies outside is asked about. An
edit reads where it will write, so that it never writes over a text that it has not seen.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from dragoman.errors import BadAnswer, CallFailed, DeadlineExceeded, ErrorAnswer, LocalMistake
from dragoman_app.agents.code.permission import ToolProblem

if TYPE_CHECKING:
    from dragoman import KitTurn

LocalFiles: TypeAlias = Any
"""The session's own files; its type is not part of the public API."""

READ, WRITE, TERMINAL = "fs.readTextFile", "fs.writeTextFile", "terminal"

LARGEST_PICTURE = 8 * 1024 * 1024


class TurnPlaces:
    """The files of one turn."""

    def __init__(self, turn: KitTurn[Any]) -> None:
        self._turn = turn
        self._session = turn.session
        lent = turn.client.capabilities
        self.reads_there = READ in lent
        self._writes_there = WRITE in lent
        self.runs_there = TERMINAL in lent

    @property
    def cwd(self) -> str:
        return self._session.cwd

    def resolve(self, path: str) -> str:
        """Return the absolute path for a model's path."""
        if path.startswith("file://"):
            path = unquote(urlsplit(path).path)
        if not path or "\0" in path:
            raise ToolProblem("The path is empty, or contains a NUL.")
        return os.path.normpath(os.path.join(self.cwd, os.path.expanduser(path)))

    def display(self, path: str) -> str:
        """Return a path for people: relative if it is in the working folder."""
        path = self.resolve(path)
        return os.path.relpath(path, self.cwd) if _is_below(path, self.cwd) else path

    def is_outside(self, path: str) -> bool:
        """Whether the path is outside the session's folders, with links resolved."""
        real = os.path.realpath(path)
        return not any(_is_below(real, os.path.realpath(root)) for root in self._session.roots)

    def is_risky(self, path: str) -> bool:
        """Whether writing there can do more than change the project: outside its folders, or in `.git`."""
        return ".git" in os.path.realpath(path).split(os.sep) or self.is_outside(path)

    @property
    def _files(self) -> LocalFiles:
        """The files of this machine. The folders of a session may be on another one, beside the editor."""
        self.check_here()
        files: LocalFiles = self._session.local.files
        return files

    def check_here(self) -> None:
        """Raise a `ToolProblem` if the session's folders are not on this machine."""
        try:
            _ = self._session.local
        except LocalMistake:
            raise ToolProblem(
                "The folders of the session are not on the machine that the agent runs on."
            ) from None

    # Reading.

    async def read(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        """Return some lines of a file, as the user sees it."""
        if self.reads_there:
            return await self._read_there(path, line=line, limit=limit)
        return await self._read_here(path, line=line, limit=limit)

    async def read_before_write(self, path: str) -> str | None:
        """Return the whole text that a write would replace; None if the file does not exist."""
        if self._writes_there and self.reads_there:
            try:
                return await self._read_there(path)
            except ToolProblem:
                if await self._is_here(path):
                    raise
                return None  # clients have no agreed way to say that a file does not exist
        return await self._read_here(path) if await self._is_here(path) else None

    async def bytes_of(self, path: str, *, most: int = LARGEST_PICTURE) -> bytes:
        """Return the bytes of a file that is not text; from this machine, because clients
        provide only texts.
        """
        try:
            read = await self._files.read_range(path, limit=most + 1)
        except ErrorAnswer as error:
            raise ToolProblem(error.message) from None
        if len(read.data) > most:
            raise ToolProblem(f"The file is larger than {most} bytes.")
        return bytes(read.data)

    async def is_folder(self, path: str) -> bool:
        """Whether a path in the session's folders is a folder; raises a `ToolProblem` for a path outside."""
        try:
            return bool((await self._files.stat(path)).is_folder)
        except ErrorAnswer as error:
            raise ToolProblem(error.message) from None

    async def glob(self, pattern: str, *, limit: int) -> tuple[list[str], bool]:
        """Return the matching files, and whether there may be more."""
        try:
            result = await self._files.search(pattern, limit=limit)
        except ErrorAnswer as error:
            raise ToolProblem(error.message) from None
        return result.matches, result.is_truncated

    # Writing.

    async def write(self, path: str, text: str) -> None:
        try:
            if self._writes_there:
                await self._turn.write_text_file(path, text)
            else:
                await self._files.write(path, text)
        except (CallFailed, BadAnswer, DeadlineExceeded, ErrorAnswer) as error:
            raise ToolProblem(f"The file was not written: {_words(error)}") from None

    async def _read_there(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        try:
            return await self._turn.read_text_file(path, line=line, limit=limit)
        except (CallFailed, BadAnswer, DeadlineExceeded) as error:
            raise ToolProblem(f"The file cannot be read: {_words(error)}") from None

    async def _read_here(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        try:
            return str((await self._files.read(path, line=line or 1, limit=limit)).text)
        except ErrorAnswer as error:
            raise ToolProblem(f"The file cannot be read: {_words(error)}") from None

    async def _is_here(self, path: str) -> bool:
        try:
            return bool((await self._files.stat(path)).exists)
        except (ErrorAnswer, ToolProblem) as error:
            if self._writes_there:
                return False  # not ours to look at; the client knows
            raise ToolProblem(_words(error)) from None


def _words(error: Exception) -> str:
    return error.message if isinstance(error, CallFailed | ErrorAnswer) else str(error)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
