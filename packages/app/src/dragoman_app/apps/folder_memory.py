"""The store of trees beside a journal, for commands: its turns, its folders, and the
authors of their files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from dragoman_app.apps.console import CommandFailed
from dragoman_local.journal import Journal, open_journal, open_sealed, read_key
from dragoman_local.journal.history import history_path
from dragoman_local.journal.seal import Seal
from dragoman_local.workspace.folder_memory import FolderMemory, roots_around
from dragoman_local.workspace.text import lines_of
from dragoman_local.workspace.tree_store import SEALED_NAME, TreeStore, Turn, store_beside


@contextmanager
def open_store(journal: str | None, key: str | None = None) -> Iterator[TreeStore]:
    """Open the store beside a journal, the sealed one with the place of its key. Raises `CommandFailed` if
    there is none.
    """
    seal = None if key is None else Seal(read_key(key)).trees
    store = store_beside(journal or history_path(), seal=seal)
    if not os.path.exists(store.path):
        sealed = os.path.join(os.path.dirname(store.path), SEALED_NAME)
        raise CommandFailed(
            f"no turn is remembered yet: {store.path} does not exist",
            f"the turns in {sealed} need its key: --key env:NAME or --key file:PATH"
            if key is None and os.path.exists(sealed)
            else "run a turn with `dragoman run`, `dragoman chat` or the hub",
        )
    try:
        yield store
    finally:
        store.close()


def session_turns(store: TreeStore, session: str | None, folder: str) -> list[Turn]:
    """Return the turns of a session, once for each of its folders; without a session, of the last session in
    the folder. Raises `CommandFailed`.
    """
    if session is None:
        here = [turn for turn in store.turns(folder) if turn.kind == "turn"]
        if not here:
            raise CommandFailed(
                f"no turn is remembered in {folder}", "name the session, or its folder with --folder"
            )
        session = here[-1].session
    turns = [turn for turn in store.turns() if turn.kind == "turn"]
    own = [turn for turn in turns if session in (turn.session, turn.stream)]
    own = own or [
        turn for turn in turns if turn.session.startswith(session) or turn.stream.startswith(session)
    ]
    if len({turn.session for turn in own}) != 1:
        raise CommandFailed(
            f"{'several sessions match' if own else 'no session matches'} {session!r}",
            "`dragoman sessions` lists them",
        )
    return own


def folder_of(store: TreeStore, path: str) -> str:
    """Return the stored folder around a path. Raises `CommandFailed`."""
    roots = roots_around(store, path)
    if not roots:
        raise CommandFailed(
            f"no turn ran in the folder of {path}, so nothing is known of it",
            "name the folder of the session with --folder, or another journal with --journal, and --key "
            "if it is sealed",
        )
    return roots[0]


@asynccontextmanager
async def open_recorded(path: str, *, key: str | None = None) -> AsyncIterator[Journal]:
    """Return the journal at a path; FileNotFoundError if there is none."""
    if not await asyncio.to_thread(os.path.exists, path):  # to open it would make it
        raise FileNotFoundError(path)
    async with open_journal(Path(path)) if key is None else open_sealed(path, read_key(key)) as journal:
        yield journal


def memory_of(store: TreeStore, root: str, *, key: str | None = None) -> FolderMemory:
    """Return the memory of a folder, with the journals of its turns."""
    return FolderMemory(store, root, partial(open_recorded, key=key))


def read_text(path: Path) -> list[str]:
    """Return the lines of a file; none if it is not text."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}", "name an existing file") from None
    return (
        [] if b"\0" in data else [line.removesuffix("\n") for line in lines_of(data.decode(errors="replace"))]
    )
