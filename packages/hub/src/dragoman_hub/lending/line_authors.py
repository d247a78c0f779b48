"""Finds who wrote the lines of a session's file, from the store of trees and the journals.

The file is read once, as `file_view` does. Its folder is looked at, so that what a person typed since the
last turn is theirs. All that takes time is done in threads and has a bound: the file, its earlier contents,
and the frames that are read of its turns. It does not know who may see whose turn.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman.wire.codes import invalid_request
from dragoman_hub.gate.admission import Grant
from dragoman_hub.lending.file_view import MOST_BYTES, opened_file
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_local.journal import Journal, open_journal
from dragoman_local.secrets.search import redact_file
from dragoman_local.workspace.disk_threads import in_disk_thread
from dragoman_local.workspace.folder_memory import BlamedLine, FolderMemory, look_now, roots_around
from dragoman_local.workspace.folder_snapshot import is_secret_name
from dragoman_local.workspace.refusals import FORBIDDEN, not_text, refusal, too_large
from dragoman_local.workspace.text import lines_of
from dragoman_local.workspace.tree_store import TreeStore

MOST_LINES = 20_000
"""The most lines of a file; nobody writes a longer text."""

HISTORY_BYTES = 64 * 1024 * 1024
"""The most bytes of earlier contents, and of frames, for one answer."""

AT_ONCE = 2
"""The most simultaneous files of one hub: each needs a processor."""


Place: TypeAlias = tuple[str | None, int | None]
"""A session, and the number of a turn in it."""


class OwnTurn(Struct, frozen=True):
    """A turn in this hub's journal: its session, and the position of its prompt, or 0."""

    session: str
    prompt_place: int


class AuthoredFile(Struct, frozen=True, kw_only=True):
    """A file, with the authors of its lines."""

    path: str
    texts: Sequence[str]
    """The texts by line, without secrets."""
    is_covered: bool
    lines: Sequence[BlamedLine]
    turns: Mapping[Place, OwnTurn]
    is_cut: bool
    """Whether the journals have more than was read, so that fewer authors are known."""


class LineAuthors:
    """Finds authors for one hub."""

    def __init__(self, changes: TurnChanges) -> None:
        self._changes = changes
        self._room = asyncio.Semaphore(AT_ONCE)

    async def find(
        self, folders: Sequence[str], path: str, *, grant: Grant, journal: Journal
    ) -> AuthoredFile:
        """Return a file with its authors. Raises the error for a file without known authors."""
        store = self._changes.store
        if store is None:
            raise invalid_request("this hub does not remember files")
        whole, data = await in_disk_thread(folders[0], read_whole, folders, path, grant=grant)
        try:
            roots = await asyncio.to_thread(roots_around, store, whole)
            await grant.look_at(roots)
            root = next(filter(grant.may_open, roots), None)
            if root is None:
                raise invalid_request("no turn ran in this folder, so nothing is known of the file")
            await self._changes.looks_done(folders[0], [root])
            async with self._room:
                return await _find(store, root, whole, data, journal)
        except LocalMistake as error:
            raise invalid_request(str(error)) from error


async def _find(store: TreeStore, root: str, whole: str, data: bytes, journal: Journal) -> AuthoredFile:
    path = whole.removeprefix(f"{root}/")
    async with await look_now(store, root) as look:
        if path in look.private_paths:
            raise _secret("git ignores this file")

    opened = partial(opened_journal, store, journal)
    memory = await asyncio.to_thread(FolderMemory, store, root, opened, most_bytes=HISTORY_BYTES)
    lines = (await memory.blame_texts({path: data}))[path]
    texts, is_covered = await asyncio.to_thread(_texts, data, os.path.basename(whole))
    return AuthoredFile(
        path=whole,
        texts=texts,
        is_covered=is_covered,
        lines=lines,
        turns={
            (turn.session, turn.number): OwnTurn(turn.stream, memory.facts.of(turn).prompt_place)
            for turn in memory.turns
            if turn.journal == store.journal
        },
        is_cut=memory.facts.is_cut,
    )


@asynccontextmanager
async def opened_journal(store: TreeStore, journal: Journal, place: str) -> AsyncIterator[Journal]:
    """Open the journal at a path; this one is open."""
    if place == store.journal:
        yield journal
    elif not await asyncio.to_thread(os.path.exists, place):  # to open it would make it
        raise FileNotFoundError(place)
    else:  # of somebody's `dragoman run`, whose turns the store has, too
        async with open_journal(Path(place)) as other:
            yield other


def read_whole(folders: Sequence[str], path: str, *, grant: Grant) -> tuple[str, bytes]:
    """Return the file's path without links, and its bytes."""
    with opened_file(folders, path, grant=grant) as (whole, fd):
        if is_secret_name(whole):
            raise _secret("files of this name usually hold secrets")
        data = b""
        while len(data) <= MOST_BYTES and (part := os.read(fd, MOST_BYTES + 1 - len(data))):
            data += part
    if len(data) > MOST_BYTES:
        raise too_large(f"the file is larger than {MOST_BYTES // 1024 // 1024} MB")
    if b"\0" in data:
        raise not_text("the file is not text")
    if data.count(b"\n") > MOST_LINES:
        raise too_large(f"the file has more than {MOST_LINES:,} lines")
    return whole, data


def _secret(why: str) -> ErrorAnswer:
    return refusal(FORBIDDEN, "secret", f"{why}: Dragoman keeps its digest alone, so its authors are unknown")


def _texts(data: bytes, name: str) -> tuple[list[str], bool]:
    text = data.decode(errors="replace")
    covered = redact_file(text, name=name)
    return [line.removesuffix("\n").removesuffix("\r") for line in lines_of(covered)], covered != text
