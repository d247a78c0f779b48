"""Reads and writes files for the reviewer: through the client if it offers files, otherwise directly, within
the folders.

A client is asked first, so that what stands in its unsaved buffers is what is reviewed. Its refusal holds: a
file that it does not want read is not read behind its back. Only when it does not know the file, or does not
know the method, the disk is asked, below the session's folders and nowhere else.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from dragoman import KitTurn
from dragoman.errors import BadAnswer, CallFailed, DeadlineExceeded, ErrorAnswer

METHOD_NOT_FOUND = -32601
NOT_FOUND = -32002


class UnreadFile(NamedTuple):
    """The reason why a text can't be read."""

    why: str


class TurnFiles:
    """The files of one turn."""

    def __init__(self, turn: KitTurn[Any]) -> None:
        self._turn = turn
        self._client_reads = "fs.readTextFile" in turn.client.capabilities
        self._client_writes = "fs.writeTextFile" in turn.client.capabilities

    async def read(self, path: str) -> str | UnreadFile:
        """Return the text as the user sees it, or the reason why it can't be read."""
        if self._client_reads:
            try:
                return await self._turn.read_text_file(path)
            except CallFailed as error:
                if error.code not in (METHOD_NOT_FOUND, NOT_FOUND):
                    return UnreadFile(f"the editor did not give it: {error.message}")
            except (BadAnswer, DeadlineExceeded):
                return UnreadFile("the editor did not give it")
        return await self.read_own(path)

    async def read_own(self, path: str) -> str | UnreadFile:
        """Return the text on the disk."""
        try:
            return (await self._turn.session.local.files.read(path)).text
        except ErrorAnswer as error:
            return UnreadFile(error.message)

    async def write(self, path: str, text: str, *, over: str) -> str | None:
        """Replace a text that was read; return None, or the reason if it failed.

        `over` is the digest of what may be written over. It is looked at again just before.
        """
        # What is on the disk is written by ourselves only if it is also what the user sees.
        now = await (self.read(path) if self._client_writes else self.read_own(path))
        if isinstance(now, UnreadFile):
            return f"it cannot be read any more: {now.why}"
        if digest(now) != over:
            return STALE
        try:
            if self._client_writes:
                await self._turn.write_text_file(path, text)
            else:
                await self._turn.session.local.files.write(path, text)
        except (CallFailed, ErrorAnswer) as error:
            return error.message
        except (BadAnswer, DeadlineExceeded):
            return "the editor did not say whether it was written"
        return None


STALE = "it has changed since it was reviewed"


def digest(text: str) -> str:
    """Return a digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
